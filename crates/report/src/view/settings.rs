//! A run's `config.toml`, key by key.

use crate::{Error, Result};
use std::collections::BTreeMap;
use std::path::Path;

/// The configuration of a run as text and as `section.key` → value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// The text of the file.
    pub text: String,
    /// Every key with its value in TOML.
    pub keys: BTreeMap<String, String>,
}

impl Settings {
    /// Reads a file. Keys are not checked: a newer version may have others.
    ///
    /// # Errors
    /// If it cannot be read or is not TOML.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|source| Error::io(path, source))?;
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            Error::malformed(path, format!("expected TOML, found {}", error.message()))
        })?;
        let mut keys = BTreeMap::new();
        flatten("", &table, &mut keys);
        Ok(Self { text, keys })
    }

    /// A value without the quotes of a string.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.keys.get(key).map(|value| value.trim_matches('"'))
    }

    /// A value as a number.
    pub fn number(&self, key: &str) -> Option<f64> {
        self.get(key)?.parse().ok()
    }

    /// The keys in which two configurations differ, with both values; a missing one is empty.
    pub fn differences<'a>(&'a self, other: &'a Self) -> Vec<(&'a str, &'a str, &'a str)> {
        let all: std::collections::BTreeSet<&String> =
            self.keys.keys().chain(other.keys.keys()).collect();
        all.into_iter()
            .map(|key| (&key[..], self.value(key), other.value(key)))
            .filter(|(_, ours, theirs)| ours != theirs)
            .collect()
    }

    /// The value of a key in TOML; empty without one.
    fn value(&self, key: &str) -> &str {
        self.keys.get(key).map_or("", String::as_str)
    }
}

/// Adds the keys of a table and of its sections as `section.key`.
fn flatten(prefix: &str, table: &toml::Table, keys: &mut BTreeMap<String, String>) {
    for (key, value) in table {
        let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            toml::Value::Table(table) => flatten(&name, table, keys),
            value => {
                keys.insert(name, value.to_string());
            }
        }
    }
}
