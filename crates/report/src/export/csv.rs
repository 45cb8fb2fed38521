//! Comma-separated values: a header, then every digit; what is missing is an empty field.

use super::Parts;
use super::records::Cells;
use crate::{AtomicFile, Error, Result};
use std::borrow::Cow;
use std::path::Path;

pub(super) fn write(path: &Path, parts: Parts<'_>) -> Result<()> {
    let refused = |error: csv::Error| Error::io(path, error.into());
    let mut file = csv::Writer::from_writer(AtomicFile::create(path)?);
    for (at, part) in parts.enumerate() {
        if at == 0 {
            file.write_record(part.columns.iter().map(|column| &column.name)).map_err(refused)?;
        }
        for row in 0..part.rows() {
            for column in &part.columns {
                file.write_field(field(&column.cells, row).as_bytes()).map_err(refused)?;
            }
            file.write_record(None::<&[u8]>).map_err(refused)?;
        }
    }
    let file = file.into_inner().map_err(|error| Error::io(path, error.into_error()))?;
    Ok(file.finish()?)
}

fn field<'a>(cells: &'a Cells<'_>, row: usize) -> Cow<'a, str> {
    fn printed<'a>(value: Option<impl ToString>) -> Cow<'a, str> {
        Cow::Owned(value.map(|value| value.to_string()).unwrap_or_default())
    }
    match cells {
        Cells::Text(cells) => Cow::Borrowed(cells[row].as_deref().unwrap_or_default()),
        Cells::Seed(cells) | Cells::Count(cells) => printed(cells[row]),
        Cells::Number(cells) => printed(cells[row]),
        Cells::Flag(cells) => printed(cells[row]),
    }
}
