//! `[partition]` of a configuration: the chosen partitioner, the number of clients, and the
//! settings of every partitioner.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

use boostfgl_graph::Graph;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeSeed, Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toml::Value;

use crate::registry::Configurable;
use crate::{Error, Partition, Partitioner, Registry, Result, SplitRule};

/// How the graph is divided among clients (`[partition]`).
///
/// In a file the keys of all partitioners stand next to each other, so that another partitioner can
/// be chosen without touching them:
///
/// ```
/// # use boostfgl_partition::{LabelSkew, PartitionConfig};
/// let text = r#"{"partitioner": "label-skew", "clients": 3, "alpha": 0.5, "delta": 7}"#;
/// let config: PartitionConfig = serde_json::from_str(text)?;
/// assert_eq!(config.partitioner()?.name(), "label-skew");
/// assert_eq!(config.settings(), Some(&LabelSkew { alpha: 0.5 }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionConfig {
    /// The name of the partitioner, as given.
    pub partitioner: String,
    /// Number of clients K; a file has its own.
    pub clients: usize,
    registry: Registry,
}

impl Default for PartitionConfig {
    fn default() -> Self {
        Self::new(Registry::builtin())
    }
}

impl PartitionConfig {
    /// The first partitioner of a registry, five clients, and the settings that the registry has.
    pub fn new(registry: Registry) -> Self {
        let first = registry.iter().next().map_or("", Partitioner::name);
        Self { partitioner: first.to_owned(), clients: 5, registry }
    }

    /// Chooses a partitioner with these settings, adding it to the registry if it is not there.
    #[must_use]
    pub fn with(self, partitioner: impl Configurable) -> Self {
        let name = partitioner.name().to_owned();
        Self { partitioner: name, registry: self.registry.with(partitioner), ..self }
    }

    /// The chosen partitioner.
    ///
    /// # Errors
    /// If there is none of that name; the message suggests the nearest.
    pub fn partitioner(&self) -> Result<&dyn Partitioner> {
        self.registry.find(&self.partitioner)
    }

    /// The same with the number of clients that `graph` decides, if the partitioner takes it from
    /// the data.
    ///
    /// # Errors
    /// As [`Partitioner::clients`].
    pub fn resolved(mut self, graph: &Graph) -> Result<Self> {
        self.clients = self.partitioner()?.clients(graph, self.clients)?;
        Ok(self)
    }

    /// Takes a name, or `NAME:VALUE` where the partitioner of that name has a key of the same name.
    fn choose(&mut self, text: String) -> Result<(), String> {
        let parts = text.split_once(':');
        self.partitioner = match parts.filter(|(name, _)| self.registry.has_key(name, name)) {
            Some((name, value)) => {
                self.registry.set(name, &Value::String(value.trim().to_owned()))?;
                name.to_owned()
            }
            None if parts.is_some() => {
                return Err(format!(
                    "expected the name of a partitioner or column:NAME, found `{text}`"
                ));
            }
            None => text,
        };
        Ok(())
    }

    /// The settings of one partitioner, chosen or not.
    pub fn settings<P: Partitioner + 'static>(&self) -> Option<&P> {
        self.registry.settings()
    }

    /// The settings of one partitioner, to be changed.
    pub fn settings_mut<P: Partitioner + 'static>(&mut self) -> Option<&mut P> {
        self.registry.settings_mut()
    }

    /// The partition file that clients come from, if the chosen partitioner reads one.
    pub fn file(&self) -> Option<&Path> {
        self.partitioner().ok()?.file()
    }

    /// Checks every range, also of partitioners that are not chosen: a value out of range is a
    /// mistake wherever it stands.
    ///
    /// # Errors
    /// Names the first key that is out of range.
    pub fn check(&self) -> Result<()> {
        let chosen = self.partitioner()?;
        chosen.check_chosen()?;
        let clients = self.clients.to_string();
        match self.clients {
            0 => return wrong("partition.clients", "at least 1", clients),
            1..=MOST_CLIENTS => {}
            _ => return wrong("partition.clients", "at most 4294967295", clients),
        }
        self.registry.iter().try_for_each(Partitioner::check)?;
        let mut others = self.registry.iter().filter(|other| other.name() != chosen.name());
        match others.find_map(Partitioner::file) {
            Some(file) => {
                let found =
                    format!("{} with partitioner = \"{}\"", file.display(), self.partitioner);
                wrong("partition.file", "a file only with partitioner = \"file\"", found)
            }
            None => Ok(()),
        }
    }

    /// Divides `graph` among clients for one seed; `rule` splits each client's nodes unless a
    /// partition file has a split.
    ///
    /// # Errors
    /// If the partitioner is unknown, and those of [`Partition::from_file`] or
    /// [`Partition::draw`].
    pub fn draw(&self, graph: &Graph, rule: &SplitRule, seed: u64) -> Result<Partition> {
        self.draw_watched(graph, rule, seed, &mut |_| {})
    }

    /// Like [`PartitionConfig::draw`]; `progress` is called with the share that is done.
    ///
    /// # Errors
    /// As [`PartitionConfig::draw`].
    pub fn draw_watched(
        &self,
        graph: &Graph,
        rule: &SplitRule,
        seed: u64,
        progress: &mut dyn FnMut(f64),
    ) -> Result<Partition> {
        let partitioner = self.partitioner()?;
        match partitioner.file() {
            Some(file) => Partition::from_file(file, graph, rule, seed),
            None => {
                let divided = (partitioner, self.clients);
                Partition::draw_watched(graph, divided, rule, seed, progress)
            }
        }
    }
}

/// Nodes are numbered in 32 bits.
const MOST_CLIENTS: usize = u32::MAX as usize;

fn wrong(key: &'static str, expected: &'static str, found: String) -> Result<()> {
    Err(Error::Setting { key, expected, found })
}

impl Serialize for PartitionConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let values = self.registry.values();
        let mut map = serializer.serialize_map(Some(2 + values.len()))?;
        map.serialize_entry("partitioner", &self.partitioner)?;
        map.serialize_entry("clients", &self.clients)?;
        values.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for PartitionConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Registry::builtin().deserialize(deserializer)
    }
}

/// Reads a [`PartitionConfig`] with the keys of these partitioners.
impl<'de> DeserializeSeed<'de> for Registry {
    type Value = PartitionConfig;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(SectionVisitor(PartitionConfig::new(self)))
    }
}

/// Fills in a section that has its defaults.
struct SectionVisitor(PartitionConfig);

impl<'de> Visitor<'de> for SectionVisitor {
    type Value = PartitionConfig;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let Self(mut section) = self;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "partitioner" => {
                    section.choose(map.next_value()?).map_err(A::Error::custom)?;
                }
                "clients" => section.clients = map.next_value()?,
                _ => map.next_value_seed(SettingSeed { key: &key, to: &mut section.registry })?,
            }
        }
        Ok(section)
    }
}

/// Reads the value of one key into the partitioners that have it. A wrong type is reported while
/// the value is read, so that the error carries the path of the key.
struct SettingSeed<'a> {
    key: &'a str,
    to: &'a mut Registry,
}

impl<'de> DeserializeSeed<'de> for SettingSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let value = Value::deserialize(deserializer)?;
        self.to.set(self.key, &value).map_err(D::Error::custom)
    }
}

/// The keys that do not depend on the partitioner, for their schema.
#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct CommonKeys {
    partitioner: String,
    /// Number of clients K, at least 1 and at most the number of nodes. A file brings its own.
    clients: usize,
}

impl Default for CommonKeys {
    fn default() -> Self {
        let PartitionConfig { partitioner, clients, .. } = PartitionConfig::default();
        Self { partitioner, clients }
    }
}

impl JsonSchema for PartitionConfig {
    fn schema_name() -> Cow<'static, str> {
        "PartitionConfig".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let registry = Registry::builtin();
        let mut schema = CommonKeys::json_schema(generator);
        let keys = registry.properties(generator);
        if let Some(properties) = schema.get_mut("properties").and_then(|all| all.as_object_mut()) {
            if let Some(partitioner) = properties.get_mut("partitioner") {
                partitioner["description"] = format!("{}.", registry.names()).into();
            }
            properties.extend(keys);
        }
        schema.insert(
            "description".to_owned(),
            "How the graph is divided among clients (`[partition]`).".into(),
        );
        schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FromFile, LabelSkew, Louvain};

    fn parse(json: &str) -> Result<PartitionConfig, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn every_partitioner_is_found_by_its_name_and_survives_a_file() {
        for known in Registry::builtin().iter() {
            let json = format!(r#"{{"partitioner": "{}", "clients": 2}}"#, known.name());
            let config = parse(&json).unwrap();
            assert_eq!(config.partitioner().unwrap().name(), known.name());
            assert!(!known.summary().is_empty());
            let written = serde_json::to_string(&config).unwrap();
            assert_eq!(parse(&written).unwrap(), config);
        }
        assert_eq!(parse("{}").unwrap(), PartitionConfig::default());
        let underscore = parse(r#"{"partitioner": "label_skew"}"#).unwrap();
        assert_eq!(underscore.partitioner().unwrap().name(), "label-skew");
        let unknown = parse(r#"{"partitioner": "metis"}"#).unwrap();
        assert!(matches!(unknown.check(), Err(Error::Unknown { suggestion: None, .. })));
    }

    #[test]
    fn keys_of_partitioners_that_are_not_chosen_are_kept() {
        let config = parse(r#"{"partitioner": "random", "alpha": 0.25, "delta": 3}"#).unwrap();
        assert_eq!(config.settings::<LabelSkew>().unwrap().alpha, 0.25);
        assert_eq!(config.settings::<Louvain>().unwrap().delta, 3);
        assert_eq!(config.settings::<FromFile>().unwrap().file, None);
        let written = toml::Table::try_from(&config).unwrap();
        let keys: Vec<&str> = written.keys().map(String::as_str).collect();
        assert_eq!(keys, ["alpha", "clients", "delta", "partitioner", "resolution"]);
    }

    #[test]
    fn unknown_keys_and_wrong_types_are_refused() {
        assert!(parse(r#"{"resolutoin": 1}"#).unwrap_err().contains("unknown field `resolutoin`"));
        let wrong = parse(r#"{"resolution": "fine"}"#).unwrap_err();
        assert!(wrong.contains("invalid type: string \"fine\", expected f64"), "{wrong}");
        assert!(parse(r#"{"clients": -1}"#).is_err());
    }

    #[test]
    fn a_file_and_the_partitioner_that_reads_it_go_together() {
        let message = |config: PartitionConfig| config.check().unwrap_err().to_string();
        assert_eq!(
            message(parse(r#"{"partitioner": "file"}"#).unwrap()),
            "partition.file: expected the path of a partition.csv, found none"
        );
        assert_eq!(
            message(parse(r#"{"file": "p.csv"}"#).unwrap()),
            "partition.file: expected a file only with partitioner = \"file\", found p.csv with \
             partitioner = \"louvain\""
        );
        let file = PartitionConfig::default().with(FromFile { file: Some("p.csv".into()) });
        file.check().unwrap();
        assert_eq!(file.file(), Some(Path::new("p.csv")));
    }
}
