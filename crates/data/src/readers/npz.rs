//! Arrays by name from a numpy `.npz` archive.
//!
//! An npz is a zip archive with one `NAME.npy` per array. A npy starts with the bytes `\x93NUMPY`,
//! a version and a Python dictionary as text, `{'descr': '<i4', 'fortran_order': False, 'shape':
//! (2, 10), }`; then follow the numbers.
//!
//! The memory of an array is bounded twice: the shape must fit the size of the entry to the byte
//! before anything is read, and all arrays that are read share one [`Budget`]. Python
//! objects inside an npz are pickles; one format has them, and reads them as plain data
//! ([`pickle`]). Any other refuses them.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use boostfgl_graph::{Error, Result};

use super::budget::Budget;
use super::dtype::{DType, Element};
use super::parts::Csr;
use super::pickle::{self, Pickle};
use super::zip::{Archive, Entry};

/// An open npz.
pub(super) struct Npz {
    path: PathBuf,
    archive: Archive,
    budget: Budget,
}

/// Numbers in row-major order with their shape.
#[derive(Debug, PartialEq)]
pub(super) struct Array<T> {
    pub(super) shape: Vec<usize>,
    pub(super) values: Vec<T>,
}

impl Npz {
    /// Opens a file.
    ///
    /// # Errors
    /// If it cannot be opened or is no zip archive.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let archive = Archive::open(path).map_err(|e| from_io(path, "", &e, "an npz file"))?;
        let budget = Budget::new();
        budget.admit(archive.length());
        Ok(Self { path: path.to_path_buf(), archive, budget })
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The names of the arrays.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.archive.names().filter_map(|name| name.strip_suffix(".npy"))
    }

    /// Whether there is an array of that name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.archive.has(&format!("{name}.npy"))
    }

    /// Reads an array of any shape.
    ///
    /// # Errors
    /// If it is missing, broken, of a type that is not a number, holds a number that is not a `T`,
    /// or if more was read from this file than its budget allows.
    pub(super) fn array<T: Element>(&mut self, name: &str) -> Result<Array<T>> {
        if !self.has(name) {
            let found = format!("only {}", self.names().take(20).collect::<Vec<_>>().join(", "));
            return Err(Error::malformed(&self.path, "", format!("an array `{name}`"), found));
        }
        let place = format!(", array {name}");
        let path = &self.path;
        let entry = self
            .archive
            .entry(&format!("{name}.npy"))
            .and_then(|entry| entry.ok_or_else(|| io::ErrorKind::NotFound.into()));
        let mut entry = entry.map_err(|e| unreadable(path, &place, &e))?;
        let header = Header::read(&mut entry).map_err(|e| unreadable(path, &place, &e))?;
        // One-byte numbers on disk may become eight bytes in memory: the larger one counts.
        let in_memory = header.count.saturating_mul(size_of::<T>()) as u64;
        let paid = self.budget.pay(entry.size().max(in_memory));
        paid.map_err(|(expected, found)| Error::malformed(path, &place, expected, found))?;
        let values = read_values(&mut entry, &header).map_err(|e| unreadable(path, &place, &e))?;
        let values = values.map_err(|found| Error::malformed(path, &place, T::WANTED, found))?;
        entry.finish().map_err(|e| unreadable(path, &place, &e))?;
        Ok(Array { values: header.row_major(values), shape: header.shape })
    }

    /// The object in an array of Python objects; `None` if the array is one of numbers.
    ///
    /// # Errors
    /// If it is missing or broken, or the pickle is not one of a single object of plain data.
    pub(super) fn object(&mut self, name: &str) -> Result<Option<Pickle>> {
        let place = format!(", array {name}");
        let path = &self.path;
        let entry = self.archive.entry(&format!("{name}.npy"));
        let entry = entry.and_then(|entry| entry.ok_or_else(|| io::ErrorKind::NotFound.into()));
        let mut entry = entry.map_err(|e| unreadable(path, &place, &e))?;
        let (text, length) = Header::text(&mut entry).map_err(|e| unreadable(path, &place, &e))?;
        if !value_of(&text, "descr").is_some_and(|value| value.starts_with("'|O'")) {
            return Ok(None);
        }
        let size = entry.size().saturating_sub(length);
        // Every instruction is at least a byte and becomes at most a few values.
        let paid = self.budget.pay(size.saturating_mul(PICKLED));
        paid.map_err(|(expected, found)| Error::malformed(path, &place, expected, found))?;
        let mut bytes = Vec::new();
        let read = entry.by_ref().take(size).read_to_end(&mut bytes);
        read.and_then(|_| entry.finish()).map_err(|e| unreadable(path, &place, &e))?;
        pickle::parse(path, &place, &bytes)?.only_object().map(Some)
    }

    /// Reads a one-dimensional array.
    pub(super) fn list<T: Element>(&mut self, name: &str) -> Result<Vec<T>> {
        let array = self.array(name)?;
        match array.shape.len() {
            1 => Ok(array.values),
            _ => Err(self.wrong_shape(name, "one dimension", &array.shape)),
        }
    }

    /// Reads a one-dimensional array, if it is there.
    pub(super) fn optional_list<T: Element>(&mut self, name: &str) -> Result<Option<Vec<T>>> {
        if self.has(name) { self.list(name).map(Some) } else { Ok(None) }
    }

    /// Reads a two-dimensional array: rows, columns, values row by row.
    pub(super) fn matrix<T: Element>(&mut self, name: &str) -> Result<(usize, usize, Vec<T>)> {
        let array = self.array(name)?;
        match array.shape[..] {
            [rows, columns] => Ok((rows, columns, array.values)),
            _ => Err(self.wrong_shape(name, "two dimensions", &array.shape)),
        }
    }

    /// Reads the four arrays `PREFIX_shape`, `PREFIX_indptr`, `PREFIX_indices` and `PREFIX_data` of
    /// a CSR matrix.
    pub(super) fn csr(&mut self, prefix: &str) -> Result<Csr> {
        let shape = self.list(&format!("{prefix}_shape"))?;
        let &[rows, columns] = &shape[..] else {
            return Err(self.wrong_shape(
                &format!("{prefix}_shape"),
                "two numbers",
                &[shape.len()],
            ));
        };
        let csr = Csr {
            rows,
            columns,
            offsets: self.list(&format!("{prefix}_indptr"))?,
            indices: self.list(&format!("{prefix}_indices"))?,
            values: self.list(&format!("{prefix}_data"))?,
        };
        csr.check(&self.path, &format!(", arrays {prefix}_*"))?;
        Ok(csr)
    }

    /// The error for an array that is readable but has the wrong shape.
    pub(super) fn wrong_shape(
        &self,
        name: &str,
        expected: impl Into<String>,
        shape: &[usize],
    ) -> Error {
        Error::malformed(
            &self.path,
            format!(", array {name}"),
            expected,
            format!("shape {shape:?}"),
        )
    }
}

/// The header of a npy, already compared with the size of the entry.
struct Header {
    dtype: DType,
    column_major: bool,
    shape: Vec<usize>,
    count: usize,
}

impl Header {
    fn read(entry: &mut Entry<'_>) -> io::Result<Self> {
        let (text, length) = Self::text(entry)?;
        Self::parse(&text, entry.size().saturating_sub(length))
    }

    /// The dictionary of a header as text, and the number of bytes up to its end.
    fn text(entry: &mut Entry<'_>) -> io::Result<(String, u64)> {
        let mut start = [0u8; 10];
        entry.read_exact(&mut start)?;
        if start[..6] != *b"\x93NUMPY" {
            return Err(broken("no npy array"));
        }
        let mut before = start.len();
        let mut length = usize::from(u16::from_le_bytes([start[8], start[9]]));
        if start[6] > 1 {
            // From version 2 on the length has four bytes; a shape never needs the upper two.
            let mut upper = [0u8; 2];
            entry.read_exact(&mut upper)?;
            if upper != [0, 0] {
                return Err(broken("a header of more than 64 KiB"));
            }
            before += upper.len();
        }
        length += before;
        let mut text = vec![0; length - before];
        entry.read_exact(&mut text)?;
        let text = String::from_utf8(text).map_err(|_| broken("a header that is not text"))?;
        Ok((text, length as u64))
    }

    fn parse(text: &str, data_bytes: u64) -> io::Result<Self> {
        let dtype = value_of(text, "descr")
            .and_then(|value| value.strip_prefix('\'')?.split_once('\''))
            .and_then(|(descr, _)| DType::parse(descr))
            .ok_or_else(|| unknown_value(text, "descr"))?;
        let column_major = match value_of(text, "fortran_order") {
            Some(value) if value.starts_with("True") => true,
            Some(value) if value.starts_with("False") => false,
            _ => return Err(unknown_value(text, "fortran_order")),
        };
        let shape = value_of(text, "shape")
            .and_then(|value| value.strip_prefix('(')?.split_once(')'))
            .and_then(|(numbers, _)| parse_shape(numbers))
            .ok_or_else(|| unknown_value(text, "shape"))?;
        let count = shape.iter().try_fold(1usize, |product, &n| product.checked_mul(n));
        let bytes = count.and_then(|count| count.checked_mul(dtype.size()));
        let (Some(count), Some(true)) = (count, bytes.map(|bytes| bytes as u64 == data_bytes))
        else {
            return Err(broken(format!(
                "shape {shape:?}, which does not fit {data_bytes} bytes of data"
            )));
        };
        if column_major && shape.len() > 2 {
            return Err(broken("a column-major array of more than two dimensions"));
        }
        Ok(Self { dtype, column_major, shape, count })
    }

    fn row_major<T: Copy>(&self, values: Vec<T>) -> Vec<T> {
        match self.shape[..] {
            [rows, columns] if self.column_major => {
                // `at` is the row-major position in the result.
                (0..values.len()).map(|at| values[at % columns * rows + at / columns]).collect()
            }
            _ => values,
        }
    }
}

/// The text after `'KEY':` in the dictionary of a header.
fn value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.split_once(&format!("'{key}':")).map(|(_, after)| after.trim_start())
}

fn unknown_value(text: &str, key: &str) -> io::Error {
    broken(format!("a header without a `{key}` that is understood: {}", text.trim_end()))
}

/// `2, 3L,` to [2, 3]; Python 2 wrote the `L`.
fn parse_shape(text: &str) -> Option<Vec<usize>> {
    let mut parts: Vec<&str> = text.split(',').map(str::trim).collect();
    if parts.last() == Some(&"") {
        parts.pop();
    }
    parts.into_iter().map(|part| part.trim_end_matches('L').parse().ok()).collect()
}

/// Reads the numbers after the header. The inner error is the number that is not a `T`.
fn read_values<T: Element>(
    entry: &mut Entry<'_>,
    header: &Header,
) -> io::Result<Result<Vec<T>, String>> {
    let size = header.dtype.size();
    // The budget has paid for all of them; growing step by step would hold two copies at times.
    let mut values = Vec::with_capacity(header.count);
    let mut buffer = vec![0u8; AT_ONCE.min(header.count) * size];
    while values.len() < header.count {
        let bytes = &mut buffer[..(header.count - values.len()).min(AT_ONCE) * size];
        entry.read_exact(bytes)?;
        for chunk in bytes.chunks_exact(size) {
            let number = header.dtype.decode(chunk);
            match T::from_number(number) {
                Some(value) => values.push(value),
                None => return Ok(Err(format!("{number:?} at position {}", values.len()))),
            }
        }
    }
    Ok(Ok(values))
}

fn broken(reason: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason.into())
}

fn unreadable(path: &Path, place: &str, error: &io::Error) -> Error {
    from_io(path, place, error, "a readable npy array")
}

/// [`Error::Malformed`] if the bytes of the file are at fault, [`Error::Io`] otherwise.
pub(super) fn from_io(path: &Path, place: &str, error: &io::Error, expected: &str) -> Error {
    use io::ErrorKind::{InvalidData, InvalidInput, NotFound, UnexpectedEof};
    match error.kind() {
        UnexpectedEof => Error::malformed(path, place, expected, "the end of the data"),
        InvalidData | InvalidInput => Error::malformed(path, place, expected, error.to_string()),
        NotFound if !place.is_empty() => Error::malformed(path, place, expected, "nothing"),
        kind => Error::io(
            path,
            error.raw_os_error().map_or_else(|| kind.into(), io::Error::from_raw_os_error),
        ),
    }
}

/// Bytes in memory for each byte of a pickle, at most.
const PICKLED: u64 = 16;

/// The number of values that are read at once.
const AT_ONCE: usize = 1 << 14;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readers::testing::{Folder, npy_bytes, raw_npz};

    fn one(descr: &str, shape: &str, fortran: bool, data: &[u8]) -> (Folder, Npz) {
        let folder = Folder::new();
        let header = npy_bytes(descr, shape, fortran, data);
        folder.write("a.npz", &raw_npz(&[("a.npy", &header)]));
        let npz = Npz::open(&folder.path("a.npz")).unwrap();
        (folder, npz)
    }

    fn reason(descr: &str, shape: &str, data: &[u8]) -> String {
        one(descr, shape, false, data).1.array::<i64>("a").unwrap_err().to_string()
    }

    #[test]
    fn both_orders_give_the_same_rows() {
        let (_keep, mut npz) = one("|u1", "(2, 3)", false, &[1, 2, 3, 4, 5, 6]);
        let rows = npz.array::<i64>("a").unwrap();
        let (_keep, mut npz) = one("|u1", "(2L, 3L, )", true, &[1, 4, 2, 5, 3, 6]);
        assert_eq!(npz.array::<i64>("a").unwrap(), rows);
        assert_eq!(npz.matrix::<f32>("a").unwrap(), (2, 3, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
        assert!(
            npz.list::<i64>("a")
                .unwrap_err()
                .to_string()
                .contains("one dimension, found shape [2, 3]")
        );
        let missing = npz.list::<i64>("b").unwrap_err().to_string();
        assert!(missing.ends_with("expected an array `b`, found only a"), "{missing}");
    }

    #[test]
    fn a_shape_must_fit_the_data() {
        let message = reason("<i8", "(1000000000000,)", &[0; 16]);
        assert!(
            message.contains(
                "a.npz, array a: expected a readable npy array, found shape [1000000000000]"
            ),
            "{message}"
        );
        assert!(reason("<i8", "(4294967296, 4294967296)", &[]).contains("does not fit"));
        assert!(reason("<i8", "(1,)", &[0; 16]).contains("does not fit"));
        assert!(reason("<i8", "(-1,)", &[0; 8]).contains("`shape`"));
        assert!(reason("|O", "(1,)", &[0; 8]).contains("`descr`"));
    }

    #[test]
    fn numbers_must_be_of_the_wanted_kind() {
        assert!(
            reason("<f4", "(1,)", &1f32.to_le_bytes())
                .contains("expected an integer, found Float(1.0) at position 0")
        );
        let (_keep, mut npz) = one("|i1", "(2,)", false, &[1, 0xff]);
        let message = npz.list::<u32>("a").unwrap_err().to_string();
        assert!(message.contains("Integer(-1) at position 1"), "{message}");
    }

    /// Sixteen million small numbers that were packed into a few kilobytes; kept as i64 they are
    /// 128 MiB.
    #[test]
    fn arrays_that_unpack_beyond_the_budget_are_refused() {
        let count = 16 << 20;
        let bomb = npy_bytes("|u1", &format!("({count},)"), false, &vec![0; count]);
        let folder = Folder::new();
        folder.write("a.npz", &raw_npz(&[("a.npy", &bomb)]));
        let length = std::fs::metadata(folder.path("a.npz")).unwrap().len();
        let mut npz = Npz::open(&folder.path("a.npz")).unwrap();
        let message = npz.list::<i64>("a").unwrap_err().to_string();
        let granted = (32 << 20) + 128 * length;
        assert!(
            message.contains(&format!("array a: expected at most {granted} bytes unpacked in all")),
            "{message}"
        );
        assert!(message.ends_with(&format!("found at least {}", 8 * count)), "{message}");
        // As bytes it fits twice, and not a third time: the budget is one of the whole archive.
        let mut npz = Npz::open(&folder.path("a.npz")).unwrap();
        assert_eq!(npz.list::<u8>("a").unwrap().len(), count);
        assert_eq!(npz.list::<u8>("a").unwrap().len(), count);
        assert!(npz.list::<u8>("a").unwrap_err().to_string().contains("unpacked in all"));
    }

    #[test]
    fn a_missing_file_is_an_io_error() {
        let error = Npz::open(Path::new("/nowhere/at/all.npz")).err().unwrap();
        assert!(matches!(error, Error::Io { .. }), "{error}");
    }
}
