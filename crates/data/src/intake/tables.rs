//! Several exported tables of one kind, read as one: delimiter found, rows collected.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use boostfgl_graph::{Error, Problems, Result};
use csv::{ByteRecord, ReaderBuilder, StringRecord};

use super::Reading;
use super::encoding;
use crate::readers::text::quoted;

/// The rows of all tables, in the order of the files.
pub(super) struct Tables {
    sources: Vec<Source>,
    /// The names of the columns, those of the first table.
    pub(super) header: Vec<String>,
    rows: Vec<Row>,
    pub(super) notes: Vec<String>,
}

/// One file.
struct Source {
    path: PathBuf,
    text: String,
    delimiter: u8,
    /// Rows of another length than the header: where they begin, and their length.
    uneven: Vec<(u64, usize)>,
}

/// One row, and the file it is from.
struct Row {
    source: usize,
    record: StringRecord,
}

impl Tables {
    /// Reads the files, which must have the same columns; their order is free.
    pub(super) fn read(paths: &[PathBuf], reading: Reading) -> Result<Self> {
        let mut tables =
            Self { sources: Vec::new(), header: Vec::new(), rows: Vec::new(), notes: Vec::new() };
        for path in paths {
            tables.add(path, reading)?;
        }
        Ok(tables)
    }

    fn add(&mut self, path: &Path, reading: Reading) -> Result<()> {
        let read = encoding::read(path, reading.encoding)?;
        self.notes.extend(read.note);
        let text = read.text;
        let delimiter = read.delimiter.or(reading.delimiter).unwrap_or_else(|| delimiter(&text));
        let mut reader =
            ReaderBuilder::new().flexible(true).delimiter(delimiter).from_reader(text.as_bytes());
        let header = reader.headers().map_err(|error| unreadable(path, &error))?;
        let header: Vec<String> = header.iter().map(named).collect();
        check_header(path, &header)?;
        let order = self.order(path, header)?;
        let (mut uneven, source) = (Vec::new(), self.sources.len());
        let mut record = StringRecord::new();
        while reader.read_record(&mut record).map_err(|error| unreadable(path, &error))? {
            let start = record.position().map_or(0, csv::Position::byte);
            // Spreadsheets write rows of nothing but delimiters after the last one.
            if record.iter().all(|field| field.trim().is_empty()) {
                continue;
            }
            if record.len() == order.len() {
                let record = arranged(&record, &order);
                self.rows.push(Row { source, record });
            } else {
                uneven.push((start, record.len()));
            }
        }
        self.sources.push(Source { path: path.to_path_buf(), text, delimiter, uneven });
        Ok(())
    }

    /// Where each column of the first table is in this one.
    fn order(&mut self, path: &Path, header: Vec<String>) -> Result<Vec<usize>> {
        if self.sources.is_empty() {
            self.header = header;
            return Ok((0..self.header.len()).collect());
        }
        let first = self.sources[0].path.display();
        let missing = self.header.iter().find(|name| !header.contains(name));
        let extra = header.iter().find(|name| !self.header.contains(name));
        let found = match (missing, extra) {
            (Some(name), _) => format!("no column {}", quoted(name)),
            (None, Some(name)) => format!("a column {} that it does not have", quoted(name)),
            (None, None) => {
                let place = |name| header.iter().position(|other| other == name);
                return Ok(self.header.iter().filter_map(place).collect());
            }
        };
        Err(Error::malformed(path, ", line 1", format!("the columns of {first}"), found))
    }

    /// The number of rows.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// A field without the spaces around it.
    pub(super) fn field(&self, row: usize, column: usize) -> &str {
        self.raw(row, column).trim()
    }

    /// A field as it is.
    pub(super) fn raw(&self, row: usize, column: usize) -> &str {
        self.rows[row].record.get(column).unwrap_or_default()
    }

    /// The fields of a column, from the first row to the last.
    pub(super) fn column(&self, column: usize) -> impl Iterator<Item = &str> {
        (0..self.len()).map(move |row| self.field(row, column))
    }

    /// Whether a comma may be a decimal comma: it does not separate the fields.
    pub(super) fn may_have_decimal_commas(&self) -> bool {
        self.sources.iter().all(|source| source.delimiter != b',')
    }

    /// The files, in words.
    pub(super) fn place(&self) -> String {
        let paths: Vec<String> =
            self.sources.iter().map(|source| source.path.display().to_string()).collect();
        paths.join(", ")
    }

    /// The problems of these tables; rows of the wrong length are the first.
    pub(super) fn problems(&self) -> TableProblems<'_> {
        let mut of: Vec<Problems<'_>> = Vec::with_capacity(self.sources.len());
        for source in &self.sources {
            let mut problems = Problems::in_text(&source.path, &source.text);
            for &(start, found) in &source.uneven {
                let wanted = self.header.len();
                problems.add(start, Some(found.min(wanted) + 1), || {
                    (format!("{wanted} fields, as in the header"), found.to_string())
                });
            }
            of.push(problems);
        }
        TableProblems { tables: self, of }
    }
}

/// The problems of several tables, by row and column of all of them.
pub(super) struct TableProblems<'a> {
    tables: &'a Tables,
    of: Vec<Problems<'a>>,
}

impl TableProblems<'_> {
    /// A problem with a field.
    pub(super) fn add(
        &mut self,
        row: usize,
        column: usize,
        expected_and_found: impl FnOnce() -> (String, String),
    ) {
        let Row { source, record } = &self.tables.rows[row];
        self.of[*source].add(start(record), Some(column + 1), expected_and_found);
    }

    /// A problem with a field that repeats something of an earlier row.
    pub(super) fn add_again(
        &mut self,
        row: usize,
        column: usize,
        first: usize,
        expected_and_found: impl FnOnce() -> (String, String),
    ) {
        let Row { source, record } = &self.tables.rows[row];
        let earlier = &self.tables.rows[first];
        let (at, column) = (start(record), Some(column + 1));
        if earlier.source == *source {
            self.of[*source].add_again(at, column, start(&earlier.record), expected_and_found);
        } else {
            let path = self.tables.sources[earlier.source].path.display();
            self.of[*source].add(at, column, || {
                let (expected, found) = expected_and_found();
                (expected, format!("{found} again, first in {path}"))
            });
        }
    }

    /// A problem with a whole column.
    pub(super) fn of_column(
        &mut self,
        column: usize,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) {
        self.of[0].add(0, Some(column + 1), || (expected.into(), found.into()));
    }

    /// The problems of the first table that has any.
    pub(super) fn finish(self) -> Result<()> {
        self.of.into_iter().try_for_each(Problems::finish)
    }
}

fn start(record: &StringRecord) -> u64 {
    record.position().map_or(0, csv::Position::byte)
}

/// The fields in another order, with the place of the row.
fn arranged(record: &StringRecord, order: &[usize]) -> StringRecord {
    let mut arranged: StringRecord = order.iter().filter_map(|&at| record.get(at)).collect();
    arranged.set_position(record.position().cloned());
    arranged
}

/// The name of a column without spaces and byte order marks around it.
fn named(title: &str) -> String {
    title.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}').to_owned()
}

/// Refuses a header without names, or with one twice.
fn check_header(path: &Path, header: &[String]) -> Result<()> {
    if header.iter().all(String::is_empty) {
        return Err(Error::malformed(path, ", line 1", "a header with names", "none"));
    }
    let mut first_of: HashMap<&str, usize> = HashMap::new();
    for (at, name) in header.iter().enumerate() {
        let place = format!(", line 1, column {}", at + 1);
        if name.is_empty() {
            return Err(Error::malformed(path, place, "a name for every column", "none"));
        }
        if let Some(first) = first_of.insert(name, at) {
            let found = format!("{} again, first in column {}", quoted(name), first + 1);
            return Err(Error::malformed(path, place, "every column name once", found));
        }
    }
    Ok(())
}

/// The delimiter of a table: the one by which most of the first rows are as long as the header, and
/// of several of these the one with the longest header.
fn delimiter(text: &str) -> u8 {
    let score = |&delimiter: &u8| {
        let mut reader = ReaderBuilder::new()
            .flexible(true)
            .has_headers(false)
            .delimiter(delimiter)
            .from_reader(text.as_bytes());
        let mut record = ByteRecord::new();
        let mut lengths = Vec::with_capacity(SAMPLE);
        while lengths.len() < SAMPLE && reader.read_byte_record(&mut record).unwrap_or(false) {
            lengths.push(record.len());
        }
        let header = lengths.first().copied().unwrap_or(0);
        let even = lengths.iter().filter(|length| **length == header).count();
        // A header of one field says nothing about the delimiter.
        (if header > 1 { 1000 * even / lengths.len().max(1) } else { 0 }, header)
    };
    // Of delimiters with the same score the first: `max_by_key` takes the last.
    DELIMITERS.into_iter().rev().max_by_key(score).unwrap_or(b',')
}

/// The delimiters that are looked for.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// The number of rows by which the delimiter is found.
const SAMPLE: usize = 200;

fn unreadable(path: &Path, error: &csv::Error) -> Error {
    Error::malformed(path, "", "a table", error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readers::testing::Folder;

    fn read(files: &[&str]) -> Result<Tables> {
        let folder = Folder::new();
        let names: Vec<String> = (0..files.len()).map(|at| format!("{at}.csv")).collect();
        names.iter().zip(files).for_each(|(name, text)| folder.write(name, text.as_bytes()));
        let paths: Vec<PathBuf> = names.iter().map(|name| folder.path(name)).collect();
        Tables::read(&paths, Reading::default())
    }

    #[test]
    fn the_delimiter_is_found() {
        for (text, expected) in [
            ("a,b\n1,2\n", b','),
            ("a;b\n1,5;2,5\n", b';'),
            ("a\tb, c\n1\t2\n", b'\t'),
            ("a|b|c\n1|2|3\n", b'|'),
            ("a\n1\n", b','),
            ("a;b\n\"x,y\";2\n", b';'),
            ("", b','),
        ] {
            assert_eq!(delimiter(text), expected, "{text}");
        }
    }

    #[test]
    fn tables_with_the_same_columns_are_one() {
        let tables = read(&["a,b\n 1 ,2\n\n", "b;a\r\n4;3\r\n;\r\n"]).unwrap();
        assert_eq!((tables.len(), tables.header.join(" ")), (2, "a b".to_owned()));
        assert_eq!(tables.column(0).collect::<Vec<_>>(), ["1", "3"]);
        assert_eq!(tables.raw(0, 0), " 1 ");
        assert!(!tables.may_have_decimal_commas());
        let reason = |second| read(&["a,b\n", second]).err().unwrap().to_string();
        assert!(reason("a,c\n").contains("1.csv, line 1: expected the columns of "));
        assert!(reason("a,c\n").ends_with("found no column `b`"));
        assert!(reason("a,b,c\n").ends_with("found a column `c` that it does not have"));
    }

    #[test]
    fn rows_of_another_length_are_problems() {
        let tables = read(&["a,b\n1,2\n3\n4,5,6\n"]).unwrap();
        let message = tables.problems().finish().unwrap_err().to_string();
        assert!(message.contains("line 3, column 2: expected 2 fields, as in the header, found 1"));
        assert!(message.contains("line 4, column 3: expected 2 fields"), "{message}");
        let reason = |text| read(&[text]).err().unwrap().to_string();
        assert!(reason("").contains("line 1: expected a header with names"));
        assert!(reason("a,,b\n").contains("column 2: expected a name for every column"));
        assert!(reason("a,b,a\n").contains("column 3: expected every column name once"));
    }

    #[test]
    fn a_repeated_row_names_the_file_it_was_first_in() {
        let tables = read(&["a,b\n1,2\n", "a,b\n1,2\n"]).unwrap();
        let mut problems = tables.problems();
        problems.add_again(1, 0, 0, || ("every id once".to_owned(), "`1`".to_owned()));
        let message = problems.finish().unwrap_err().to_string();
        assert!(message.contains("1.csv, line 2, column 1: expected every id once, found `1`"));
        assert!(message.contains("again, first in ") && message.ends_with("0.csv"), "{message}");
    }
}
