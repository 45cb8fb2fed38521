//! One comma-separated table, row by row, with errors that name line and column.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use boostfgl_graph::{Error, GroupColumn, Problems, Result};
use csv::{StringRecord, Trim};

use super::counted::Counted;
use super::npz::from_io;
use super::text::{malformed, quoted};

/// A table with a header, of which one row is in memory at a time.
pub(super) struct Table<'a> {
    pub(super) path: &'a Path,
    reader: csv::Reader<Counted<File>>,
    pub(super) header: Vec<String>,
    row: StringRecord,
}

impl<'a> Table<'a> {
    pub(super) fn open(path: &'a Path) -> Result<Self> {
        let file = File::open(path).map_err(|e| Error::io(path, e))?;
        // Rows of another length are refused below, with a message that says which.
        let mut reader =
            csv::ReaderBuilder::new().flexible(true).trim(Trim::All).from_reader(Counted(file));
        let header = reader.headers().map_err(|e| unreadable(path, &e))?;
        let header: Vec<String> =
            header.iter().map(|name| name.trim_start_matches('\u{feff}').to_owned()).collect();
        let mut columns = HashMap::new();
        for (at, name) in header.iter().enumerate() {
            if let Some(first) = columns.insert(name, at) {
                let found = format!("{} again, first in column {}", quoted(name), first + 1);
                return Err(malformed(path, 1, at + 1, "every column name once", found));
            }
        }
        Ok(Self { path, reader, header, row: StringRecord::new() })
    }

    pub(super) fn column(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|column| column == name)
    }

    pub(super) fn required(&self, name: &str) -> Result<usize> {
        self.column(name).ok_or_else(|| {
            let expected = format!("a header with a column `{name}`");
            malformed(self.path, 1, 1, expected, quoted(&self.header.join(",")))
        })
    }

    /// The columns called `group:NAME` and their names, in the order of the header.
    pub(super) fn group_columns(&self) -> Result<Vec<(usize, String)>> {
        let mut groups: Vec<(usize, String)> = Vec::new();
        let mut first_of: HashMap<&str, usize> = HashMap::new();
        for (at, title) in self.header.iter().enumerate() {
            let Some(name) = title.strip_prefix("group:").map(str::trim) else { continue };
            if let Some(expected) = GroupColumn::objection(name) {
                return Err(malformed(self.path, 1, at + 1, expected, quoted(title)));
            }
            if let Some(first) = first_of.insert(name, at) {
                let found = format!("{} again, first in column {}", quoted(name), first + 1);
                return Err(malformed(
                    self.path,
                    1,
                    at + 1,
                    "every name of a grouping once",
                    found,
                ));
            }
            groups.push((at, name.to_owned()));
        }
        Ok(groups)
    }

    /// Reads the next row that is text and as long as the header; the others are problems. False
    /// after the last.
    pub(super) fn next(&mut self, problems: &mut Problems<'_>) -> Result<bool> {
        loop {
            match self.reader.read_record(&mut self.row) {
                Ok(false) => return Ok(false),
                Ok(true) if self.row.len() == self.header.len() => return Ok(true),
                Ok(true) => {
                    let (wanted, found) = (self.header.len(), self.row.len());
                    problems.add(self.start(), Some(found.min(wanted) + 1), || {
                        (format!("{wanted} fields, as in the header"), found.to_string())
                    });
                }
                Err(error) => match error.kind() {
                    csv::ErrorKind::Utf8 { pos: Some(at), err } => {
                        problems.add(at.byte(), Some(err.field() + 1), || {
                            ("UTF-8 text".to_owned(), "other bytes".to_owned())
                        });
                    }
                    _ => return Err(unreadable(self.path, &error)),
                },
            }
        }
    }

    /// Rows are as long as the header, so the column exists.
    pub(super) fn field(&self, column: usize) -> &str {
        self.row.get(column).unwrap_or_default()
    }

    /// A finite number; anything else is a problem.
    pub(super) fn number(&self, column: usize, problems: &mut Problems<'_>) -> Option<f32> {
        let number = self.parsed(column);
        if number.is_none() {
            self.problem(problems, column, || (self.wanted(column), quoted(self.field(column))));
        }
        number
    }

    /// A number that is a feature. A text in its place may be meant as a group, so the message
    /// explains how to declare one.
    pub(super) fn feature(&self, column: usize, problems: &mut Problems<'_>) -> Option<f32> {
        let number = self.parsed(column);
        if number.is_none() {
            self.problem(problems, column, || {
                let (text, name) = (self.field(column), &self.header[column]);
                let hint =
                    format!(" (a column of names is a grouping if it is called `group:{name}`)");
                (
                    self.wanted(column),
                    format!("{}{}", quoted(text), if is_text(text) { &hint } else { "" }),
                )
            });
        }
        number
    }

    fn parsed(&self, column: usize) -> Option<f32> {
        self.field(column).parse::<f32>().ok().filter(|x| x.is_finite())
    }

    fn wanted(&self, column: usize) -> String {
        format!("a finite number for {}", quoted(&self.header[column]))
    }

    /// The byte at which the row read last begins.
    pub(super) fn start(&self) -> u64 {
        self.row.position().map_or(0, csv::Position::byte)
    }

    /// Adds a problem with a field of the row read last.
    pub(super) fn problem(
        &self,
        problems: &mut Problems<'_>,
        column: usize,
        expected_and_found: impl FnOnce() -> (String, String),
    ) {
        problems.add(self.start(), Some(column + 1), expected_and_found);
    }
}

/// Whether a field is neither empty nor a number.
fn is_text(field: &str) -> bool {
    !field.is_empty() && field.parse::<f64>().is_err()
}

fn unreadable(path: &Path, error: &csv::Error) -> Error {
    match error.kind() {
        csv::ErrorKind::Io(source) => from_io(path, "", source, "a table"),
        csv::ErrorKind::Utf8 { pos, err } => {
            let line = pos.as_ref().map_or(1, csv::Position::line);
            malformed(path, line, err.field() + 1, "UTF-8 text", "other bytes")
        }
        _ => Error::malformed(path, "", "a table", error.to_string()),
    }
}
