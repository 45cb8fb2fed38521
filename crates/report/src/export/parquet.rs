//! Typed columns in Parquet, packed with Snappy; a row group per part.

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
    let refused = |error: ParquetError| Error::io(path, std::io::Error::other(error));
    let start = |file| -> Written<SerializedFileWriter<AtomicFile>> {
        SerializedFileWriter::new(file, Arc::new(schema(first)?), Arc::new(properties()))
    };
    let mut file = start(AtomicFile::create(path)?).map_err(refused)?;
    for part in parts.filter(|part| part.rows() > 0) {
        row_group(&mut file, &part).map_err(refused)?;
    }
    Ok(file.into_inner().map_err(refused)?.finish()?)
}

fn properties() -> WriterProperties {
    let program = format!("boostfgl {}", env!("CARGO_PKG_VERSION"));
    WriterProperties::builder().set_compression(Compression::SNAPPY).set_created_by(program).build()
}

fn schema(records: &Records<'_>) -> Written<Type> {
    let fields = records.columns.iter().map(|column| Ok(Arc::new(field(column)?)));
    Type::group_type_builder("schema").with_fields(fields.collect::<Written<_>>()?).build()
}

fn field(column: &Column<'_>) -> Written<Type> {
    let unsigned = LogicalType::integer(64, false);
    let (physical, logical) = match column.cells {
        Cells::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Cells::Seed(_) => (Physical::INT64, Some(unsigned)),
        // Signed, since differences of counts are taken.
        Cells::Count(_) => (Physical::INT64, None),
        Cells::Number(_) => (Physical::DOUBLE, None),
        Cells::Flag(_) => (Physical::BOOLEAN, None),
    };
    let repetition = if column.required { Repetition::REQUIRED } else { Repetition::OPTIONAL };
    let builder = Type::primitive_type_builder(&column.name, physical);
    builder.with_logical_type(logical).with_repetition(repetition).build()
}

fn row_group(file: &mut SerializedFileWriter<AtomicFile>, records: &Records<'_>) -> Written<()> {
    let mut group = file.next_row_group()?;
    for column in &records.columns {
        let missing = || ParquetError::General(format!("the file has no column `{}`", column.name));
        let mut writer = group.next_column()?.ok_or_else(missing)?;
        cells(&mut writer, column)?;
        writer.close()?;
    }
    group.close()?;
    Ok(())
}

fn cells(writer: &mut SerializedColumnWriter<'_>, column: &Column<'_>) -> Written<()> {
    match &column.cells {
        Cells::Text(cells) => {
            let bytes =
                |text: &std::borrow::Cow<'_, str>| Ok(ByteArray::from(text.as_bytes().to_vec()));
            values::<ByteArrayType, _>(writer, column, cells, bytes)
        }
        // The format keeps unsigned numbers in the bits of signed ones.
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

/// Values stand without gaps; a level of 1 or 0 per row says whether it has one.
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
