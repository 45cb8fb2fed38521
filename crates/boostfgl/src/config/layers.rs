//! Layers of values, and where each value came from.

use super::{Config, Key, keys, renamed, values};
use crate::{Data, Error, Result};
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
    /// What was set by the last part of its key.
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
    /// if it is that of a finished run and was changed since: who repeats a run wants that run.
    pub fn file(&mut self, path: &Path) -> Result<()> {
        // Elsewhere a list of checksums may be anybody's.
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
        let (key, value) = renamed::resolve(key, value.into(), full_path).map_err(wrong)?;
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
        let value = value.trim();
        // `nan` and `inf` are numbers in TOML, and words where they name an attack.
        let word = full_path(key.trim()).is_some_and(|path| path == "attack.kind");
        let parsed =
            toml::from_str::<Table>(&format!("v = {value}")).ok().and_then(|mut t| t.remove("v"));
        let parsed = parsed.filter(|value| !(word && value.is_float()));
        self.set(key.trim(), parsed.unwrap_or_else(|| Value::String(value.to_owned())), &flag)
    }

    /// The configuration, and where each of its values came from.
    ///
    /// The dataset's own protocol (split shares, learning rate) comes in right above the defaults.
    ///
    /// # Errors
    /// If a value has the wrong type or is out of range, or the dataset is unknown.
    pub fn resolve(&self) -> Result<(Config, BTreeMap<String, Source>)> {
        let named =
            self.layers.iter().rev().find_map(|(_, t)| t.get("dataset").and_then(Value::as_str));
        let name = named.unwrap_or("demo").to_owned();
        let mut all =
            vec![(Source::Default, Table::try_from(Config::default()).unwrap_or_default())];
        if let Some((split, rate)) = Data::named(&name)?.protocol() {
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
        config.check().map_err(|error| located(error, &sources))?;
        self.check_shortened(&config.method)?;
        Ok((config, sources))
    }

    /// Refuses a short key that the method has too: whoever chose the method may have meant either.
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

/// What was set and has no say: keys of other methods than the chosen one. One sentence each.
pub fn without_effect(config: &Config, sources: &BTreeMap<String, Source>) -> Vec<String> {
    let own = format!("methods.{}.", config.method);
    let set = values(config).into_iter().filter(|(key, value)| {
        let value = value.as_ref().map(Value::to_string).unwrap_or_default();
        key.path.starts_with("methods.") && !key.path.starts_with(&own) && value != key.default
    });
    set.map(|(key, _)| {
        let source = sources.get(&key.path).unwrap_or(&Source::Default);
        format!("{} (from {source}) has no effect: the method is {}", key.path, config.method)
    })
    .collect()
}

/// Adds file and line to a complaint about a value that stands in a file.
fn located(error: Error, sources: &BTreeMap<String, Source>) -> Error {
    let (key, reason) = match &error {
        Error::Fed(boostfgl_fed::Error::Setting { key, expected, found }) => {
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

fn merge(into: &mut Table, from: &Table) {
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
fn leaves(table: &Table) -> Vec<String> {
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
fn empty_tables(table: &Table) -> Vec<String> {
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

pub(super) fn is_known(path: &str) -> bool {
    keys().iter().any(|key| key.path == path)
}

/// Whether a leaf or an empty table of `table` is where the configuration has one; if not, what is
/// wrong with it.
fn check_key(table: &Table, path: &str) -> Result<(), String> {
    let keys = keys();
    let leaf = path.split('.').try_fold(None, |found: Option<&Value>, part| {
        let inner = found.map_or(Some(table), Value::as_table)?;
        Some(Some(inner.get(part)?))
    });
    let is_table = leaf.flatten().is_some_and(Value::is_table);
    // A key that has a value stands for a table here, itself or above this one.
    let above = |key: &&Key| path.strip_prefix(&key.path).is_some_and(|rest| rest.starts_with('.'));
    let value =
        keys.iter().find(above).or_else(|| keys.iter().find(|key| is_table && key.path == path));
    if let Some(value) = value {
        return Err(format!("expected a value for `{}`, found a table", value.path));
    }
    let inside = format!("{path}.");
    let known =
        if is_table { keys.iter().any(|k| k.path.starts_with(&inside)) } else { is_known(path) };
    match known {
        true => Ok(()),
        false if is_table => Err(unknown_table(path)),
        false => Err(unknown_key(path)),
    }
}

fn unknown_table(path: &str) -> String {
    let keys = keys();
    let parents = |key: &Key| {
        key.path.match_indices('.').map(|(at, _)| key.path[..at].to_owned()).collect::<Vec<_>>()
    };
    let tables: Vec<String> = keys.iter().flat_map(parents).collect();
    let names =
        || tables.iter().map(String::as_str).chain(keys.iter().map(|key| key.path.as_str()));
    let last = |path: &'_ str| path.rsplit('.').next().unwrap_or_default().to_owned();
    // The whole path may be near, or its last part may be right and stand elsewhere.
    let near = boostfgl_graph::nearest(path, names()).or_else(|| {
        let lasts: Vec<String> = names().map(last).collect();
        let near = boostfgl_graph::nearest(&last(path), lasts.iter().map(String::as_str))?;
        names().find(|name| last(name) == near)
    });
    let near = near.map(|near| format!(" (did you mean `{near}`?)"));
    format!("unknown table `{path}`{}", near.unwrap_or_default())
}

/// The one key that is meant by a path or the end of one. Keys of methods share names (`moon.mu`,
/// `fedprox.mu`), and those of attacks may be named like others (`attack.clients`): these are meant
/// only if no other key is, and only if one of them is.
pub(super) fn full_path(key: &str) -> Option<String> {
    let ends = format!(".{key}");
    let keys = keys();
    if let Some(exact) = keys.iter().find(|k| k.path == key) {
        return Some(exact.path.clone());
    }
    let special = |key: &&Key| key.path.starts_with("methods.") || key.path.starts_with("attack.");
    let (special, others): (Vec<_>, Vec<_>) =
        keys.iter().filter(|k| k.path.ends_with(&ends)).partition(special);
    match (others.as_slice(), special.as_slice()) {
        ([one], _) | ([], [one]) => Some(one.path.clone()),
        _ => None,
    }
}

/// What serde says of a wrong type, without the names of Rust's types.
fn in_plain_words(message: &str) -> String {
    let message = message.trim();
    if let Some((found, known)) =
        message.strip_prefix("unknown variant `").and_then(|rest| rest.split_once('`'))
    {
        // Names stand between backquotes: every second piece.
        let names = known.split('`').skip(1).step_by(2);
        let near = boostfgl_graph::nearest(found, names.clone())
            .map(|near| format!(" (did you mean `{near}`?)"));
        let names = names.collect::<Vec<_>>().join(", ");
        return format!("expected one of {names}, found `{found}`{}", near.unwrap_or_default());
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

/// What to say of a key that there is not.
fn unknown_key(key: &str) -> String {
    let keys = keys();
    let inside = format!("{key}.");
    if let Some(inner) = keys.iter().find(|k| k.path.starts_with(&inside)) {
        let near = boostfgl_graph::nearest(key, keys.iter().map(|k| k.path.as_str()));
        let near = near.map(|near| format!(" (or did you mean `{near}`?)")).unwrap_or_default();
        return format!(
            "expected a table, found a value: set one of its keys, such as `{}`{near}",
            inner.path
        );
    }
    let ends = format!(".{key}");
    let several: Vec<&str> =
        keys.iter().map(|k| k.path.as_str()).filter(|path| path.ends_with(&ends)).collect();
    if let [_, _, ..] = several.as_slice() {
        return format!(
            "`{key}` is a key of several methods: expected one of {}",
            several.join(", ")
        );
    }
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    // The whole path may be near, or its last part may be right and stand in another table.
    let near = boostfgl_graph::nearest(key, keys.iter().map(|k| k.path.as_str()))
        .map(str::to_owned)
        .or_else(|| {
            let names: Vec<String> = keys.iter().map(|k| last(&k.path)).collect();
            let name = boostfgl_graph::nearest(&last(key), names.iter().map(String::as_str))?;
            full_path(name)
        });
    let suggestion = near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
    format!("unknown key `{key}`{suggestion}")
}

/// A file that is not what its checksum says.
fn changed(error: disk::Error) -> Error {
    match error.source.kind() {
        io::ErrorKind::InvalidData => {
            let advice = "Put the file back as it was; to run another configuration, copy it to \
                another folder first.";
            Error::usage(error.path.display().to_string(), error.source.to_string(), advice)
        }
        // As without a checksum.
        _ => boostfgl_graph::Error::io(error.path, error.source).into(),
    }
}

fn at_line(path: &Path, text: &str, offset: usize) -> String {
    format!("{}, line {}", path.display(), line_of(text, offset))
}

fn line_of(text: &str, offset: usize) -> usize {
    text[..offset.min(text.len())].matches('\n').count() + 1
}

/// Where in the text the key of that path stands.
fn offset_of(text: &str, path: &str) -> usize {
    let Ok(table) = toml::de::DeTable::parse(text) else { return 0 };
    let mut table = table.get_ref();
    let mut offset = 0;
    for part in path.split('.') {
        let Some((key, value)) = table.iter().find(|(key, _)| key.get_ref() == part) else { break };
        offset = key.span().start;
        match value.get_ref() {
            toml::de::DeValue::Table(inner) => table = inner,
            _ => break,
        }
    }
    offset
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(
        build: impl FnOnce(&mut Layers) -> Result<()>,
    ) -> Result<(Config, BTreeMap<String, Source>)> {
        let mut layers = Layers::new();
        build(&mut layers)?;
        layers.resolve()
    }

    fn message(build: impl FnOnce(&mut Layers) -> Result<()>) -> String {
        resolve(build).unwrap_err().to_string()
    }

    #[test]
    fn later_layers_win_and_say_where_they_came_from() {
        let (config, sources) = resolve(|layers| {
            layers.text(
                "dataset = \"ogbn-arxiv\"\n[fed]\nrounds = 7\nepochs = 2\n",
                Path::new("my.toml"),
            )?;
            layers.assignment("rounds=9")?;
            layers.assignment("boost.topology.edge_score=reliability")
        })
        .unwrap();
        assert_eq!((config.fed.rounds, config.fed.epochs), (9, 2));
        assert_eq!(config.optimizer.learning_rate, 5e-3);
        assert_eq!(sources["fed.rounds"].to_string(), "--set rounds=9");
        assert_eq!(sources["fed.epochs"].to_string(), "my.toml, line 4");
        assert_eq!(sources["split.train"].to_string(), "protocol of ogbn-arxiv");
        assert_eq!(sources["model.hidden"], Source::Default);
    }

    #[test]
    fn the_resolved_file_resolves_to_itself() {
        let (config, _) = resolve(|layers| {
            layers.assignment("dataset=chameleon")?;
            layers.assignment("boosts=[\"node\"]")?;
            layers.assignment("participation=1")
        })
        .unwrap();
        let (again, _) =
            resolve(|layers| layers.text(&config.to_toml(), Path::new("config.toml"))).unwrap();
        assert_eq!(config, again);
    }

    /// Digests of finished cells are made from the text: without noise it is the text of before
    /// there was any.
    #[test]
    fn message_noise_is_written_only_where_there_is_some() {
        assert!(!Config::default().to_toml().contains("message_noise"));
        let key = keys().iter().find(|key| key.path == "model.message_noise").unwrap();
        assert!(
            key.meaning.contains("simulates differential privacy and is not"),
            "{}",
            key.meaning
        );
        let (silent, _) = resolve(|layers| layers.assignment("message_noise=0")).unwrap();
        assert_eq!(silent.to_toml(), Config::default().to_toml());
        for (given, sigma) in [("0.25", 0.25), ("2", 2.0)] {
            let (noisy, _) =
                resolve(|layers| layers.assignment(&format!("message_noise={given}"))).unwrap();
            assert_eq!(noisy.model.message_noise, sigma);
            let (again, _) =
                resolve(|layers| layers.text(&noisy.to_toml(), Path::new("config.toml"))).unwrap();
            assert_eq!((&again, again.to_toml()), (&noisy, noisy.to_toml()));
        }
        assert_eq!(
            message(|layers| layers.assignment("message_noise=-1")),
            "model.message_noise: expected a number from 0 to 100, found -1"
        );
        let refused = message(|layers| {
            layers.assignment("message_noise=0.1")?;
            layers.assignment("backbone=mlp")
        });
        assert!(refused.contains("this network passes no messages"), "{refused}");
    }

    #[test]
    fn mistakes_are_named_with_place_and_nearest_key() {
        let file = |text: &'static str| message(move |l| l.text(text, Path::new("c.toml")));
        assert_eq!(
            file("[fed]\nrounds = 3\nround = 4\n"),
            "c.toml, line 3: unknown key `fed.round` (did you mean `fed.rounds`?)"
        );
        assert_eq!(
            file("optimizer_state = \"reset\""),
            "c.toml, line 1: unknown key `optimizer_state` (did you mean \
             `optimizer.optimizer_state`?)"
        );
        assert!(file("[fed\n").starts_with("c.toml, line 1: "), "{}", file("[fed\n"));
        assert_eq!(
            file("[fed]\nrounds = \"many\"\n"),
            "fed.rounds (from c.toml, line 2): expected a whole number of at least 0, found \
             string \"many\""
        );
        assert_eq!(
            file("method = \"fedavg\"\n[fed]\nrounds = 0\n"),
            "fed.rounds (from c.toml, line 3): expected at least 1, found 0"
        );
        assert!(file("fed = 3\n").starts_with("c.toml, line 1: expected a table, found a value"));
        assert!(
            message(|l| l.assignment("seeds=[-1]"))
                .starts_with("seeds[0] (from --set seeds=[-1]): expected a whole")
        );
        assert_eq!(
            message(|l| l.assignment("fed.rounds")),
            "--set fed.rounds: expected key=value, found no `=`"
        );
        assert_eq!(
            message(|l| l.assignment("fed.rounds=0")),
            "fed.rounds: expected at least 1, found 0"
        );
        assert!(message(|l| l.assignment("lambda_x=1")).contains("did you mean"));
        assert!(message(|l| l.assignment("method=fedavgg")).contains("did you mean `fedavg`?"));
        assert!(message(|l| l.assignment("dataset=coar")).contains("did you mean `cora`?"));
        assert!(message(|l| l.assignment("seeds=[1,1]")).contains("1 twice"));
    }

    #[test]
    fn tables_and_words_are_named_with_place_and_nearest_name() {
        let file = |text: &'static str| message(move |l| l.text(text, Path::new("c.toml")));
        assert_eq!(file("\n[fde]\n"), "c.toml, line 2: unknown table `fde` (did you mean `fed`?)");
        assert_eq!(
            file("[model.node]\n"),
            "c.toml, line 1: unknown table `model.node` (did you mean `boost.node`?)"
        );
        assert_eq!(
            file("[model.nois]\n"),
            "c.toml, line 1: unknown table `model.nois` (did you mean `methods.fedtad.noise`?)"
        );
        assert_eq!(file("[nothing-like-it]\n"), "c.toml, line 1: unknown table `nothing-like-it`");
        assert_eq!(
            file("\n[dataset]\n"),
            "c.toml, line 2: expected a value for `dataset`, found a table"
        );
        assert_eq!(
            file("[dataset]\nname = 1\n"),
            "c.toml, line 2: expected a value for `dataset`, found a table"
        );
        assert_eq!(
            message(|l| l.assignment("rounds={a=1}")),
            "--set rounds={a=1}: expected a value for `fed.rounds`, found a table"
        );
        assert_eq!(
            message(|l| l.assignment("fed={round=3}")),
            "--set fed={round=3}: unknown key `fed.round` (did you mean `fed.rounds`?)"
        );
        let (config, _) = resolve(|l| l.assignment("fed={rounds=3, epochs=2}")).unwrap();
        assert_eq!((config.fed.rounds, config.fed.epochs), (3, 2));
        assert_eq!(
            file("[aggregation]\nrule = \"medain\"\n"),
            "aggregation.rule (from c.toml, line 2): expected one of mean, median, trimmed-mean, \
             krum, multi-krum, bulyan, \
             geometric-median, norm-bounded, found `medain` (did you mean `median`?)"
        );
        assert_eq!(
            message(|l| l.assignment("optimizer.optimizer=adma")),
            "optimizer.optimizer (from --set optimizer.optimizer=adma): expected one of adam, \
             sgd, found `adma` (did you \
             mean `adam`?)"
        );
        assert!(
            message(|l| l.assignment("boosts=[\"nod\"]"))
                .ends_with("found `nod` (did you mean `node`?)")
        );
    }

    #[test]
    fn a_short_key_that_the_method_has_too_is_ambiguous() {
        let with = |method: &'static str, set: &'static str| {
            resolve(move |l| {
                l.assignment(set)?;
                l.set("method", method, "--method")
            })
        };
        for (method, set, other) in [
            ("afl", "gamma=0.5", "boost.model.gamma"),
            ("moon", "mu=0.5", "boost.node.mu"),
            ("moon", "tau=0.5", "boost.topology.tau"),
            ("fedfv", "alpha=0.5", "partition.alpha"),
        ] {
            let short = set.split('=').next().unwrap();
            let expected = format!(
                "--set {set}: `{short}` is ambiguous with the method {method}: expected one of \
                 {other}, methods.{method}.{short}"
            );
            assert_eq!(with(method, set).unwrap_err().to_string(), expected);
        }
        assert_eq!(with("fedavg", "gamma=0.25").unwrap().0.boost.model.gamma, 0.25);
        assert_eq!(with("afl", "afl.gamma=0.25").unwrap().0.methods.afl.gamma, 0.25);
        assert_eq!(with("afl", "boost.model.gamma=0.25").unwrap().0.boost.model.gamma, 0.25);
    }

    #[test]
    fn keys_of_other_methods_are_told_to_have_no_effect() {
        let told = |method: &'static str| {
            let (config, sources) = resolve(move |l| {
                l.assignment("fedprox.mu=5")?;
                l.set("method", method, "--method")
            })
            .unwrap();
            without_effect(&config, &sources)
        };
        let expected =
            "methods.fedprox.mu (from --set fedprox.mu=5) has no effect: the method is fedavg";
        assert_eq!(told("fedavg"), [expected]);
        assert_eq!(told("fedprox"), [""; 0]);
    }
}
