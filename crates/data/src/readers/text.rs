//! Text files, line by line, plain or gzipped, with errors that name the line.
//!
//! Unpacked bytes are charged to a [`Budget`], which several files of a folder may share.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use boostfgl_graph::{Error, Result};
use flate2::read::MultiGzDecoder;

use super::budget::Budget;
use super::counted::Counted;
use super::npz::from_io;

/// The lines of a file; only one is in memory at a time.
pub(super) struct Lines<'a> {
    path: PathBuf,
    /// The budget that lines and numbers are charged to, if the file is packed.
    budget: Option<&'a Budget>,
    reader: Box<dyn BufRead>,
    line: Vec<u8>,
    number: u64,
}

impl Lines<'static> {
    /// Opens a plain text file.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|e| Error::io(path, e))?;
        let reader = Box::new(BufReader::new(Counted(file)));
        Ok(Self { path: path.to_path_buf(), budget: None, reader, line: Vec::new(), number: 0 })
    }
}

impl<'a> Lines<'a> {
    /// Opens a gzipped text file, whose size adds to the budget.
    pub(super) fn unpack(path: &Path, budget: &'a Budget) -> Result<Self> {
        let file = File::open(path).map_err(|e| Error::io(path, e))?;
        budget.admit(file.metadata().map_err(|e| Error::io(path, e))?.len());
        let reader = Box::new(BufReader::new(MultiGzDecoder::new(Counted(file))));
        Ok(Self {
            path: path.to_path_buf(),
            budget: Some(budget),
            reader,
            line: Vec::new(),
            number: 0,
        })
    }

    /// The next line without its end; `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<&str>> {
        self.line.clear();
        let place = format!(", line {}", self.number + 1);
        // One byte more than the budget holds, so that a line which does not fit is noticed.
        let most =
            self.budget.map_or(MAX_LINE, |budget| budget.left().saturating_add(1).min(MAX_LINE));
        let read = self
            .reader
            .by_ref()
            .take(most)
            .read_until(b'\n', &mut self.line)
            .map_err(|e| from_io(&self.path, &place, &e, "readable text"))?;
        self.hold(read)?;
        if read as u64 == MAX_LINE {
            return Err(Error::malformed(
                &self.path,
                place,
                format!("lines below {MAX_LINE} bytes"),
                "a longer one",
            ));
        }
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        match std::str::from_utf8(&self.line) {
            Ok(line) => Ok(Some(line.trim_end_matches(['\n', '\r']))),
            Err(_) => Err(Error::malformed(&self.path, place, "UTF-8 text", "other bytes")),
        }
    }

    /// Pays for bytes that are kept of the line after the one read last, or of that one.
    pub(super) fn hold(&self, bytes: usize) -> Result<()> {
        let paid = self.budget.map_or(Ok(()), |budget| budget.pay(bytes as u64));
        paid.map_err(|(expected, found)| {
            Error::malformed(&self.path, format!(", line {}", self.number + 1), expected, found)
        })
    }

    /// An error about `column` (counted from 1) of the line read last.
    pub(super) fn malformed(
        &self,
        column: usize,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Error {
        malformed(&self.path, self.number, column, expected, found)
    }

    /// Reads numbers, `N` to a line and separated by `separator`, until the file ends; at most
    /// `limit` lines.
    pub(super) fn numbers<T: FromStr + Copy, const N: usize>(
        mut self,
        separator: char,
        wanted: &str,
        limit: usize,
    ) -> Result<Vec<[T; N]>> {
        let mut rows = Vec::new();
        loop {
            self.hold(size_of::<[T; N]>())?;
            let Some(line) = self.next()? else { break };
            let parsed: Option<Vec<T>> =
                line.split(separator).map(|field| field.trim().parse().ok()).collect();
            match parsed.and_then(|fields| <[T; N]>::try_from(fields).ok()) {
                Some(row) if rows.len() < limit => rows.push(row),
                Some(_) => return Err(self.malformed(1, format!("{limit} lines"), "more lines")),
                None => {
                    let found = quoted(line);
                    return Err(self.malformed(1, wanted, found));
                }
            }
        }
        Ok(rows)
    }
}

/// An error about a place in a text file.
pub(super) fn malformed(
    path: &Path,
    line: u64,
    column: usize,
    expected: impl Into<String>,
    found: impl Into<String>,
) -> Error {
    Error::malformed(path, format!(", line {line}, column {column}"), expected, found)
}

/// The text in quotes, shortened if it would flood the message.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    }
}

/// Longer than any line of a dataset (one node's features); a bound for files that unpack to one
/// endless line.
const MAX_LINE: u64 = 1 << 26;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readers::testing::Folder;

    #[test]
    fn plain_and_packed_lines_are_the_same() {
        let folder = Folder::new();
        folder.write("a.txt", b"1,2\r\n3, 4\n");
        folder.write_gz("a.txt.gz", "1,2\n3,4");
        let budget = Budget::new();
        let (plain, packed) = (folder.path("a.txt"), folder.path("a.txt.gz"));
        for lines in [Lines::open(&plain), Lines::unpack(&packed, &budget)] {
            let rows = lines.unwrap().numbers::<u32, 2>(',', "two numbers", 2).unwrap();
            assert_eq!(rows, [[1, 2], [3, 4]]);
        }
    }

    #[test]
    fn errors_name_the_line() {
        let folder = Folder::new();
        folder.write("a.txt", b"1,2\nx\n");
        let read = |limit| {
            Lines::open(&folder.path("a.txt")).unwrap().numbers::<u32, 2>(',', "two numbers", limit)
        };
        let message = read(9).unwrap_err().to_string();
        assert!(
            message.ends_with("a.txt, line 2, column 1: expected two numbers, found `x`"),
            "{message}"
        );
        folder.write("a.txt", b"1,2\n1,2\n");
        assert!(read(1).unwrap_err().to_string().contains("more lines"));
        folder.write("a.txt", b"1,2\n\xff\n");
        assert!(read(9).unwrap_err().to_string().contains("line 2: expected UTF-8"));
        folder.write("a.txt.gz", b"no gzip");
        assert!(Lines::unpack(&folder.path("a.txt.gz"), &Budget::new()).unwrap().next().is_err());
    }

    /// Millions of short lines, and one endless line, in some tens of kilobytes.
    #[test]
    fn lines_that_unpack_beyond_the_budget_are_refused() {
        let folder = Folder::new();
        let read = |text: &str| {
            folder.write_gz("a.txt.gz", text);
            let budget = Budget::new();
            let lines = Lines::unpack(&folder.path("a.txt.gz"), &budget).unwrap();
            lines.numbers::<i64, 1>(',', "a number", usize::MAX).unwrap_err().to_string()
        };
        let short = read(&"0\n".repeat(6 << 20));
        assert!(
            short.contains("a.txt.gz, line ") && short.contains("bytes unpacked in all (32 MiB"),
            "{short}"
        );
        let endless = read(&"0".repeat(48 << 20));
        assert!(endless.contains("a.txt.gz, line 1: expected at most"), "{endless}");
    }
}
