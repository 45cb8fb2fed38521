//! From the text of a `columns.toml` to [`Columns`], with every defect in one message.

use std::collections::BTreeMap;
use std::path::Path;

use boostfgl_graph::{Error, Missing, Result, nearest};
use toml::{Table, Value};

use super::terms::one_of;
use super::{Column, Columns, DateFormat, Kind, Rest, Role};

/// The defects found so far: place, expected, found.
#[derive(Default)]
struct Defects(Vec<(String, String, String)>);

impl Columns {
    /// Reads the text of a file; `path` is for messages.
    ///
    /// # Errors
    /// If it is no TOML, a key or name is unknown, or a value is of another type; all defects are
    /// named.
    pub fn parse(text: &str, path: &Path) -> Result<Self> {
        let table: Table = toml::from_str(text)
            .map_err(|error| Error::malformed(path, "", "TOML", error.message().to_owned()))?;
        let mut defects = Defects::default();
        let mut columns = Self::default();
        for (key, value) in &table {
            match key.as_str() {
                "version" => defects.version(value),
                "nodes" => columns.nodes = defects.columns("nodes", value, Role::OF_NODES),
                "edges" => columns.edges = defects.columns("edges", value, Role::OF_EDGES),
                _ => defects.unknown_key("", key, &["version", "nodes", "edges"]),
            }
        }
        defects.finish(path)?;
        Ok(columns)
    }
}

impl Defects {
    fn add(&mut self, place: impl Into<String>, expected: &str, found: impl Into<String>) {
        self.0.push((place.into(), expected.to_owned(), found.into()));
    }

    fn unknown_key(&mut self, place: &str, key: &str, known: &[&str]) {
        self.add(place, "a known key", suggested(key, known));
    }

    fn version(&mut self, value: &Value) {
        if value.as_integer().is_none_or(|version| version > Columns::VERSION) {
            self.add("version", &format!("at most {}", Columns::VERSION), value.to_string());
        }
    }

    fn columns(&mut self, table: &str, value: &Value, roles: &[Role]) -> BTreeMap<String, Column> {
        let Some(entries) = value.as_table() else {
            self.add(table, "a table of columns", value.to_string());
            return BTreeMap::new();
        };
        let columns: BTreeMap<String, Column> = entries
            .iter()
            .map(|(name, value)| {
                (name.clone(), self.column(&format!("{table}.{name}"), value, roles))
            })
            .collect();
        for &role in roles.iter().filter(|role| role.is_single()) {
            let mut with = columns.iter().filter(|(_, column)| column.role == Some(role));
            if let (Some((first, _)), Some((second, _))) = (with.next(), with.next()) {
                let expected = format!("one column of role `{}`", role.name());
                self.add(table, &expected, format!("`{first}` and `{second}`"));
            }
        }
        columns
    }

    fn column(&mut self, place: &str, value: &Value, roles: &[Role]) -> Column {
        let mut column = Column::default();
        let Some(entries) = value.as_table() else {
            self.add(place, "a table of keys", value.to_string());
            return column;
        };
        for (key, value) in entries {
            let at = format!("{place}.{key}");
            match key.as_str() {
                "role" => column.role = self.role(&at, value, roles),
                "kind" => column.kind = self.named(&at, "a kind of column", value, Kind::named),
                "levels" => column.levels = self.levels(&at, value),
                "rest" => column.rest = self.named(&at, REST, value, Rest::named),
                "buckets" => column.buckets = self.buckets(&at, value),
                "format" => {
                    column.format = self.named(&at, "a format of dates", value, DateFormat::named);
                }
                "missing" => column.missing = self.named(&at, MISSING, value, Missing::from_name),
                "standardise" => column.standardise = self.flag(&at, value),
                _ => self.unknown_key(place, key, &KEYS),
            }
        }
        column
    }

    /// A value that is one of some names.
    fn named<T>(
        &mut self,
        place: &str,
        expected: &str,
        value: &Value,
        of_name: fn(&str) -> Result<T>,
    ) -> Option<T> {
        let Some(name) = value.as_str() else {
            self.add(place, expected, value.to_string());
            return None;
        };
        match of_name(name) {
            Ok(value) => Some(value),
            Err(Error::Unknown { name, suggestion, .. }) => {
                let near = suggestion.map(|near| format!(" (did you mean `{near}`?)"));
                self.add(place, expected, format!("`{name}`{}", near.unwrap_or_default()));
                None
            }
            Err(error) => {
                self.add(place, expected, error.to_string());
                None
            }
        }
    }

    fn role(&mut self, place: &str, value: &Value, roles: &[Role]) -> Option<Role> {
        let names: Vec<&str> = roles.iter().map(|role| role.name()).collect();
        let name = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let role = roles.iter().copied().find(|role| role.name() == name);
        if role.is_none() {
            self.add(place, &one_of(&names), suggested(&name, &names));
        }
        role
    }

    fn levels(&mut self, place: &str, value: &Value) -> Option<Vec<String>> {
        let texts: Option<Vec<String>> = value
            .as_array()
            .and_then(|list| list.iter().map(|text| text.as_str().map(str::to_owned)).collect());
        let Some(levels) = texts else {
            self.add(place, "a list of texts", value.to_string());
            return None;
        };
        let mut sorted = levels.clone();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            self.add(place, "every level once", format!("`{}` twice", pair[0]));
        }
        Some(levels)
    }

    fn buckets(&mut self, place: &str, value: &Value) -> Option<u32> {
        let count = value.as_integer().and_then(|count| u32::try_from(count).ok());
        let count = count.filter(|count| (1..=MAX_BUCKETS).contains(count));
        if count.is_none() {
            self.add(place, &format!("a number from 1 to {MAX_BUCKETS}"), value.to_string());
        }
        count
    }

    fn flag(&mut self, place: &str, value: &Value) -> Option<bool> {
        if value.as_bool().is_none() {
            self.add(place, "true or false", value.to_string());
        }
        value.as_bool()
    }

    fn finish(self, path: &Path) -> Result<()> {
        let mut all = self.0;
        match (all.pop(), all.is_empty()) {
            (None, _) => Ok(()),
            (Some((place, expected, found)), true) => {
                let place = if place.is_empty() { place } else { format!(", {place}") };
                Err(Error::malformed(path, place, expected, found))
            }
            (Some(last), false) => {
                all.push(last);
                let lines = all.into_iter().map(|(place, expected, found)| {
                    let place = if place.is_empty() { place } else { format!("{place}: ") };
                    format!("{place}expected {expected}, found {found}").replace('\n', " ")
                });
                Err(Error::Several { path: path.into(), problems: lines.collect(), more: 0 })
            }
        }
    }
}

/// A name in quotes, with the nearest one that is known.
fn suggested(name: &str, known: &[&str]) -> String {
    let near = nearest(name, known.iter().copied());
    let near = near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
    format!("`{name}`{near}")
}

/// The keys of a column.
const KEYS: [&str; 8] =
    ["role", "kind", "levels", "rest", "buckets", "format", "missing", "standardise"];
const REST: &str = "a treatment of other values";
const MISSING: &str = "a policy for missing values";
/// More would be more columns than categories need, and all of them are trained.
const MAX_BUCKETS: u32 = 1 << 12;
