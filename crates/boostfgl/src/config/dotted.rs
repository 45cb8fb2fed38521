//! Dotted paths such as `fed.rounds` in tables of TOML.

use toml::{Table, Value};

/// Puts the values of one table over those of another.
pub(super) fn merge(into: &mut Table, from: &Table) {
    for (key, value) in from {
        match (into.get_mut(key), value) {
            (Some(Value::Table(into)), Value::Table(from)) => merge(into, from),
            // A whole number where a fraction is meant: 1 is 1.0.
            (Some(old @ Value::Float(_)), Value::Integer(i)) => *old = Value::Float(*i as f64),
            (_, value) => {
                into.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Sets the value under a path, making the tables on the way.
pub(super) fn insert(table: &mut Table, path: &str, value: Value) {
    match path.split_once('.') {
        None => {
            table.insert(path.to_owned(), value);
        }
        Some((head, rest)) => {
            let inner = table.entry(head.to_owned()).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(inner) = inner {
                insert(inner, rest, value);
            }
        }
    }
}

/// The dotted paths of all values that are not tables.
pub(super) fn leaves(table: &Table) -> Vec<String> {
    table
        .iter()
        .flat_map(|(key, value)| match value {
            Value::Table(inner) => {
                leaves(inner).into_iter().map(|rest| format!("{key}.{rest}")).collect()
            }
            _ => vec![key.clone()],
        })
        .collect()
}

/// The dotted paths of all tables with nothing in them.
pub(super) fn empty_tables(table: &Table) -> Vec<String> {
    table
        .iter()
        .flat_map(|(key, value)| match value {
            Value::Table(inner) if inner.is_empty() => vec![key.clone()],
            Value::Table(inner) => {
                empty_tables(inner).into_iter().map(|rest| format!("{key}.{rest}")).collect()
            }
            _ => Vec::new(),
        })
        .collect()
}

/// The value under a path.
pub(super) fn get<'a>(table: &'a Table, path: &str) -> Option<&'a Value> {
    match path.split_once('.') {
        None => table.get(path),
        Some((head, rest)) => get(table.get(head)?.as_table()?, rest),
    }
}

/// Removes the value under a path and returns it.
pub(super) fn take(table: &mut Table, path: &str) -> Option<Value> {
    match path.split_once('.') {
        None => table.remove(path),
        Some((head, rest)) => match table.get_mut(head)? {
            Value::Table(inner) => take(inner, rest),
            _ => None,
        },
    }
}
