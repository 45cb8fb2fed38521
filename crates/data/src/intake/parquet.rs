//! Parquet tables, row by row, as the text of a comma-separated table.
//!
//! So that everything after it is the same for both: row k of the file is line k + 1.

use std::cell::Cell;
use std::fs::File;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Once;

use boostfgl_graph::{Error, Result};
use parquet::basic::{LogicalType, TimeUnit};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::{Field, Row};

use super::values;

/// The text of the table.
///
/// # Errors
/// If the file is broken or compressed in a way that is not understood, or a column holds lists or
/// bytes.
pub(super) fn text(path: &Path) -> Result<String> {
    quietly(|| read(path)).unwrap_or_else(|| {
        let expected = "a readable Parquet file";
        Err(Error::malformed(path, "", expected, "lengths that do not fit together"))
    })
}

/// What a function returns; `None` if it panics, which is not printed. The `parquet` crate panics
/// on some damaged files.
fn quietly<T>(read: impl FnOnce() -> T) -> Option<T> {
    thread_local! {
        static QUIET: Cell<bool> = const { Cell::new(false) };
    }
    static INSTALLED: Once = Once::new();
    // The hook is one of the whole process, so it looks whether this thread is the one that reads.
    INSTALLED.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                usual(info);
            }
        }));
    });
    QUIET.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(read));
    QUIET.set(false);
    result.ok()
}

fn read(path: &Path) -> Result<String> {
    let file = File::open(path).map_err(|error| Error::io(path, error))?;
    let reader = SerializedFileReader::new(file).map_err(|error| unreadable(path, &error))?;
    let schema = reader.metadata().file_metadata().schema_descr();
    // Row by row only columns of plain values can be read, so there is a column for each field.
    let nanoseconds: Vec<bool> = (0..schema.num_columns())
        .map(|at| match schema.column(at).logical_type_ref() {
            Some(LogicalType::Timestamp(time)) => time.unit == TimeUnit::NANOS,
            _ => false,
        })
        .collect();
    let mut table = csv::Writer::from_writer(Vec::new());
    let names = schema.root_schema().get_fields().iter().map(|field| field.name());
    table.write_record(names).map_err(|error| written(path, &error))?;
    let rows = reader.get_row_iter(None).map_err(|error| unreadable(path, &error))?;
    for (at, row) in rows.enumerate() {
        let row = row.map_err(|error| unreadable(path, &error))?;
        let fields = fields(&row, &nanoseconds).map_err(|(name, found)| {
            let place = format!(", row {}, column `{name}`", at + 1);
            Error::malformed(path, place, "a number, text, date or truth value", found)
        })?;
        table.write_record(&fields).map_err(|error| written(path, &error))?;
    }
    let bytes = table.into_inner().map_err(|error| Error::io(path, error.into_error()))?;
    // Texts of Parquet are UTF-8, and so is all that is made of numbers.
    String::from_utf8(bytes)
        .map_err(|_| Error::malformed(path, "", "texts in UTF-8", "other bytes"))
}

/// The fields of a row as texts; the error is the name of a column and what it holds.
fn fields(row: &Row, nanoseconds: &[bool]) -> std::result::Result<Vec<String>, (String, String)> {
    let columns = row.get_column_iter().enumerate();
    columns
        .map(|(at, (name, field))| {
            let is_nanoseconds = nanoseconds.get(at).copied().unwrap_or(false);
            field_text(field, is_nanoseconds).map_err(|found| (name.clone(), found.to_owned()))
        })
        .collect()
}

/// One field as text, dates as ISO 8601 writes them.
fn field_text(field: &Field, nanoseconds: bool) -> std::result::Result<String, &'static str> {
    Ok(match field {
        Field::Null => String::new(),
        Field::Str(text) => text.clone(),
        Field::Float(number) if !number.is_finite() => String::new(),
        Field::Double(number) if !number.is_finite() => String::new(),
        Field::Float(number) => number.to_string(),
        Field::Double(number) => number.to_string(),
        Field::Date(days) => values::iso_of_days(i64::from(*days)),
        Field::TimestampMillis(time) => date_time(*time, 1000),
        Field::TimestampMicros(time) => date_time(*time, 1_000_000),
        Field::Long(time) if nanoseconds => date_time(*time, 1_000_000_000),
        Field::Decimal(number) if number.scale() < 0 || number.precision() < number.scale() => {
            return Err("a decimal number of impossible scale");
        }
        Field::Bytes(bytes) => {
            bytes.as_utf8().map(str::to_owned).map_err(|_| "bytes that are no text")?
        }
        Field::Group(_) | Field::ListInternal(_) | Field::MapInternal(_) => {
            return Err("a list or a structure");
        }
        Field::TimeMillis(_) | Field::TimeMicros(_) => return Err("a time of day without a date"),
        plain => plain.to_string(),
    })
}

/// A moment, given in units of which so many are a second.
fn date_time(time: i64, per_second: i64) -> String {
    let seconds = time.div_euclid(per_second);
    let (day, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let date = values::iso_of_days(day);
    let fraction = time.rem_euclid(per_second);
    if second == 0 && fraction == 0 {
        return date;
    }
    let clock = format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
    let digits = per_second.ilog10() as usize;
    if fraction == 0 {
        format!("{date}T{clock}")
    } else {
        format!("{date}T{clock}.{fraction:0digits$}")
    }
}

fn unreadable(path: &Path, error: &parquet::errors::ParquetError) -> Error {
    Error::malformed(path, "", "a readable Parquet file", error.to_string())
}

fn written(path: &Path, error: &csv::Error) -> Error {
    Error::malformed(path, "", "rows of one length", error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readers::testing::Folder;
    use serde_json::Value;

    fn fixture() -> Value {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/parquet_tables.json");
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    fn written(name: &str) -> (Folder, std::path::PathBuf) {
        let fixture = fixture();
        let hex = fixture["files"][name].as_str().unwrap().as_bytes();
        let digit = |byte: u8| (byte as char).to_digit(16).unwrap() as u8;
        let bytes: Vec<u8> =
            hex.chunks_exact(2).map(|pair| 16 * digit(pair[0]) + digit(pair[1])).collect();
        let folder = Folder::new();
        folder.write("t.parquet", &bytes);
        let path = folder.path("t.parquet");
        (folder, path)
    }

    #[test]
    fn tables_of_other_programs_are_read() {
        let fixture = fixture();
        for name in ["snappy", "plain"] {
            let (_keep, path) = written(name);
            assert_eq!(Value::from(text(&path).unwrap()), fixture["text"], "{name}");
        }
    }

    #[test]
    fn lists_and_unknown_compression_are_refused() {
        let message = text(&written("lists").1).unwrap_err().to_string();
        assert!(message.contains("row 1, column `many`: expected a number, text"), "{message}");
        let message = text(&written("zstd").1).unwrap_err().to_string();
        assert!(message.contains("t.parquet: expected a readable Parquet file"), "{message}");
    }

    #[test]
    fn damage_never_panics() {
        let (_keep, path) = written("snappy");
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << (at % 8);
            std::fs::write(&path, &damaged).unwrap();
            // Values may change without a trace: such a file has no checksum.
            let _ = text(&path);
            std::fs::write(&path, &whole[..at]).unwrap();
            assert!(text(&path).is_err(), "cut to {at} bytes");
        }
    }
}
