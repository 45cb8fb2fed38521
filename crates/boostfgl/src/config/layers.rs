//! Layers of values, and the source of each value.

use super::assignment::parse_value;
use super::dotted::{empty_tables, get, insert, leaves, merge};
use super::lines::{at_line, line_of, offset_of};
use super::lookup::{check_key, full_path, in_plain_words, is_known, unknown_key};
use super::{Checked, Config, renamed, values};
use crate::{Data, Error, Result, clients};
use boostfgl_disk::{self as disk, Checksums};
use boostfgl_report::RunFolder;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The program's default.
    Default,
    /// The dataset's protocol.
    Dataset(String),
    /// What follows from clients that have their own graphs.
    ClientData,
    /// A configuration file, and the line in it.
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1; `None` for the file as a whole.
        line: Option<usize>,
    },
    /// A flag of the command line.
    Flag(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Dataset(name) => write!(f, "protocol of {name}"),
            Self::ClientData => f.write_str("client_data"),
            Self::File { path, line: None } => write!(f, "{}", path.display()),
            Self::File { path, line: Some(line) } => write!(f, "{}, line {line}", path.display()),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// Values of the layers above the defaults, in order.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    layers: Vec<(Source, Table)>,
    /// The line of every key of a file.
    lines: BTreeMap<(PathBuf, String), usize>,
    /// The keys that were given by their last part.
    shortened: Vec<Shortened>,
}

/// A key that was given by its last part.
#[derive(Clone, Debug)]
struct Shortened {
    short: String,
    path: String,
    flag: String,
}

impl Layers {
    /// No layers: everything is default.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a TOML file.
    ///
    /// # Errors
    /// If it cannot be read, is not TOML, or has an unknown key; the message names the line. Also
    /// if it is that of a finished run and was changed since, as it would not repeat that run.
    pub fn file(&mut self, path: &Path) -> Result<()> {
        // Only the files of a run folder have checksums.
        if path.ends_with(RunFolder::CONFIG) && path.with_file_name(RunFolder::SUMMARY).is_file() {
            Checksums::check_file(path).map_err(changed)?;
        }
        let text = std::fs::read_to_string(path).map_err(|e| boostfgl_graph::Error::io(path, e))?;
        self.text(&text, path)
    }

    /// Adds the text of a TOML file; `path` is for messages.
    ///
    /// # Errors
    /// As [`Layers::file`].
    pub fn text(&mut self, text: &str, path: &Path) -> Result<()> {
        let table: Table = toml::from_str(text).map_err(|error| Error::Config {
            place: error
                .span()
                .map_or_else(|| path.display().to_string(), |span| at_line(path, text, span.start)),
            reason: error.message().to_owned(),
        })?;
        let given = leaves(&table).into_iter().chain(empty_tables(&table)).collect::<Vec<_>>();
        let mut table = table;
        for given in given {
            let offset = offset_of(text, &given);
            let wrong = |reason| Error::Config { place: at_line(path, text, offset), reason };
            let key = renamed::update(&mut table, given).map_err(wrong)?;
            check_key(&table, &key).map_err(wrong)?;
            self.lines.insert((path.to_path_buf(), key), line_of(text, offset));
        }
        self.layers.push((Source::File { path: path.to_path_buf(), line: None }, table));
        Ok(())
    }

    /// Adds one value under a dotted key, or under the last part of one, which is unique.
    ///
    /// # Errors
    /// If the key is unknown; the nearest is suggested.
    pub fn set(&mut self, key: &str, value: impl Into<Value>, flag: &str) -> Result<()> {
        let wrong = |reason| Error::Config { place: flag.to_owned(), reason };
        let (key, value) = renamed::resolve(key, value.into()).map_err(wrong)?;
        let (key, mut table) = (key.as_str(), Table::new());
        match full_path(key) {
            Some(path) => {
                if path != key {
                    let (short, flag) = (key.to_owned(), flag.to_owned());
                    self.shortened.push(Shortened { short, path: path.clone(), flag });
                }
                insert(&mut table, &path, value);
                check_key(&table, &path).map_err(wrong)?;
            }
            // A whole table at once, as in `fed={rounds=3}`.
            None if value.is_table() => {
                insert(&mut table, key, value);
                let keys = leaves(&table).into_iter().chain(empty_tables(&table));
                keys.into_iter().try_for_each(|key| check_key(&table, &key)).map_err(wrong)?;
            }
            None => return Err(wrong(unknown_key(key))),
        }
        self.layers.push((Source::Flag(flag.to_owned()), table));
        Ok(())
    }

    /// Adds `key=value` as `--set` gives it. The value is TOML; what is not, is a string.
    ///
    /// # Errors
    /// If there is no `=` or the key is unknown.
    pub fn assignment(&mut self, text: &str) -> Result<()> {
        let flag = format!("--set {text}");
        let Some((key, value)) = text.split_once('=') else {
            return Err(Error::Config {
                place: flag,
                reason: "expected key=value, found no `=`".into(),
            });
        };
        self.set(key.trim(), parse_value(key, value), &flag)
    }

    /// The configuration, and where each of its values came from.
    ///
    /// The dataset's own protocol (split shares, learning rate) comes in right above the defaults.
    ///
    /// # Errors
    /// If a value has the wrong type or is out of range, or the dataset is unknown.
    pub fn resolve(&self) -> Result<(Checked<Config>, BTreeMap<String, Source>)> {
        let named =
            self.layers.iter().rev().find_map(|(_, t)| t.get("dataset").and_then(Value::as_str));
        let mut all =
            vec![(Source::Default, Table::try_from(Config::default()).unwrap_or_default())];
        let (name, data) = match self.client_data() {
            Some(paths) => {
                let name = match named {
                    Some(name) => name.to_owned(),
                    None => clients::dataset_name(&paths)?,
                };
                let mut table = Table::new();
                insert(&mut table, "dataset", Value::String(name.clone()));
                insert(&mut table, "groups.homophily_graph", Value::String("local".into()));
                all.push((Source::ClientData, table));
                let known = Data::known(&name).map(Data::named).transpose()?;
                (name, known)
            }
            None => {
                let name = named.unwrap_or("demo").to_owned();
                let data = Data::named(&name)?;
                (name, Some(data))
            }
        };
        if let Some((split, rate)) = data.and_then(|data| data.protocol()) {
            let mut table = Table::new();
            for (key, share) in ["split.train", "split.val", "split.test"].iter().zip(split) {
                insert(&mut table, key, Value::Float(share));
            }
            insert(&mut table, "optimizer.learning_rate", Value::Float(rate));
            all.push((Source::Dataset(name), table));
        }
        all.extend(self.layers.iter().cloned());

        let mut merged = Table::new();
        let mut sources = BTreeMap::new();
        for (source, table) in &all {
            merge(&mut merged, table);
            sources.extend(leaves(table).into_iter().map(|key| {
                let source = self.with_line(source, &key);
                (key, source)
            }));
        }
        let config: Config =
            serde_path_to_error::deserialize(Value::Table(merged)).map_err(|error| {
                let key = error.path().to_string();
                let source = sources.get(key.split('[').next().unwrap_or_default());
                let place =
                    source.map_or_else(|| key.clone(), |source| format!("{key} (from {source})"));
                Error::Config { place, reason: in_plain_words(error.into_inner().message()) }
            })?;
        let config = config.checked().map_err(|error| located(error, &sources))?;
        self.check_shortened(&config.method)?;
        Ok((config, sources))
    }

    /// The folders of clients that have their own graphs, if any are named.
    fn client_data(&self) -> Option<Vec<PathBuf>> {
        let mut layers = self.layers.iter().rev();
        let paths =
            layers.find_map(|(_, table)| table.get("client_data").and_then(Value::as_array))?;
        let paths: Vec<PathBuf> =
            paths.iter().filter_map(|path| path.as_str().map(PathBuf::from)).collect();
        (!paths.is_empty()).then_some(paths)
    }

    /// Whether a file, a flag or `--set` sets this key, given by its full path.
    pub fn sets(&self, key: &str) -> bool {
        self.layers.iter().any(|(_, table)| get(table, key).is_some())
    }

    /// Refuses a short key that the method has too, since either may be meant.
    ///
    /// # Errors
    /// Names both keys.
    pub fn check_shortened(&self, method: &str) -> Result<()> {
        for Shortened { short, path, flag } in &self.shortened {
            let own = format!("methods.{method}.{short}");
            if *path != own && is_known(&own) {
                let reason = format!(
                    "`{short}` is ambiguous with the method {method}: expected one of {path}, {own}"
                );
                return Err(Error::Config { place: flag.clone(), reason });
            }
        }
        Ok(())
    }

    /// A source with the line of that key in it, if it is a file.
    fn with_line(&self, source: &Source, key: &str) -> Source {
        match source {
            Source::File { path, .. } => {
                let line = self.lines.get(&(path.clone(), key.to_owned())).copied();
                Source::File { path: path.clone(), line }
            }
            other => other.clone(),
        }
    }
}

/// Warnings for keys that are set and belong to a method that is not selected, or divide a graph
/// that clients have in parts already; one sentence each.
pub fn without_effect(config: &Config, sources: &BTreeMap<String, Source>) -> Vec<String> {
    let own = format!("methods.{}.", config.method);
    let divides = |path: &str| !config.client_data.is_empty() && path.starts_with("partition.");
    let set = values(config).into_iter().filter(|(key, value)| {
        let value = value.as_ref().map(Value::to_string).unwrap_or_default();
        let of_other = key.path.starts_with("methods.") && !key.path.starts_with(&own);
        (of_other || divides(&key.path)) && value != key.default
    });
    set.map(|(key, _)| {
        let source = sources.get(&key.path).unwrap_or(&Source::Default);
        let reason = match divides(&key.path) {
            true => "clients have graphs of their own".to_owned(),
            false => format!("the method is {}", config.method),
        };
        format!("{} (from {source}) has no effect: {reason}", key.path)
    })
    .collect()
}

/// Adds file and line to the error about a value that stands in a file.
fn located(error: Error, sources: &BTreeMap<String, Source>) -> Error {
    let (key, reason) = match &error {
        Error::Fed(boostfgl_fed::Error::Setting { key, expected, found }) => {
            (*key, format!("expected {expected}, found {found}"))
        }
        Error::Partition(boostfgl_partition::Error::Setting { key, expected, found }) => {
            (*key, format!("expected {expected}, found {found}"))
        }
        Error::Config { place, reason } => (place.as_str(), reason.clone()),
        _ => return error,
    };
    match sources.get(key) {
        Some(source @ Source::File { .. }) => {
            Error::Config { place: format!("{key} (from {source})"), reason }
        }
        _ => error,
    }
}

/// The error for a file that does not match its checksum.
fn changed(error: disk::Error) -> Error {
    match error.source.kind() {
        io::ErrorKind::InvalidData => {
            let advice = "Restore the file; to run another configuration, copy it to another \
                folder first.";
            Error::usage(error.path.display().to_string(), error.source.to_string(), advice)
        }
        // As without a checksum.
        _ => boostfgl_graph::Error::io(error.path, error.source).into(),
    }
}

#[cfg(test)]
mod tests;
