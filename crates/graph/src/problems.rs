//! Everything that is wrong with a table, in one error: who corrects a file wants to do it once.

use std::io::{self, Read as _};
use std::path::Path;

use crate::{Error, Result};

/// What is wrong with a table so far. The first [`Problems::SHOWN`] are kept with their places, the
/// others are counted.
///
/// ```
/// use boostfgl_graph::Problems;
///
/// let file = tempfile::NamedTempFile::new()?;
/// std::fs::write(file.path(), "a,b\r\n1,x\r\n2,y\r\n")?;
/// let mut problems = Problems::new(file.path());
/// // The second row begins at byte 5, the third at byte 10.
/// problems.add(5, Some(2), || ("a number".into(), "`x`".into()));
/// problems.add(10, Some(2), || ("a number".into(), "`y`".into()));
/// let told = problems.finish().unwrap_err().to_string();
/// assert!(told.ends_with(
///     ": 2 problems\n  line 2, column 2: expected a number, found `x`\n  line 3, column 2: expected a number, found `y`"
/// ));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Problems<'a> {
    path: &'a Path,
    kept: Vec<Problem>,
    count: usize,
}

/// One of them. Places are kept as bytes: lines are counted once, at the end, for all problems
/// together.
#[derive(Debug)]
struct Problem {
    byte: u64,
    column: Option<usize>,
    expected: String,
    found: String,
    first: Option<u64>,
}

impl<'a> Problems<'a> {
    /// How many are shown.
    pub const SHOWN: usize = 20;

    /// None yet, of the table at `path`.
    pub fn new(path: &'a Path) -> Self {
        Self { path, kept: Vec::new(), count: 0 }
    }

    /// Adds a problem of the row that begins at `byte`, in `column` (counted from 1) or in the row
    /// as a whole. What was expected and what was found is only asked for if it will be shown.
    pub fn add(
        &mut self,
        byte: u64,
        column: Option<usize>,
        told: impl FnOnce() -> (String, String),
    ) {
        self.keep(byte, column, None, told);
    }

    /// Adds that a row repeats what stood in the row that begins at `first` already.
    pub fn add_again(
        &mut self,
        byte: u64,
        column: Option<usize>,
        first: u64,
        told: impl FnOnce() -> (String, String),
    ) {
        self.keep(byte, column, Some(first), told);
    }

    fn keep(
        &mut self,
        byte: u64,
        column: Option<usize>,
        first: Option<u64>,
        told: impl FnOnce() -> (String, String),
    ) {
        self.count += 1;
        if self.kept.len() < Self::SHOWN {
            let (expected, found) = told();
            self.kept.push(Problem { byte, column, expected, found, first });
        }
    }

    /// All of them as one error.
    ///
    /// # Errors
    /// [`Error::Malformed`] if there is one problem, [`Error::Several`] if there are more.
    pub fn finish(self) -> Result<()> {
        let Self { path, mut kept, count } = self;
        let bytes: Vec<u64> =
            kept.iter().flat_map(|problem| [problem.byte, problem.first.unwrap_or(0)]).collect();
        let lines = if kept.is_empty() { Vec::new() } else { line_numbers(path, &bytes)? };
        let mut places = Vec::new();
        for (problem, lines) in kept.iter_mut().zip(lines.chunks_exact(2)) {
            if problem.first.is_some() {
                problem.found.push_str(&format!(" again, first on line {}", lines[1]));
            }
            let column =
                problem.column.map(|column| format!(", column {column}")).unwrap_or_default();
            places.push(format!("line {}{column}", lines[0]));
        }
        let told = |(place, problem): (&String, &Problem)| problem.told(place);
        match (places.as_slice(), kept.pop()) {
            (_, None) => Ok(()),
            ([place], Some(only)) => {
                Err(Error::malformed(path, format!(", {place}"), only.expected, only.found))
            }
            (_, Some(last)) => {
                kept.push(last);
                let problems: Vec<String> = places.iter().zip(&kept).map(told).collect();
                Err(Error::Several {
                    path: path.to_path_buf(),
                    more: count - problems.len(),
                    problems,
                })
            }
        }
    }
}

impl Problem {
    /// On one line, whatever the file holds.
    fn told(&self, place: &str) -> String {
        format!("{place}: expected {}, found {}", self.expected, self.found)
            .replace(['\n', '\r'], " ")
    }
}

/// The lines, counted from 1, on which rows stand that begin at these bytes of a table. One pass
/// over the file.
///
/// The csv crate's own count is off after a blank line and after `\r\n`: it takes what is left of a
/// line's end for the start of the next row. So the line of a row is that of the first byte, at or
/// after the given one, that ends no line.
///
/// # Errors
/// If the file cannot be read again.
pub fn line_numbers(path: &Path, bytes: &[u64]) -> Result<Vec<u64>> {
    let count = || -> io::Result<Vec<u64>> {
        let mut order: Vec<usize> = (0..bytes.len()).collect();
        order.sort_by_key(|&at| bytes[at]);
        let mut waiting = order.into_iter().peekable();
        let mut lines = vec![1; bytes.len()];
        let (mut line, mut offset, mut after_return) = (1u64, 0u64, false);
        let mut file = std::fs::File::open(path)?;
        let mut piece = vec![0; 1 << 16];
        loop {
            let read = file.read(&mut piece)?;
            for &byte in &piece[..read] {
                match byte {
                    // Both together end one line.
                    b'\n' if after_return => {}
                    b'\n' | b'\r' => line += 1,
                    _ => {
                        while let Some(at) = waiting.next_if(|&at| bytes[at] <= offset) {
                            lines[at] = line;
                        }
                    }
                }
                after_return = byte == b'\r';
                offset += 1;
            }
            if read == 0 || waiting.peek().is_none() {
                waiting.for_each(|at| lines[at] = line);
                return Ok(lines);
            }
        }
    };
    count().map_err(|error| Error::io(path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, bytes: &[u64]) -> Vec<u64> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        line_numbers(file.path(), bytes).unwrap()
    }

    #[test]
    fn lines_are_counted_whatever_ends_them() {
        assert_eq!(lines("ab\ncd\nef", &[6, 0, 3]), [3, 1, 2]);
        assert_eq!(lines("ab\r\ncd\r\nef", &[0, 3, 7]), [1, 2, 3]);
        assert_eq!(lines("ab\rcd\ref", &[0, 3, 6]), [1, 2, 3]);
        // Blank lines before a row count, and those after the last one belong to no row.
        assert_eq!(lines("ab\n\n\r\ncd\n\n", &[3]), [4]);
        assert_eq!(lines("ab\n", &[99]), [2]);
    }

    #[test]
    fn what_is_beyond_the_first_is_counted_and_not_put_together() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut problems = Problems::new(file.path());
        for at in 0..Problems::SHOWN + 3 {
            problems.add(0, None, || {
                assert!(at < Problems::SHOWN);
                ("one\nline".to_owned(), at.to_string())
            });
        }
        let told = problems.finish().unwrap_err().to_string();
        assert!(told.contains(": 23 problems\n  line 1: expected one line, found 0\n"), "{told}");
        assert!(told.ends_with("\n  line 1: expected one line, found 19\n  and 3 more"), "{told}");
        assert_eq!(told.lines().count(), 22);
        assert!(Problems::new(file.path()).finish().is_ok());
    }
}
