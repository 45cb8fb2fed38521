//! Every key with its meaning, taken from the doc comments of the structs.

use super::Config;
use serde_json::Value;
use std::sync::OnceLock;

/// One key of the configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// The dotted path, such as `fed.rounds`.
    pub path: String,
    /// What it means.
    pub meaning: String,
    /// Its default, as TOML; empty if it has none.
    pub default: String,
}

/// All keys, in the order of the file.
pub fn keys() -> &'static [Key] {
    static KEYS: OnceLock<Vec<Key>> = OnceLock::new();
    KEYS.get_or_init(|| {
        let schema = schemars::schema_for!(Config);
        let defaults = whole(&Config::default());
        let mut keys = Vec::new();
        collect(schema.as_value(), schema.as_value(), &defaults, "", &mut keys);
        keys
    })
}

/// Every key with its value, in the order of the file; `None` where neither a value nor a default
/// exists.
pub fn values(config: &Config) -> Vec<(&'static Key, Option<toml::Value>)> {
    let whole = whole(config);
    let value = |path: &str| {
        let mut parts = path.split('.');
        let first = whole.get(parts.next()?)?;
        parts.try_fold(first, |value, part| value.get(part)).cloned()
    };
    keys().iter().map(|key| (key, value(&key.path))).collect()
}

/// A configuration as a table, including the keys that files leave out at their default. A test
/// checks that none is missing here.
fn whole(config: &Config) -> toml::Table {
    let Config { screen, aggregation, attack, portable, transport, model, .. } = config.clone();
    let Config { client_data, evaluation, loss, .. } = config.clone();
    let mut whole = toml::Table::try_from(config).unwrap_or_default();
    let sections = [
        ("screen", toml::Value::try_from(screen)),
        ("aggregation", toml::Value::try_from(aggregation)),
        ("attack", toml::Value::try_from(attack)),
        ("evaluation", toml::Value::try_from(evaluation)),
        ("loss", toml::Value::try_from(loss)),
        ("client_data", toml::Value::try_from(client_data)),
        ("portable", Ok(toml::Value::Boolean(portable))),
        ("transport", toml::Value::try_from(transport)),
    ];
    whole.extend(
        sections.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.ok()?))),
    );
    if let Some(toml::Value::Table(network)) = whole.get_mut("model") {
        network.insert("message_noise".into(), toml::Value::Float(model.message_noise));
    }
    whole
}

fn collect(
    root: &Value,
    schema: &Value,
    defaults: &toml::Table,
    prefix: &str,
    keys: &mut Vec<Key>,
) {
    let Some(properties) = schema["properties"].as_object() else { return };
    let (tables, plain): (Vec<_>, Vec<_>) = properties
        .iter()
        .partition(|(_, property)| resolve(root, property)["properties"].is_object());
    for (name, property) in plain {
        let meaning = property["description"]
            .as_str()
            .unwrap_or_default()
            .split_whitespace()
            .collect::<Vec<_>>();
        let default = defaults.get(name).map(toml::Value::to_string).unwrap_or_default();
        keys.push(Key { path: format!("{prefix}{name}"), meaning: meaning.join(" "), default });
    }
    let none = toml::Table::new();
    for (name, property) in tables {
        let defaults = defaults.get(name).and_then(toml::Value::as_table).unwrap_or(&none);
        collect(root, resolve(root, property), defaults, &format!("{prefix}{name}."), keys);
    }
}

/// Follows a reference into the schema's definitions.
fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let pointer = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    pointer.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_documented_and_reachable_by_its_last_name() {
        let keys = keys();
        assert!(keys.len() > 35, "{} keys", keys.len());
        for key in keys {
            assert!(!key.meaning.is_empty(), "{} has no meaning", key.path);
        }
        let rounds = keys.iter().find(|k| k.path == "fed.rounds").unwrap();
        assert_eq!(rounds.default, "50");
        assert!(keys.iter().any(|k| k.path == "boost.topology.lambda_e"));
        let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
        // Methods may use the same letter, attacks the same word; all other keys may not.
        let shared = keys
            .iter()
            .filter(|k| !k.path.starts_with("methods.") && !k.path.starts_with("attack."));
        let mut names: Vec<String> = shared.map(|k| last(&k.path)).collect();
        names.sort();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count, "two keys share their last name");
    }

    /// Guards the list in [`whole`]: a key that files leave out at its default has to be in it, or
    /// `config show` would call it unset.
    #[test]
    fn a_key_without_a_default_is_optional_in_the_schema() {
        let schema = schemars::schema_for!(Config);
        for key in keys().iter().filter(|key| key.default.is_empty()) {
            let property = property(schema.as_value(), &key.path);
            let types = property["type"].as_array();
            let optional = types.is_some_and(|types| types.contains(&"null".into()))
                || property["anyOf"]
                    .as_array()
                    .is_some_and(|any| any.iter().any(|variant| variant["type"] == "null"));
            assert!(optional, "{} has no default: add it to `whole`", key.path);
        }
    }

    /// The schema of a key.
    fn property<'a>(root: &'a Value, path: &str) -> &'a Value {
        let mut schema = root;
        for part in path.split('.') {
            schema = &resolve(root, schema)["properties"][part];
        }
        schema
    }
}
