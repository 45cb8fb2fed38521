//! Typed columns in Parquet, compressed with Snappy, with a row group per part.

use super::Parts;
use super::records::{Cells, Column, Records};
use crate::{AtomicFile, Error, Result};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result as Written};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use std::path::Path;
use std::sync::Arc;

pub(super) fn write(path: &Path, parts: Parts<'_>) -> Result<()> {
    let mut parts = parts.peekable();
    let Some(first) = parts.peek() else { return Ok(()) };
    let schema = schema(first);
    let file = AtomicFile::create(path)?;
    let file = schema
        .and_then(|schema| row_groups(file, schema, parts))
        .map_err(|error| Error::io(path, std::io::Error::other(error)))?;
    Ok(file.finish()?)
}

/// Writes every part that has rows as a row group.
fn row_groups<'a>(
    file: AtomicFile,
    schema: Type,
    parts: impl Iterator<Item = Records<'a>>,
) -> Written<AtomicFile> {
    let mut file = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties()))?;
    for part in parts.filter(|part| part.rows() > 0) {
        row_group(&mut file, &part)?;
    }
    file.into_inner()
}

/// Compression, and the program as the creator of the file.
fn properties() -> WriterProperties {
    let program = format!("boostfgl {}", env!("CARGO_PKG_VERSION"));
    WriterProperties::builder().set_compression(Compression::SNAPPY).set_created_by(program).build()
}

/// One field per column.
fn schema(records: &Records<'_>) -> Written<Type> {
    let fields = records.columns.iter().map(|column| Ok(Arc::new(field(column)?)));
    Type::group_type_builder("schema").with_fields(fields.collect::<Written<_>>()?).build()
}

/// The name and type of a column.
fn field(column: &Column<'_>) -> Written<Type> {
    let unsigned = LogicalType::integer(64, false);
    let (physical, logical) = match column.cells {
        Cells::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Cells::Seed(_) => (Physical::INT64, Some(unsigned)),
        // Signed, so that readers can subtract counts.
        Cells::Count(_) => (Physical::INT64, None),
        Cells::Number(_) => (Physical::DOUBLE, None),
        Cells::Flag(_) => (Physical::BOOLEAN, None),
    };
    let repetition = if column.required { Repetition::REQUIRED } else { Repetition::OPTIONAL };
    let builder = Type::primitive_type_builder(&column.name, physical);
    builder.with_logical_type(logical).with_repetition(repetition).build()
}

/// Writes one part.
fn row_group(file: &mut SerializedFileWriter<AtomicFile>, records: &Records<'_>) -> Written<()> {
    let mut group = file.next_row_group()?;
    for column in &records.columns {
        let Some(mut writer) = group.next_column()? else {
            let message = format!("the file has no column `{}`", column.name);
            return Err(ParquetError::General(message));
        };
        cells(&mut writer, column)?;
        writer.close()?;
    }
    group.close()?;
    Ok(())
}

/// Writes the cells of one column.
fn cells(writer: &mut SerializedColumnWriter<'_>, column: &Column<'_>) -> Written<()> {
    match &column.cells {
        Cells::Text(cells) => values::<ByteArrayType, _>(writer, column, cells, |text| {
            Ok(ByteArray::from(text.as_bytes().to_vec()))
        }),
        // The format stores unsigned numbers in the bits of signed ones.
        Cells::Seed(cells) => {
            values::<Int64Type, _>(writer, column, cells, |seed| Ok(seed.cast_signed()))
        }
        Cells::Count(cells) => values::<Int64Type, _>(writer, column, cells, |&count| {
            i64::try_from(count).map_err(|_| {
                ParquetError::General(format!(
                    "expected `{}` below 2^63, found {count}",
                    column.name
                ))
            })
        }),
        Cells::Number(cells) => {
            values::<DoubleType, _>(writer, column, cells, |&number| Ok(number))
        }
        Cells::Flag(cells) => values::<BoolType, _>(writer, column, cells, |&flag| Ok(flag)),
    }
}

/// Writes the values that are present, and for an optional column a definition level per row: 1 if
/// it has a value, 0 if not.
fn values<T: DataType, V>(
    writer: &mut SerializedColumnWriter<'_>,
    column: &Column<'_>,
    cells: &[Option<V>],
    value: impl Fn(&V) -> Written<T::T>,
) -> Written<()> {
    let present: Vec<T::T> = cells.iter().flatten().map(value).collect::<Written<_>>()?;
    let levels: Option<Vec<i16>> =
        (!column.required).then(|| cells.iter().map(|cell| i16::from(cell.is_some())).collect());
    writer.typed::<T>().write_batch(&present, levels.as_deref(), None)?;
    Ok(())
}
