//! A list of objects, one per row and line.

use super::Parts;
use super::records::{Cells, Records};
use crate::{AtomicFile, Error, Result};
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use std::io::{self, Write as _};
use std::path::Path;

pub(super) fn write(path: &Path, parts: Parts<'_>) -> Result<()> {
    let mut file = AtomicFile::create(path)?;
    rows(&mut file, parts).map_err(|source| Error::io(path, source))?;
    Ok(file.finish()?)
}

/// Writes the rows of all parts as one list.
fn rows(file: &mut AtomicFile, parts: Parts<'_>) -> io::Result<()> {
    let mut separator = "[\n";
    for part in parts {
        for row in 0..part.rows() {
            file.write_all(separator.as_bytes())?;
            serde_json::to_writer(&mut *file, &Row { part: &part, row })?;
            separator = ",\n";
        }
    }
    // Without rows the opening bracket has not been written.
    file.write_all(if separator == "[\n" { b"[]\n" } else { b"\n]\n" })
}

/// One object, its keys in the order of the columns.
struct Row<'a> {
    part: &'a Records<'a>,
    row: usize,
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(Some(self.part.columns.len()))?;
        for column in &self.part.columns {
            match &column.cells {
                Cells::Text(cells) => object.serialize_entry(&column.name, &cells[self.row])?,
                Cells::Seed(cells) | Cells::Count(cells) => {
                    object.serialize_entry(&column.name, &cells[self.row])?;
                }
                // JSON cannot represent NaN and infinity; the serialiser writes null.
                Cells::Number(cells) => object.serialize_entry(&column.name, &cells[self.row])?,
                Cells::Flag(cells) => object.serialize_entry(&column.name, &cells[self.row])?,
            }
        }
        object.end()
    }
}
