//! Finding a key by its path or the end of it, and the error messages for keys that do not exist.

use super::dotted::get;
use super::{Key, keys};
use boostfgl_graph::nearest;
use toml::{Table, Value};

/// Customary abbreviations of keys.
const ABBREVIATED: [(&str, &str); 1] = [("lr", "optimizer.learning_rate")];

/// Whether the configuration has a key of this path.
pub(super) fn is_known(path: &str) -> bool {
    paths().any(|known| known == path)
}

/// The one key that is meant by a path or the end of one. Keys of methods share names (`moon.mu`,
/// `fedprox.mu`), and those of attacks may be named like others (`attack.clients`): these are meant
/// only if no other key is, and only if one of them is.
pub(super) fn full_path(key: &str) -> Option<String> {
    if is_known(key) {
        return Some(key.to_owned());
    }
    if let Some((_, path)) = ABBREVIATED.iter().find(|(short, _)| *short == key) {
        return Some((*path).to_owned());
    }
    let (special, others): (Vec<&str>, Vec<&str>) = ending_in(key)
        .partition(|path| path.starts_with("methods.") || path.starts_with("attack."));
    match (others.as_slice(), special.as_slice()) {
        ([path], _) | ([], [path]) => Some((*path).to_owned()),
        _ => None,
    }
}

/// Checks that the configuration has a value, or a table, where a leaf or an empty table of `table`
/// stands.
///
/// # Errors
/// The error message.
pub(super) fn check_key(table: &Table, path: &str) -> Result<(), String> {
    let is_table = get(table, path).is_some_and(Value::is_table);
    // A table in the place of a value: at this path, or above it.
    let is_value = |key: &&Key| match path.strip_prefix(&key.path) {
        Some("") => is_table,
        Some(rest) => rest.starts_with('.'),
        None => false,
    };
    if let Some(value) = keys().iter().find(is_value) {
        return Err(format!("expected a value for `{}`, found a table", value.path));
    }
    match is_table {
        true if inside(path).next().is_some() => Ok(()),
        true => Err(unknown_table(path)),
        false if is_known(path) => Ok(()),
        false => Err(unknown_key(path)),
    }
}

/// The error message for a table that does not exist.
fn unknown_table(path: &str) -> String {
    let parents = paths().flat_map(|path| path.match_indices('.').map(|(at, _)| &path[..at]));
    let names: Vec<&str> = parents.chain(paths()).collect();
    // The whole path may be near, or its last part may be right and stand elsewhere.
    let near = nearest(path, names.iter().copied()).or_else(|| {
        let near = nearest(last(path), names.iter().copied().map(last))?;
        names.iter().copied().find(|name| last(name) == near)
    });
    format!("unknown table `{path}`{}", suggestion(near))
}

/// The error message for a key that does not exist.
pub(super) fn unknown_key(key: &str) -> String {
    if let Some(inner) = inside(key).next() {
        let near = nearest(key, paths());
        let near = near.map(|near| format!(" (or did you mean `{near}`?)")).unwrap_or_default();
        return format!(
            "expected a table, found a value: set one of its keys, such as `{inner}`{near}"
        );
    }
    let several: Vec<&str> = ending_in(key).collect();
    if let [_, _, ..] = several.as_slice() {
        let several = several.join(", ");
        return format!("`{key}` is a key of several methods: expected one of {several}");
    }
    // The whole path may be near, or its last part may be right and stand in another table.
    let near = nearest(key, paths())
        .map(str::to_owned)
        .or_else(|| full_path(nearest(last(key), paths().map(last))?));
    format!("unknown key `{key}`{}", suggestion(near.as_deref()))
}

/// The message of serde about a wrong type or name, without the names of Rust's types.
pub(super) fn in_plain_words(message: &str) -> String {
    let message = message.trim();
    if let Some((found, known)) =
        message.strip_prefix("unknown variant `").and_then(|rest| rest.split_once('`'))
    {
        // Names stand between backquotes: every second piece.
        let names: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
        let near = suggestion(nearest(found, names.iter().copied()));
        return format!("expected one of {}, found `{found}`{near}", names.join(", "));
    }
    let parts = message.split_once(": ").and_then(|(_, rest)| rest.rsplit_once(", expected "));
    let Some((found, expected)) = parts.filter(|_| message.starts_with("invalid ")) else {
        return message.to_owned();
    };
    let expected = match expected {
        "usize" | "u64" | "u32" => "a whole number of at least 0",
        "f64" | "f32" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list, such as [0, 1]",
        other => other,
    };
    format!("expected {expected}, found {found}")
}

/// The paths of all keys.
fn paths() -> impl Iterator<Item = &'static str> + Clone {
    keys().iter().map(|key| key.path.as_str())
}

/// The keys of a table.
fn inside(table: &str) -> impl Iterator<Item = &'static str> {
    let start = format!("{table}.");
    paths().filter(move |path| path.starts_with(&start))
}

/// The keys whose path ends in this one.
pub(super) fn ending_in(key: &str) -> impl Iterator<Item = &'static str> {
    let end = format!(".{key}");
    paths().filter(move |path| path.ends_with(&end))
}

/// The part of a path after its last dot.
pub(super) fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

fn suggestion(near: Option<&str>) -> String {
    near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default()
}
