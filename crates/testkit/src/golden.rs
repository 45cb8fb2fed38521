//! Reading the golden files in `tests/golden`.

use serde_json::Value;

/// How closely results have to match the golden files, which are exact to about 1e-15.
pub const TOLERANCE: f64 = 1e-10;

/// A golden file by its name without the ending.
///
/// # Panics
/// If there is no such file, or it is not JSON.
pub fn golden(name: &str) -> Value {
    let path = format!("{}/../../tests/golden/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// All numbers of a nested array, row by row; `true` counts as 1.
///
/// # Panics
/// If it contains something else.
pub fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        Value::Bool(flag) => vec![f64::from(u8::from(*flag))],
        other => vec![other.as_f64().unwrap_or_else(|| panic!("{other} is not a number"))],
    }
}

/// The same as node or class numbers.
pub fn indices(value: &Value) -> Vec<u32> {
    numbers(value).into_iter().map(|number| number as u32).collect()
}

/// Compares numbers with those of a golden file.
///
/// # Panics
/// If one differs by [`TOLERANCE`] or more.
pub fn assert_close(found: &[f64], expected: &Value, what: &str) {
    let expected = numbers(expected);
    assert_eq!(found.len(), expected.len(), "{what}");
    for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let difference = (found - expected).abs();
        assert!(difference < TOLERANCE, "{what}[{at}]: {found} is not {expected}");
    }
}
