//! Parquet, read with the reader of the crate that wrote them.

use super::*;
use ::parquet::file::reader::{FileReader as _, SerializedFileReader};
use ::parquet::record::Field;
use serde_json::json as value;

/// Every row of every group.
pub(super) fn rows(path: &Path) -> Vec<BTreeMap<String, Value>> {
    let file = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
    let rows = file.get_row_iter(None).unwrap().map(Result::unwrap);
    rows.map(|row| {
        row.get_column_iter().map(|(name, field)| (name.clone(), typed(field))).collect()
    })
    .collect()
}

fn typed(field: &Field) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Str(text) => value!(text),
        Field::ULong(number) => value!(number),
        Field::Long(number) => value!(number),
        Field::Double(number) => value!(number),
        Field::Bool(flag) => value!(flag),
        other => panic!("no column has the type of {other:?}"),
    }
}

/// The crate's own reader finds the values of JSON and CSV.
#[test]
fn values_types_and_gaps_are_kept() {
    let place = tempfile::tempdir().unwrap();
    let views = views(place.path());
    let written = exported(&views, "json,parquet,csv", place.path());
    assert!(written.contains(&"predictions.parquet".to_owned()), "{written:?}");
    for name in ["runs", "rounds", "clients"] {
        let rows = rows(&place.path().join(format!("{name}.parquet")));
        assert_eq!(rows, json(place.path().join(format!("{name}.json"))), "{name}");
    }
    let rows = rows(&place.path().join("predictions.parquet"));
    let text = csv(place.path().join("predictions.csv"));
    assert_eq!(rows.len(), text.len());
    for (row, text) in rows.iter().zip(&text) {
        let shown = |value: &Value| match value {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        assert!(row.iter().all(|(column, value)| shown(value) == text[column]), "{row:?} {text:?}");
    }
}

/// The same runs give the same bytes.
#[test]
fn files_are_reproducible() {
    let place = tempfile::tempdir().unwrap();
    let views = views(place.path());
    let (a, b) = (place.path().join("a"), place.path().join("b"));
    let written = exported(&views, "all", &a);
    assert_eq!(exported(&views, "all", &b), written);
    for name in written {
        assert_eq!(
            std::fs::read(a.join(&name)).unwrap(),
            std::fs::read(b.join(&name)).unwrap(),
            "{name}"
        );
    }
}
