//! Keys that had another name in earlier versions, which files and commands may still use.

use super::dotted::{get, insert, take};
use super::lookup::{ending_in, full_path};
use toml::{Table, Value};

/// A key and the name that replaced it.
struct Renamed {
    old: &'static str,
    new: &'static str,
    /// Converts a value of the old key to one of the new key.
    value: fn(Value) -> Value,
}

const RENAMED: [Renamed; 3] = [
    Renamed { old: "groups.minority_ratio", new: "groups.minority", value: |value| value },
    Renamed { old: "methods.fairfgl.judge", new: "methods.fairfgl.evaluate", value: |value| value },
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
    if get(table, new).is_some() {
        return Err(format!(
            "`{old}` is an earlier name of `{new}`: expected one of them, found both"
        ));
    }
    insert(table, new, (renamed.value)(value));
    Ok((*new).to_owned())
}

/// The key and value that are meant by `--set key=value`.
///
/// # Errors
/// If the last part of an old name is now that of another key.
pub(super) fn resolve(key: &str, value: Value) -> Result<(String, Value), String> {
    let end = format!(".{key}");
    let Some(renamed) =
        RENAMED.iter().find(|renamed| renamed.old == key || renamed.old.ends_with(&end))
    else {
        return Ok((key.to_owned(), value));
    };
    if renamed.old != key && full_path(key).is_some() {
        let all: Vec<&str> = std::iter::once(renamed.new).chain(ending_in(key)).collect();
        return Err(format!("`{key}` is ambiguous: expected one of {}", all.join(", ")));
    }
    Ok((renamed.new.to_owned(), (renamed.value)(value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys;

    #[test]
    fn earlier_names_lead_to_keys_that_exist() {
        for Renamed { old, new, .. } in &RENAMED {
            assert!(keys().iter().any(|key| key.path == *new), "{new}");
            assert!(keys().iter().all(|key| key.path != *old), "{old}");
            let value = Value::String("mixture".into());
            assert_eq!(resolve(old, value.clone()).unwrap(), ((*new).to_owned(), value));
        }
    }

    #[test]
    fn a_method_key_may_be_given_by_its_short_earlier_name() {
        let value = Value::String("mixture".into());
        let (key, _) = resolve("fairfgl.judge", value).unwrap();
        assert_eq!(key, "methods.fairfgl.evaluate");
    }
}
