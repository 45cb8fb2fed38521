//! Putting an experiment together in code.

use crate::config::Layers;
use crate::{Data, Error, Experiment, Result, Run};
use boostfgl_data::catalogue::Lookup;
use std::path::Path;

/// Collects settings; mistakes are reported when the experiment is built.
pub struct ExperimentBuilder {
    layers: Layers,
    failed: Option<Error>,
}

impl ExperimentBuilder {
    /// Begins with a dataset.
    pub(crate) fn on(dataset: &str) -> Self {
        Self { layers: Layers::new(), failed: None }.set("dataset", dataset)
    }

    /// Sets any key of the configuration, such as `fed.rounds` or just `rounds`.
    #[must_use]
    pub fn set(mut self, key: &str, value: impl Into<SettingValue>) -> Self {
        let SettingValue(value) = value.into();
        if let Err(error) = self.layers.set(key, value, key) {
            self.failed = self.failed.or(Some(error));
        }
        self
    }

    /// Sets the method.
    #[must_use]
    pub fn method(self, name: &str) -> Self {
        self.set("method", name)
    }

    /// Sets the number of clients.
    #[must_use]
    pub fn clients(self, clients: usize) -> Self {
        self.set("partition.clients", clients)
    }

    /// Sets the seeds.
    #[must_use]
    pub fn seeds(self, seeds: impl IntoIterator<Item = u64>) -> Self {
        let seeds = seeds.into_iter().map(|s| toml::Value::Integer(s as i64)).collect();
        self.set("seeds", SettingValue(toml::Value::Array(seeds)))
    }

    /// Reads a configuration file, under what is set after it.
    #[must_use]
    pub fn config(mut self, path: &Path) -> Self {
        if let Err(error) = self.layers.file(path) {
            self.failed = self.failed.or(Some(error));
        }
        self
    }

    /// Checks the settings and loads the data, looking in the places that the environment names.
    ///
    /// # Errors
    /// The first mistake in the settings, or what is wrong with the data.
    pub fn build(self) -> Result<Experiment> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let (config, _) = self.layers.resolve()?;
        let data = Data::named(&config.dataset)?;
        let graph = data.load(&Lookup::from_env(None), None, &mut |_, _| {})?;
        Experiment::new(config, graph)
    }

    /// [`ExperimentBuilder::build`] and [`Experiment::run`].
    ///
    /// # Errors
    /// As those.
    pub fn run(self) -> Result<Run> {
        self.build()?.run()
    }
}

/// A value of a setting.
pub struct SettingValue(toml::Value);

macro_rules! setting_values {
    ($($kind:ty => $convert:expr),* $(,)?) => {
        $(impl From<$kind> for SettingValue {
            fn from(value: $kind) -> Self {
                let convert: fn($kind) -> toml::Value = $convert;
                Self(convert(value))
            }
        })*
    };
}

setting_values! {
    &str => |v| toml::Value::String(v.to_owned()),
    f64 => toml::Value::Float,
    i32 => |v| toml::Value::Integer(v.into()),
    usize => |v| toml::Value::Integer(v as i64),
    bool => toml::Value::Boolean,
}
