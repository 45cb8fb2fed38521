//! Python pickles, parsed as data and never executed.
//!
//! A pickle is a program for a small stack machine. In Python that program may import and call
//! anything, which is why loading an untrusted pickle is dangerous. This machine has the
//! instructions of protocols 0 to 2, which old published datasets use, and a fixed list of names
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
/// If it cannot be read, is truncated or continues after its end, is no pickle of protocol 0 to 2,
/// or names something outside the list.
pub(super) fn read(path: &Path) -> Result<Pickle> {
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
    let mut machine = Machine {
        input: &bytes,
        at: 0,
        objects: Vec::new(),
        stack: Vec::new(),
        marks: Vec::new(),
        memo: HashMap::new(),
    };
    match machine.run() {
        Ok(root) => Ok(Pickle {
            path: path.to_path_buf(),
            length: bytes.len(),
            objects: machine.objects,
            root,
        }),
        Err(found) => Err(Error::malformed(
            path,
            format!(", byte {}", machine.at),
            "a pickle of plain data",
            found,
        )),
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
            b']' => self.push(Object::List(Vec::new())),
            b')' => self.push(Object::Tuple(Vec::new())),
            b'}' => self.push(Object::Dict(Vec::new())),
            b'l' | b't' | b'd' => return self.collect(code),
            0x85..=0x87 => return self.short_tuple(usize::from(code - 0x84)),
            b'a' | b'e' => return self.append(code),
            b's' | b'u' => return self.set_items(code),
            b'p' | b'q' | b'r' => return self.put(code),
            b'g' | b'h' | b'j' => return self.get(code),
            b'c' => return self.global(),
            b'R' | 0x81 => return self.call(),
            b'b' => return self.build(),
            _ => {
                return Err(format!(
                    "an instruction outside protocols 0 to 2 or not allowed (0x{code:02x})"
                ));
            }
        }
        Ok(())
    }

    fn protocol(&mut self) -> Step<()> {
        let [version] = self.bytes()?;
        if version > 2 { Err(format!("protocol {version}")) } else { Ok(()) }
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
        let key = self.memo_key(code == b'p', code == b'q')?;
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
        let name = self.line()?;
        let global = Global::named(&module, name);
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
mod tests {
    use super::*;
    use crate::readers::testing::{Folder, pickled_csr, pickled_graph, survives_damage};

    fn load(bytes: &[u8]) -> Result<Pickle> {
        let folder = Folder::new();
        folder.write("p", bytes);
        read(&folder.path("p"))
    }

    fn reason(bytes: &[u8]) -> String {
        load(bytes).expect_err("refused").to_string()
    }

    #[test]
    fn code_is_refused_by_name() {
        // What pickle.dumps gives, in protocols 0 and 2, for an object whose __reduce__ is
        // (os.system, ("ls",)).
        assert!(
            reason(b"cos\nsystem\np0\n(S'ls'\np1\ntp2\nRp3\n.")
                .contains("`os.system`, which is not on the list")
        );
        assert!(
            reason(b"\x80\x02cposix\nsystem\nq\x00U\x02lsq\x01\x85q\x02Rq\x03.")
                .contains("`posix.system`")
        );
        for (module, name) in [
            ("__builtin__", "eval"),
            ("builtins", "exec"),
            ("subprocess", "Popen"),
            ("numpy", "load"),
        ] {
            let message = reason(format!("c{module}\n{name}\n.").as_bytes());
            assert!(message.contains(&format!("`{module}.{name}`")), "{message}");
        }
        for code in [&b"(ios\nsystem\n."[..], b"Pid\n.", b"\x82\x01.", b"(o."] {
            assert!(reason(code).contains("not allowed"), "{code:?}");
        }
    }

    /// Published exploits of programs that load pickles.
    #[test]
    fn known_attacks_are_refused() {
        let attacks: [(&str, &[u8]); 14] = [
            ("os.system by reduce", b"\x80\x02cos\nsystem\nU\x02id\x85R."),
            ("nt.system, as Windows names it", b"\x80\x02cnt\nsystem\nU\x03dir\x85R."),
            ("eval", b"c__builtin__\neval\n(S'1'\ntR."),
            (
                "getattr, to reach what is hidden",
                b"cbuiltins\ngetattr\n(cnumpy\nndarray\nS'tofile'\ntR.",
            ),
            ("an import", b"c__builtin__\n__import__\n(S'os'\ntR."),
            ("a name through dots", b"cnumpy\ncore.multiarray.os.system\n(S'id'\ntR."),
            (
                "the reconstructor, with another class",
                b"ccopy_reg\n_reconstructor\n(cos\npopen\nc__builtin__\nobject\nNtR.",
            ),
            ("a default that is code", b"ccollections\ndefaultdict\n(cos\nsystem\ntR."),
            (
                "_reconstruct, with another class",
                b"cnumpy.core.multiarray\n_reconstruct\n(cos\nsystem\nK\x00\x85U\x01btR.",
            ),
            ("an instance", b"(S'id'\nios\nsystem\n."),
            ("an instance of a class", b"\x80\x02cos\nsystem\n)\x81."),
            (
                "a name from the stack, protocol 4",
                b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02id\x85R.",
            ),
            ("the registry of extensions", b"\x80\x02\x84\xff\xff\xff\x7f."),
            ("a persistent name", b"U\x02idQ."),
        ];
        for (what, bytes) in attacks {
            let message =
                load(bytes).err().unwrap_or_else(|| panic!("{what} was taken")).to_string();
            assert!(message.contains("expected a pickle of plain data"), "{what}: {message}");
        }
    }

    /// Lengths and positions far beyond the end of the file.
    #[test]
    fn false_lengths_and_positions_are_refused() {
        let claims: [&[u8]; 8] = [
            b"T\xff\xff\xff\x7f",
            b"X\xff\xff\xff\xff",
            b"\x8b\xff\xff\xff\x7f",
            b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7f",
            b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f.",
            b"j\xff\xff\xff\xff.",
            b"g4294967295\n.",
            b"I99999999999999999999999999\n.",
        ];
        for bytes in claims {
            assert!(load(bytes).is_err(), "{bytes:?}");
        }
        // A large memo key takes no more memory than a small one.
        assert!(load(b"]r\xff\xff\xff\xff.").is_ok());
        // Ten lists, each of ten times the one before ("billion laughs"): ten thousand million
        // values if they were copied.
        let mut laughs = b"](K\x01K\x01eq\x00".to_vec();
        for level in 0..10u8 {
            laughs.extend(b"0](");
            laughs.extend([b'h', level].repeat(10));
            laughs.extend([b'e', b'q', level + 1]);
        }
        laughs.push(b'.');
        assert!(load(&laughs).unwrap().neighbour_lists().is_err());
    }

    #[test]
    fn allowed_names_are_refused_with_other_arguments() {
        assert!(reason(b"c__builtin__\nlist\n(S'a'\ntR.").contains("list"));
        assert!(reason(b"cnumpy\nndarray\n)R.").contains("ndarray"));
        assert!(reason(b"ccollections\ndefaultdict\n(cnumpy\ndtype\ntR.").contains("defaultdict"));
    }

    /// Other readers of the file would find a second pickle after the first.
    #[test]
    fn bytes_after_the_end_are_refused() {
        assert!(load(b"].").is_ok());
        assert!(
            reason(b"].cos\nsystem\n.")
                .ends_with("byte 2: expected a pickle of plain data, found 12 bytes after its end")
        );
        assert!(reason(b"].\n").contains("found 1 bytes after its end"));
    }

    #[test]
    fn protocol_0_is_understood() {
        let text = b"(dp0\nI0\n(lp1\nI1\naL2L\nasI1\n(lp2\nI0\nas.";
        assert_eq!(load(text).unwrap().neighbour_lists().unwrap(), [(0, vec![1, 2]), (1, vec![0])]);
    }

    #[test]
    fn broken_programs_are_refused() {
        for bytes in [
            &b""[..],
            b".",
            b"a.",
            b"(.",
            b"N",
            b"]a.",
            b"NNs.",
            b"}(K\x01u.",
            b"h\x00.",
            b"t.",
            b"\x86.",
            b"Nb.",
            b"NR.",
            b"U\xff",
            b"T\xff\xff\xff\xff",
            b"\x8a\x09aaaaaaaaa.",
            b"Ix\n.",
            b"Fx\n.",
            b"S'\\\n.",
            b"S'a\n.",
            b"(0.",
            b"\x80\x05.",
            b"\x80\x02)\x81.",
        ] {
            assert!(load(bytes).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn deep_and_circular_values_are_errors() {
        let mut deep = b"]".repeat(100_000);
        deep.extend(b"a".repeat(99_999));
        deep.push(b'.');
        assert!(load(&deep).unwrap().neighbour_lists().is_err());
        assert!(load(b"]q\x00h\x00a.").unwrap().csr().is_err());
    }

    #[test]
    fn sharing_does_not_multiply_memory() {
        // A thousand keys that all refer to one list of a thousand nodes: a million neighbours in 5
        // kB.
        let mut shared = b"}(K\x00](".to_vec();
        shared.extend(b"K\x01".repeat(1000));
        shared.extend(b"eq\x00");
        shared.extend(b"K\x00h\x00".repeat(1000));
        shared.extend(b"u.");
        let message = load(&shared).unwrap().neighbour_lists().unwrap_err().to_string();
        assert!(message.contains("repeated lists"), "{message}");
        let sides = b"K\x01".repeat(100);
        let state = [
            b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nNNtR(K\x01(",
            &sides[..],
            b"tN\x89U\x00tb.",
        ]
        .concat();
        assert!(reason(&state).contains("shape"));
    }

    #[test]
    fn damage_never_panics() {
        let folder = Folder::new();
        folder.write("g", &pickled_graph(&[(0, &[1, 2]), (1, &[0]), (2, &[0])]));
        survives_damage(&folder.path("g"), |path| {
            read(path).and_then(|p| p.neighbour_lists()).is_ok()
        });
        folder.write("x", &pickled_csr(2, 3, &[0, 1, 2], &[2, 0], &[1.0, 0.5]));
        survives_damage(&folder.path("x"), |path| read(path).and_then(|p| p.csr()).is_ok());
    }
}
