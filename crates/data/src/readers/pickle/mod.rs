//! Python pickles, parsed as data and never executed.
//!
//! A pickle is a program for a small stack machine. In Python that program may import and call
//! anything, which is why loading an untrusted pickle is dangerous. This machine has the
//! instructions of protocols 0 to 4 that published datasets use, and a fixed list of names
//! ([`objects::Global`]): numpy arrays and types, scipy's CSR matrix, `defaultdict`, `list`. Each
//! is turned into plain numbers by code in this folder; any other name, such as `os.system`, is an
//! error that contains it.
//!
//! Every instruction takes at least one byte and adds at most a few values, so memory is bounded by
//! a multiple of the file's length. Values live in one list and refer to each other by position:
//! however deeply a pickle nests or whether it contains itself, nothing recurses.

mod objects;

use std::collections::HashMap;
use std::path::Path;

use boostfgl_graph::{Error, Result};

use objects::{Global, Object};
pub(super) use objects::{Matrix, Pickle};

/// Reads a file.
///
/// # Errors
/// If it cannot be read, is truncated or continues after its end, is no pickle of protocol 0 to 4,
/// or names something outside the list.
pub(super) fn read(path: &Path) -> Result<Pickle> {
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
    parse(path, "", &bytes)
}

/// Reads the bytes of a pickle, which are at `place` in a file.
///
/// # Errors
/// As [`read`].
pub(super) fn parse(path: &Path, place: &str, bytes: &[u8]) -> Result<Pickle> {
    let mut machine = Machine {
        input: bytes,
        at: 0,
        objects: Vec::new(),
        stack: Vec::new(),
        marks: Vec::new(),
        memo: HashMap::new(),
    };
    match machine.run() {
        Ok(root) => Ok(Pickle {
            path: path.to_path_buf(),
            place: place.to_owned(),
            length: bytes.len(),
            objects: machine.objects,
            root,
        }),
        Err(found) => {
            let place = format!("{place}, byte {}", machine.at);
            Err(Error::malformed(path, place, "a pickle of plain data", found))
        }
    }
}

/// A value on the stack: small ones as they are, others by their position in the list of objects.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Object(usize),
}

struct Machine<'a> {
    input: &'a [u8],
    at: usize,
    objects: Vec<Object>,
    stack: Vec<Value>,
    marks: Vec<usize>,
    memo: HashMap<u32, Value>,
}

/// The error is the text after "found" in the message.
type Step<T> = std::result::Result<T, String>;

impl Machine<'_> {
    fn run(&mut self) -> Step<Value> {
        loop {
            let [code] = self.bytes()?;
            if code == b'.' {
                let root = self.pop()?;
                let rest = self.input.len() - self.at;
                return if rest == 0 {
                    Ok(root)
                } else {
                    Err(format!("{rest} bytes after its end"))
                };
            }
            self.step(code)?;
        }
    }

    /// One instruction; the letters are the protocol's.
    fn step(&mut self, code: u8) -> Step<()> {
        match code {
            0x80 => return self.protocol(),
            // Marks are kept apart from the values, so that no value can be mistaken for one.
            b'(' => self.marks.push(self.stack.len()),
            b'0' => drop(self.pop()?),
            b'1' => drop(self.pop_to_mark()?),
            b'2' => self.stack.push(*self.stack.last().ok_or("an empty stack")?),
            b'N' => self.stack.push(Value::None),
            0x88 | 0x89 => self.stack.push(Value::Bool(code == 0x88)),
            b'I' | b'J' | b'K' | b'M' | b'L' | 0x8a => return self.integer(code),
            b'F' | b'G' => return self.float(code),
            b'S' | b'T' | b'U' | b'V' | b'X' => return self.string(code),
            b'B' | b'C' | 0x8c..=0x8e => return self.counted_string(code),
            b']' => self.push(Object::List(Vec::new())),
            b')' => self.push(Object::Tuple(Vec::new())),
            b'}' => self.push(Object::Dict(Vec::new())),
            b'l' | b't' | b'd' => return self.collect(code),
            0x85..=0x87 => return self.short_tuple(usize::from(code - 0x84)),
            b'a' | b'e' => return self.append(code),
            b's' | b'u' => return self.set_items(code),
            b'p' | b'q' | b'r' | 0x94 => return self.put(code),
            b'g' | b'h' | b'j' => return self.get(code),
            b'c' => return self.global(),
            0x93 => return self.global_of_stack(),
            0x95 => return self.frame(),
            b'R' | 0x81 => return self.call(),
            b'b' => return self.build(),
            _ => {
                return Err(format!(
                    "an instruction outside protocols 0 to 4 or not allowed (0x{code:02x})"
                ));
            }
        }
        Ok(())
    }

    fn protocol(&mut self) -> Step<()> {
        let [version] = self.bytes()?;
        if version > 4 { Err(format!("protocol {version}")) } else { Ok(()) }
    }

    fn integer(&mut self, code: u8) -> Step<()> {
        let value = match code {
            b'J' => i64::from(i32::from_le_bytes(self.bytes()?)),
            b'K' => i64::from(self.bytes::<1>()?[0]),
            b'M' => i64::from(u16::from_le_bytes(self.bytes()?)),
            0x8a => self.long()?,
            _ => match self.line()? {
                // Protocol 0 writes truth values as these two "integers".
                "00" => return self.push_value(Value::Bool(false)),
                "01" => return self.push_value(Value::Bool(true)),
                text => text
                    .trim_end_matches('L')
                    .parse()
                    .map_err(|_| "a number that is not an integer")?,
            },
        };
        self.push_value(Value::Int(value))
    }

    /// A little-endian integer of up to eight bytes.
    fn long(&mut self) -> Step<i64> {
        let [length] = self.bytes()?;
        let bytes = self.take(usize::from(length))?;
        // Python's integers have no bound, node numbers and labels do.
        if bytes.len() > 8 {
            return Err("an integer of more than 64 bits".into());
        }
        // Two's complement: the highest bit of the last byte is the sign, which fills the rest.
        let negative = bytes.last().is_some_and(|last| last & 0x80 != 0);
        let mut word = [if negative { 0xff } else { 0 }; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        Ok(i64::from_le_bytes(word))
    }

    fn float(&mut self, code: u8) -> Step<()> {
        let value = match code {
            b'G' => f64::from_be_bytes(self.bytes()?),
            _ => self.line()?.parse().map_err(|_| "a text that is not a number")?,
        };
        self.push_value(Value::Float(value))
    }

    /// Python 2 strings are bytes, so every string is kept as bytes.
    fn string(&mut self, code: u8) -> Step<()> {
        let bytes = match code {
            b'U' => {
                let [length] = self.bytes()?;
                self.take(usize::from(length))?.to_vec()
            }
            b'T' | b'X' => {
                let length = u32::from_le_bytes(self.bytes()?) as usize;
                self.take(length)?.to_vec()
            }
            b'V' => self.line_bytes()?.to_vec(),
            _ => unescape(self.line_bytes()?)?,
        };
        self.push(Object::Bytes(bytes));
        Ok(())
    }

    /// A string or bytes of protocols 3 and 4, after their length.
    fn counted_string(&mut self, code: u8) -> Step<()> {
        let length = match code {
            b'C' | 0x8c => u64::from(self.bytes::<1>()?[0]),
            b'B' => u64::from(u32::from_le_bytes(self.bytes()?)),
            _ => u64::from_le_bytes(self.bytes()?),
        };
        let length = usize::try_from(length).map_err(|_| "a string of that length")?;
        let bytes = self.take(length)?.to_vec();
        self.push(Object::Bytes(bytes));
        Ok(())
    }

    /// The length of the next instructions together, which programs use to read ahead.
    fn frame(&mut self) -> Step<()> {
        let length = u64::from_le_bytes(self.bytes()?);
        let rest = self.input.len() - self.at;
        if length > rest as u64 { Err("the end of the file inside a frame".into()) } else { Ok(()) }
    }

    fn collect(&mut self, code: u8) -> Step<()> {
        let items = self.pop_to_mark()?;
        self.push(match code {
            b'l' => Object::List(items),
            b't' => Object::Tuple(items),
            _ => Object::Dict(pairs(&items)?),
        });
        Ok(())
    }

    fn short_tuple(&mut self, length: usize) -> Step<()> {
        // Values below the last mark belong to an unfinished collection and must stay there.
        let start = self.stack.len().checked_sub(length).filter(|start| *start >= self.floor());
        let items = self.stack.split_off(start.ok_or("a stack that is too short")?);
        self.push(Object::Tuple(items));
        Ok(())
    }

    fn append(&mut self, code: u8) -> Step<()> {
        let items = if code == b'a' { vec![self.pop()?] } else { self.pop_to_mark()? };
        match self.top_object()? {
            Object::List(list) => list.extend(items),
            other => return Err(format!("{} where a list should be", other.kind())),
        }
        Ok(())
    }

    fn set_items(&mut self, code: u8) -> Step<()> {
        let items = if code == b's' {
            let value = self.pop()?;
            vec![self.pop()?, value]
        } else {
            self.pop_to_mark()?
        };
        let items = pairs(&items)?;
        match self.top_object()? {
            Object::Dict(dict) => dict.extend(items),
            other => return Err(format!("{} where a dictionary should be", other.kind())),
        }
        Ok(())
    }

    /// Stores the top of the stack in the memo, from which `get` pushes it again: shared and
    /// circular values are references, never copies.
    fn put(&mut self, code: u8) -> Step<()> {
        let key = match code {
            // The next free key, as the program that wrote the pickle counted them.
            0x94 => u32::try_from(self.memo.len()).map_err(|_| "too many stored values")?,
            _ => self.memo_key(code == b'p', code == b'q')?,
        };
        let value = *self.stack.last().ok_or("an empty stack")?;
        self.memo.insert(key, value);
        Ok(())
    }

    fn get(&mut self, code: u8) -> Step<()> {
        let key = self.memo_key(code == b'g', code == b'h')?;
        let value = *self.memo.get(&key).ok_or("a value that was never stored")?;
        self.push_value(value)
    }

    fn memo_key(&mut self, text: bool, short: bool) -> Step<u32> {
        if text {
            return self.line()?.parse().map_err(|_| "a memo key that is not a number".into());
        }
        Ok(if short { u32::from(self.bytes::<1>()?[0]) } else { u32::from_le_bytes(self.bytes()?) })
    }

    fn global(&mut self) -> Step<()> {
        let module = self.line()?.to_owned();
        let name = self.line()?.to_owned();
        self.push_global(&module, &name)
    }

    /// A global whose module and name are on the stack.
    fn global_of_stack(&mut self) -> Step<()> {
        let (name, module) = (self.pop()?, self.pop()?);
        let [module, name] = [module, name].map(|value| match value {
            Value::Object(at) => match self.objects.get(at) {
                Some(Object::Bytes(bytes)) => String::from_utf8(bytes.clone()).ok(),
                _ => None,
            },
            _ => None,
        });
        let (Some(module), Some(name)) = (module, name) else {
            return Err("a call for something without a name".into());
        };
        self.push_global(&module, &name)
    }

    fn push_global(&mut self, module: &str, name: &str) -> Step<()> {
        let global = Global::named(module, name);
        let global = global.ok_or_else(|| {
            format!("a call for `{module}.{name}`, which is not on the list of plain data")
        })?;
        self.push(Object::Global(global));
        Ok(())
    }

    fn call(&mut self) -> Step<()> {
        let arguments = self.pop()?;
        let callee = self.pop()?;
        let made = objects::call(&self.objects, callee, arguments)?;
        self.push(made);
        Ok(())
    }

    fn build(&mut self) -> Step<()> {
        let state = self.pop()?;
        let target = *self.stack.last().ok_or("an empty stack")?;
        objects::build(&mut self.objects, target, state)
    }

    fn push(&mut self, object: Object) {
        self.stack.push(Value::Object(self.objects.len()));
        self.objects.push(object);
    }

    fn push_value(&mut self, value: Value) -> Step<()> {
        self.stack.push(value);
        Ok(())
    }

    /// The start of the part of the stack above the last mark.
    fn floor(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }

    fn pop(&mut self) -> Step<Value> {
        if self.stack.len() <= self.floor() {
            return Err("a stack that is too short".into());
        }
        self.stack.pop().ok_or_else(|| "an empty stack".into())
    }

    fn pop_to_mark(&mut self) -> Step<Vec<Value>> {
        let mark = self.marks.pop().ok_or("no mark on the stack")?;
        // A mark is never above the stack, since `pop` stops at it; `split_off` would panic.
        Ok(self.stack.split_off(mark.min(self.stack.len())))
    }

    fn top_object(&mut self) -> Step<&mut Object> {
        match self.stack.last() {
            Some(Value::Object(at)) => {
                self.objects.get_mut(*at).ok_or_else(|| "a lost object".into())
            }
            _ => Err("a stack without an object on top".into()),
        }
    }

    fn take(&mut self, length: usize) -> Step<&[u8]> {
        let end = self.at.checked_add(length).filter(|end| *end <= self.input.len());
        let end = end.ok_or("the end of the file")?;
        let bytes = &self.input[self.at..end];
        self.at = end;
        Ok(bytes)
    }

    fn bytes<const N: usize>(&mut self) -> Step<[u8; N]> {
        let bytes = self.take(N)?;
        Ok(std::array::from_fn(|i| bytes[i]))
    }

    fn line_bytes(&mut self) -> Step<&[u8]> {
        let length = self.input[self.at..]
            .iter()
            .position(|byte| *byte == b'\n')
            .ok_or("the end of the file")?;
        let line = self.take(length + 1)?;
        Ok(&line[..length])
    }

    fn line(&mut self) -> Step<&str> {
        std::str::from_utf8(self.line_bytes()?)
            .map(str::trim_end)
            .map_err(|_| "bytes that are not text".into())
    }
}

fn pairs(items: &[Value]) -> Step<Vec<(Value, Value)>> {
    if !items.len().is_multiple_of(2) {
        return Err("a key without a value".into());
    }
    Ok(items.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
}

/// The bytes of a Python string literal such as `'a\x00b'`.
fn unescape(literal: &[u8]) -> Step<Vec<u8>> {
    let bad = "a broken string literal";
    let [quote, inner @ .., last] = literal.trim_ascii_end() else { return Err(bad.into()) };
    if !matches!(quote, b'\'' | b'"') || quote != last {
        return Err(bad.into());
    }
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let [escape, after @ ..] = rest else { return Err(bad.into()) };
        rest = after;
        bytes.push(match escape {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'\\' | b'\'' | b'"' => *escape,
            b'x' => {
                let (digits, after) = rest.split_at_checked(2).ok_or(bad)?;
                rest = after;
                let digits = std::str::from_utf8(digits).map_err(|_| bad)?;
                u8::from_str_radix(digits, 16).map_err(|_| bad)?
            }
            _ => return Err(bad.into()),
        });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
