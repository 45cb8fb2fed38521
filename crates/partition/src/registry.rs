//! The registry: every known partitioner, held by value with its settings.

use std::any::Any;

use boostfgl_graph::nearest;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use crate::{Column, Error, FromFile, LabelSkew, Louvain, Partitioner, Random, Result};

/// The known partitioners, in the order in which help lists them.
///
/// Each is held by value, so that the registry also stores the settings of all of them. The first
/// is the default.
///
/// ```
/// use boostfgl_partition::Registry;
///
/// let registry = Registry::builtin();
/// let names: Vec<&str> = registry.iter().map(|partitioner| partitioner.name()).collect();
/// assert_eq!(names, ["louvain", "label-skew", "random", "column", "file"]);
/// let error = registry.find("luvain").unwrap_err();
/// assert_eq!(error.to_string(), "unknown partitioner `luvain` (did you mean `louvain`?)");
/// ```
#[derive(Debug, Default)]
pub struct Registry {
    partitioners: Vec<Box<dyn Configurable>>,
}

impl Registry {
    /// The partitioners of this crate: the table to which a new one adds its line.
    pub fn builtin() -> Self {
        Self::default()
            .with(Louvain::default())
            .with(LabelSkew::default())
            .with(Random::default())
            .with(Column::default())
            .with(FromFile::default())
    }

    /// Adds a partitioner, with these values as its defaults. It replaces one of the same name.
    #[must_use]
    pub fn with(mut self, partitioner: impl Configurable) -> Self {
        match self.partitioners.iter_mut().find(|known| known.name() == partitioner.name()) {
            Some(known) => *known = Box::new(partitioner),
            None => self.partitioners.push(Box::new(partitioner)),
        }
        self
    }

    /// All partitioners, in order.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Partitioner> {
        self.partitioners.iter().map(|known| known.as_partitioner())
    }

    /// The partitioner of that name; `_` and `-` are the same.
    ///
    /// # Errors
    /// If there is none; the message suggests the nearest name.
    pub fn find(&self, name: &str) -> Result<&dyn Partitioner> {
        let wanted = name.replace('_', "-");
        self.iter().find(|known| known.name() == wanted).ok_or_else(|| Error::Unknown {
            name: name.to_owned(),
            suggestion: nearest(&wanted, self.iter().map(Partitioner::name)).map(str::to_owned),
        })
    }

    /// The settings of one partitioner, by its type.
    pub fn settings<P: Partitioner + 'static>(&self) -> Option<&P> {
        self.partitioners.iter().find_map(|known| known.as_any().downcast_ref())
    }

    /// The settings of one partitioner, to be changed.
    pub fn settings_mut<P: Partitioner + 'static>(&mut self) -> Option<&mut P> {
        self.partitioners.iter_mut().find_map(|known| known.as_any_mut().downcast_mut())
    }

    /// The names of all partitioners as a list in words: `a, b or c`.
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.iter().map(Partitioner::name).collect();
        match names.as_slice() {
            [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
            few => few.concat(),
        }
    }

    /// Whether the partitioner of that name has this key.
    pub(crate) fn has_key(&self, name: &str, key: &str) -> bool {
        let named = self.partitioners.iter().find(|known| known.name() == name);
        named.is_some_and(|known| known.keys().iter().any(|own| own == key))
    }

    /// Sets a key wherever a partitioner has it; several may share one.
    ///
    /// # Errors
    /// If no partitioner has the key, or the value has another type than the key.
    pub(crate) fn set(&mut self, key: &str, value: &Value) -> Result<(), String> {
        let mut known = false;
        for partitioner in &mut self.partitioners {
            if partitioner.keys().iter().any(|own| own == key) {
                partitioner.set(key, value.clone())?;
                known = true;
            }
        }
        if known { Ok(()) } else { Err(format!("unknown field `{key}`")) }
    }

    /// Every key that has a value, with it.
    pub(crate) fn values(&self) -> Table {
        self.partitioners.iter().flat_map(|known| known.values()).collect()
    }

    /// The schema of every key, by its name.
    pub(crate) fn properties(
        &self,
        generator: &mut SchemaGenerator,
    ) -> serde_json::Map<String, serde_json::Value> {
        self.partitioners.iter().flat_map(|known| properties(&known.schema(generator))).collect()
    }
}

impl Clone for Registry {
    fn clone(&self) -> Self {
        Self { partitioners: self.partitioners.iter().map(|known| known.boxed()).collect() }
    }
}

impl PartialEq for Registry {
    /// The same partitioners with the same settings.
    fn eq(&self, other: &Self) -> bool {
        self.iter().map(Partitioner::name).eq(other.iter().map(Partitioner::name))
            && self
                .partitioners
                .iter()
                .map(|known| known.values())
                .eq(other.partitioners.iter().map(|known| known.values()))
    }
}

/// A partitioner whose settings can be read and written by key. Every partitioner with the usual
/// derives (`Clone`, `Serialize`, `Deserialize`, `JsonSchema`) is one.
pub trait Configurable: Partitioner + Any {
    /// A copy.
    fn boxed(&self) -> Box<dyn Configurable>;
    /// The partitioner itself.
    fn as_partitioner(&self) -> &dyn Partitioner;
    /// For access by type.
    fn as_any(&self) -> &dyn Any;
    /// For access by type.
    fn as_any_mut(&mut self) -> &mut dyn Any;
    /// The schema of its settings.
    fn schema(&self, generator: &mut SchemaGenerator) -> Schema;
    /// The names of its keys.
    fn keys(&self) -> Vec<String>;
    /// Its keys that have a value.
    fn values(&self) -> Table;
    /// Sets one of its keys.
    ///
    /// # Errors
    /// If the value has another type than the key.
    fn set(&mut self, key: &str, value: Value) -> Result<(), String>;
}

impl<P> Configurable for P
where
    P: Partitioner + Clone + Serialize + DeserializeOwned + JsonSchema + 'static,
{
    fn boxed(&self) -> Box<dyn Configurable> {
        Box::new(self.clone())
    }

    fn as_partitioner(&self) -> &dyn Partitioner {
        self
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        P::json_schema(generator)
    }

    fn keys(&self) -> Vec<String> {
        properties(&self.schema(&mut SchemaGenerator::default())).into_iter().map(|p| p.0).collect()
    }

    fn values(&self) -> Table {
        // A struct of settings is a table; anything else has no keys.
        Table::try_from(self).unwrap_or_default()
    }

    fn set(&mut self, key: &str, value: Value) -> Result<(), String> {
        let mut values = self.values();
        values.insert(key.to_owned(), value);
        *self = values.try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
        Ok(())
    }
}

/// The properties of a struct's schema, in order.
fn properties(schema: &Schema) -> serde_json::Map<String, serde_json::Value> {
    schema.get("properties").and_then(|found| found.as_object()).cloned().unwrap_or_default()
}
