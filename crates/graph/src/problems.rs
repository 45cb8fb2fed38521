//! All problems of a table in one error, so that a file can be corrected in one go.

use std::io::{self, Read as _};
use std::path::Path;

use crate::{Error, Result};

/// The problems found in a table so far. The first [`Problems::SHOWN`] are stored with their
/// places, the others are counted.
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
/// let message = problems.finish().unwrap_err().to_string();
/// assert!(message.ends_with(
///     ": 2 problems\n  line 2, column 2: expected a number, found `x`\n  line 3, column 2: expected a number, found `y`"
/// ));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Problems<'a> {
    path: &'a Path,
    /// The text of the table, if it is not what the file holds: unpacked, or in another encoding.
    text: Option<&'a str>,
    kept: Vec<Problem>,
    count: usize,
}

/// One problem. Its place is a byte: lines are counted once, at the end, for all problems.
#[derive(Debug)]
struct Problem {
    byte: u64,
    column: Option<usize>,
    expected: String,
    found: String,
    first: Option<u64>,
}

impl<'a> Problems<'a> {
    /// The number of problems that are shown.
    pub const SHOWN: usize = 20;

    /// None yet, of the table at `path`.
    pub fn new(path: &'a Path) -> Self {
        Self { path, text: None, kept: Vec::new(), count: 0 }
    }

    /// None yet, of a table whose rows begin at bytes of `text`, which was made from the file at
    /// `path`.
    pub fn in_text(path: &'a Path, text: &'a str) -> Self {
        Self { text: Some(text), ..Self::new(path) }
    }

    /// The number of problems.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Adds a problem of the row that begins at `byte`, in `column` (counted from 1) or in the row
    /// as a whole. `expected_and_found` is called only if the problem will be shown.
    pub fn add(
        &mut self,
        byte: u64,
        column: Option<usize>,
        expected_and_found: impl FnOnce() -> (String, String),
    ) {
        self.store(byte, column, None, expected_and_found);
    }

    /// Adds that a row repeats something from the row that begins at `first`.
    pub fn add_again(
        &mut self,
        byte: u64,
        column: Option<usize>,
        first: u64,
        expected_and_found: impl FnOnce() -> (String, String),
    ) {
        self.store(byte, column, Some(first), expected_and_found);
    }

    fn store(
        &mut self,
        byte: u64,
        column: Option<usize>,
        first: Option<u64>,
        expected_and_found: impl FnOnce() -> (String, String),
    ) {
        self.count += 1;
        if self.kept.len() < Self::SHOWN {
            let (expected, found) = expected_and_found();
            self.kept.push(Problem { byte, column, expected, found, first });
        }
    }

    /// All of them as one error.
    ///
    /// # Errors
    /// [`Error::Malformed`] if there is one problem, [`Error::Several`] if there are more.
    pub fn finish(self) -> Result<()> {
        let Self { path, text, mut kept, count } = self;
        let bytes: Vec<u64> =
            kept.iter().flat_map(|problem| [problem.byte, problem.first.unwrap_or(0)]).collect();
        let lines = match text {
            _ if kept.is_empty() => Vec::new(),
            Some(text) => lines_of_text(text, &bytes),
            None => line_numbers(path, &bytes)?,
        };
        let mut places = Vec::new();
        for (problem, lines) in kept.iter_mut().zip(lines.chunks_exact(2)) {
            if problem.first.is_some() {
                problem.found.push_str(&format!(" again, first on line {}", lines[1]));
            }
            let column =
                problem.column.map(|column| format!(", column {column}")).unwrap_or_default();
            places.push(format!("line {}{column}", lines[0]));
        }
        match (places.as_slice(), kept.pop()) {
            (_, None) => Ok(()),
            ([place], Some(only)) => {
                Err(Error::malformed(path, format!(", {place}"), only.expected, only.found))
            }
            (_, Some(last)) => {
                kept.push(last);
                let problems: Vec<String> =
                    places.iter().zip(&kept).map(|(place, problem)| problem.line(place)).collect();
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
    /// The problem in one line, even if a field contains line breaks.
    fn line(&self, place: &str) -> String {
        format!("{place}: expected {}, found {}", self.expected, self.found)
            .replace(['\n', '\r'], " ")
    }
}

/// The lines, counted from 1, of the rows that begin at these bytes of a text.
fn lines_of_text(text: &str, bytes: &[u64]) -> Vec<u64> {
    let mut counter = LineCounter::new(bytes);
    for byte in text.bytes() {
        counter.pass(byte);
        if counter.is_done() {
            break;
        }
    }
    counter.finish()
}

/// The lines, counted from 1, of the rows of a table that begin at these bytes. One pass over the
/// file.
///
/// # Errors
/// If the file cannot be read again.
pub fn line_numbers(path: &Path, bytes: &[u64]) -> Result<Vec<u64>> {
    count_lines(path, bytes).map_err(|error| Error::io(path, error))
}

fn count_lines(path: &Path, bytes: &[u64]) -> io::Result<Vec<u64>> {
    let mut counter = LineCounter::new(bytes);
    let mut file = std::fs::File::open(path)?;
    let mut piece = vec![0; 1 << 16];
    loop {
        let read = file.read(&mut piece)?;
        piece[..read].iter().for_each(|&byte| counter.pass(byte));
        if read == 0 || counter.is_done() {
            return Ok(counter.finish());
        }
    }
}

/// Counts lines while the bytes of a file pass by.
///
/// The csv crate's own count is wrong after a blank line and after `\r\n`: it takes the rest of a
/// line ending for the start of the next row. So the line of a row is that of the first byte, at or
/// after the given one, that is not part of a line ending.
struct LineCounter<'a> {
    /// The bytes at which rows begin.
    starts: &'a [u64],
    /// Indices into `starts`, the row nearest to the end of the file first.
    pending: Vec<usize>,
    /// The line of each row.
    lines: Vec<u64>,
    line: u64,
    offset: u64,
    after_return: bool,
}

impl<'a> LineCounter<'a> {
    fn new(starts: &'a [u64]) -> Self {
        let mut pending: Vec<usize> = (0..starts.len()).collect();
        pending.sort_by_key(|&at| std::cmp::Reverse(starts[at]));
        let lines = vec![1; starts.len()];
        Self { starts, pending, lines, line: 1, offset: 0, after_return: false }
    }

    fn pass(&mut self, byte: u8) {
        match byte {
            // `\r\n` ends one line, not two.
            b'\n' if self.after_return => {}
            b'\n' | b'\r' => self.line += 1,
            _ => {
                let (starts, offset) = (self.starts, self.offset);
                while let Some(at) = self.pending.pop_if(|at| starts[*at] <= offset) {
                    self.lines[at] = self.line;
                }
            }
        }
        self.after_return = byte == b'\r';
        self.offset += 1;
    }

    fn is_done(&self) -> bool {
        self.pending.is_empty()
    }

    /// The lines; a row that begins after the last byte is on the last line.
    fn finish(mut self) -> Vec<u64> {
        self.pending.iter().for_each(|&at| self.lines[at] = self.line);
        self.lines
    }
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
    fn all_line_endings_are_counted() {
        assert_eq!(lines("ab\ncd\nef", &[6, 0, 3]), [3, 1, 2]);
        assert_eq!(lines("ab\r\ncd\r\nef", &[0, 3, 7]), [1, 2, 3]);
        assert_eq!(lines("ab\rcd\ref", &[0, 3, 6]), [1, 2, 3]);
        // Blank lines before a row count, and those after the last one belong to no row.
        assert_eq!(lines("ab\n\n\r\ncd\n\n", &[3]), [4]);
        assert_eq!(lines("ab\n", &[99]), [2]);
    }

    #[test]
    fn lines_are_those_of_the_text_if_there_is_one() {
        let mut problems = Problems::in_text("no/such/file".as_ref(), "a,b\r\n1,x\r\n");
        problems.add(5, Some(2), || ("a number".to_owned(), "`x`".to_owned()));
        assert_eq!(problems.count(), 1);
        let message = problems.finish().unwrap_err().to_string();
        assert_eq!(message, "no/such/file, line 2, column 2: expected a number, found `x`");
    }

    #[test]
    fn problems_beyond_the_first_are_counted_and_not_formatted() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut problems = Problems::new(file.path());
        for at in 0..Problems::SHOWN + 3 {
            problems.add(0, None, || {
                assert!(at < Problems::SHOWN);
                ("one\nline".to_owned(), at.to_string())
            });
        }
        let message = problems.finish().unwrap_err().to_string();
        assert!(
            message.contains(": 23 problems\n  line 1: expected one line, found 0\n"),
            "{message}"
        );
        assert!(
            message.ends_with("\n  line 1: expected one line, found 19\n  and 3 more"),
            "{message}"
        );
        assert_eq!(message.lines().count(), 22);
        assert!(Problems::new(file.path()).finish().is_ok());
    }
}
