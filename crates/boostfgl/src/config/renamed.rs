//! Keys that had another name in earlier versions: files and commands that use it keep working.

use super::keys;
use super::layers::insert;
use toml::{Table, Value};

/// A key and the name that replaced it.
struct Renamed {
    old: &'static str,
    new: &'static str,
    /// What a value under the old name is under the new one.
    value: fn(Value) -> Value,
}

const RENAMED: [Renamed; 2] = [
    Renamed { old: "groups.minority_ratio", new: "groups.minority", value: |value| value },
    Renamed { old: "split.published", new: "split.source", value: split_source },
];

/// `split.published = true` asked for the split of the data, `false` for shares.
fn split_source(published: Value) -> Value {
    match published {
        Value::Boolean(true) => Value::String("file".into()),
        Value::Boolean(false) => Value::String("shares".into()),
        other => other,
    }
}

/// Moves the value under an old name to the new one, and returns the key that it now has.
///
/// # Errors
/// If the table has a value under both names.
pub(super) fn update(table: &mut Table, key: String) -> Result<String, String> {
    let Some(renamed) = RENAMED.iter().find(|renamed| renamed.old == key) else { return Ok(key) };
    let Some(value) = take(table, renamed.old) else { return Ok(key) };
    let Renamed { old, new, .. } = renamed;
    if has(table, new) {
        return Err(format!(
            "`{old}` is an earlier name of `{new}`: expected one of them, found both"
        ));
    }
    insert(table, new, (renamed.value)(value));
    Ok((*new).to_owned())
}

/// The key and value that are meant by `--set key=value`, where `full_path` finds a key by its last
/// part.
///
/// # Errors
/// If the last part of an old name is now that of another key.
pub(super) fn resolve(
    key: &str,
    value: Value,
    full_path: impl Fn(&str) -> Option<String>,
) -> Result<(String, Value), String> {
    let ends = format!(".{key}");
    let Some(renamed) =
        RENAMED.iter().find(|renamed| renamed.old == key || renamed.old.ends_with(&ends))
    else {
        return Ok((key.to_owned(), value));
    };
    if renamed.old != key && full_path(key).is_some() {
        let others =
            keys().iter().map(|key| key.path.as_str()).filter(|path| path.ends_with(&ends));
        let all: Vec<&str> = std::iter::once(renamed.new).chain(others).collect();
        return Err(format!("`{key}` is ambiguous: expected one of {}", all.join(", ")));
    }
    Ok((renamed.new.to_owned(), (renamed.value)(value)))
}

fn take(table: &mut Table, path: &str) -> Option<Value> {
    match path.split_once('.') {
        None => table.remove(path),
        Some((head, rest)) => match table.get_mut(head)? {
            Value::Table(inner) => take(inner, rest),
            _ => None,
        },
    }
}

/// Whether the table has a value under a dotted path.
pub(super) fn has(table: &Table, path: &str) -> bool {
    match path.split_once('.') {
        None => table.contains_key(path),
        Some((head, rest)) => {
            table.get(head).and_then(Value::as_table).is_some_and(|inner| has(inner, rest))
        }
    }
}
