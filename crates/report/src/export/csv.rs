//! Comma-separated values with a header. Numbers have full precision; missing values are empty.

use super::Parts;
use super::records::Cells;
use crate::{AtomicFile, Error, Result};
use std::borrow::Cow;
use std::path::Path;

pub(super) fn write(path: &Path, parts: Parts<'_>) -> Result<()> {
    let mut file = csv::Writer::from_writer(AtomicFile::create(path)?);
    rows(&mut file, parts).map_err(|error| Error::io(path, error.into()))?;
    let file = file.into_inner().map_err(|error| Error::io(path, error.into_error()))?;
    Ok(file.finish()?)
}

/// Writes the header and the rows of all parts.
fn rows(file: &mut csv::Writer<AtomicFile>, parts: Parts<'_>) -> csv::Result<()> {
    for (at, part) in parts.enumerate() {
        if at == 0 {
            file.write_record(part.columns.iter().map(|column| &column.name))?;
        }
        for row in 0..part.rows() {
            for column in &part.columns {
                file.write_field(field(&column.cells, row).as_bytes())?;
            }
            // Ends the record.
            file.write_record(None::<&[u8]>)?;
        }
    }
    Ok(())
}

/// The text of a cell; empty if it has no value.
fn field<'a>(cells: &'a Cells<'_>, row: usize) -> Cow<'a, str> {
    match cells {
        Cells::Text(cells) => Cow::Borrowed(cells[row].as_deref().unwrap_or_default()),
        Cells::Seed(cells) | Cells::Count(cells) => printed(cells[row]),
        Cells::Number(cells) => printed(cells[row]),
        Cells::Flag(cells) => printed(cells[row]),
    }
}

/// A value as text.
fn printed<'a>(value: Option<impl ToString>) -> Cow<'a, str> {
    Cow::Owned(value.map(|value| value.to_string()).unwrap_or_default())
}
