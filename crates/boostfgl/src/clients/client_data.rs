//! One client's graph, as its owner keeps it.

use super::group_tally::ProtectedNodes;
use super::schema::{ClientSchema, order};
use super::tally::{Counted, NodeTally};
use crate::config::Config;
use crate::{Error, Result, fingerprint};
use boostfgl_data::readers::{self, Format, csv_tables};
use boostfgl_fed::{ClientName, LocalData};
use boostfgl_graph::groups::node_homophily;
use boostfgl_graph::{Graph, Labels, Role, Scaling, Split};
use boostfgl_partition::{ClientGraph, SplitRule};
use boostfgl_protocol::Schema;
use boostfgl_report::Fingerprint;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// The graph of one client, with classes and features in the order that it shares with the others.
#[derive(Clone, Debug)]
pub struct ClientData {
    name: String,
    graph: Graph,
    /// What the client tells the server about its features and classes.
    schema: Schema,
    /// The dataset that it is a part of, if its schema names one.
    dataset: Option<String>,
    fingerprint: Fingerprint,
    /// φ of every node among the neighbours that the client has.
    homophily: Vec<Option<f64>>,
}

impl ClientData {
    /// Reads the files of a client, in any format that is detected. Its name is that of the folder
    /// or file.
    ///
    /// # Errors
    /// If the files cannot be read, or do not follow the schema; the message names the client.
    pub fn read(path: &Path) -> Result<Self> {
        let name = name_of(path);
        let of_client = |source| Error::Client { client: name.clone(), source: Box::new(source) };
        check_name(&name, path)?;
        Self::read_named(path, name.clone()).map_err(of_client)
    }

    fn read_named(path: &Path, name: String) -> Result<Self> {
        let schema = ClientSchema::find(path)?;
        let directed = schema.as_ref().is_some_and(|schema| schema.directed);
        let format = readers::detect(path)?;
        let graph = match format {
            Format::Csv if directed => {
                csv_tables::read_with(path, csv_tables::CsvOptions { directed })?
            }
            _ => readers::read(path, Some(format))?,
        };
        let file = match format {
            Format::Csv => csv_tables::NODE_FILE.to_owned(),
            _ => readers::main_file(path, format)
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
        };
        let read = fingerprint::of(&graph);
        let graph = arranged(graph, schema.as_ref(), &file)?;
        let shared = Schema {
            features: graph.features().columns() as u32,
            columns: graph.feature_names().to_vec(),
            classes: graph.labels().names().to_vec(),
            is_fixed: schema.is_some(),
            file,
        };
        let fingerprint = with_schema(read, &name, &shared);
        let (dataset, homophily) = (schema.and_then(|it| it.dataset), node_homophily(&graph));
        Ok(Self { name, schema: shared, dataset, fingerprint, homophily, graph })
    }

    /// Its name in tables and messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The dataset that it is a part of, if its schema names one.
    pub fn dataset(&self) -> Option<&str> {
        self.dataset.as_deref()
    }

    /// The fingerprint of its data as they were read.
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    /// The same with its features scaled, which looks at one node at a time.
    #[must_use]
    pub(super) fn scaled(self, scaling: Scaling) -> Self {
        Self { graph: self.graph.scaled(scaling), ..self }
    }

    /// Whether the roles of its nodes come with the data under these settings.
    ///
    /// # Errors
    /// As [`SplitSection::rule`](crate::config::SplitSection::rule).
    pub(super) fn has_split(&self, config: &Config) -> Result<bool> {
        Ok(matches!(config.split.rule(&self.graph, true)?, SplitRule::Published))
    }

    /// Its data for training as client number `id`, and its test nodes, which it counts itself.
    ///
    /// # Errors
    /// If it should have a split and has none; the message names the client.
    pub(super) fn join(&self, id: usize, config: &Config, seed: u64) -> Result<Joined> {
        let split = self.split(id, config, seed)?;
        let counted = self.counted(&split, config.groups.homophily_threshold);
        let nodes = (0..self.graph.len() as u32).collect();
        let client = ClientGraph { id, nodes, graph: self.graph.clone(), split, lost_edges: 0 };
        let local = LocalData::new(&client).called(&self.name, self.schema.clone());
        let positive = config.evaluation.positive.clone();
        let protected = ProtectedNodes::new(positive, self.graph.group_columns());
        let tally = NodeTally::new(self.schema.classes.clone(), counted).with_protected(protected);
        Ok(Joined { local, tally })
    }

    /// The roles of its nodes as client number `id`: those that come with the data, or drawn by
    /// shares.
    ///
    /// # Errors
    /// As [`ClientData::join`].
    pub(super) fn split(&self, id: usize, config: &Config, seed: u64) -> Result<Split> {
        let of_client =
            |source| Error::Client { client: self.name.clone(), source: Box::new(source) };
        let number = u32::try_from(id).unwrap_or(u32::MAX);
        let rule = config.split.rule(&self.graph, true).map_err(of_client)?;
        let drawn = rule.draw(&self.graph, &vec![number; self.graph.len()], seed);
        drawn.map_err(|error| of_client(error.into()))
    }

    /// The test nodes with their classes and groups.
    fn counted(&self, split: &Split, threshold: f64) -> Vec<Counted> {
        let labelled =
            split.nodes(Role::Test).filter_map(|v| Some((v, self.graph.labels().get(v)?)));
        let counted = labelled.map(|(v, class)| {
            let group = match self.heterophilous(v, threshold) {
                Some(true) => 0,
                Some(false) => 1,
                None => 2,
            };
            Counted { node: v, class, group }
        });
        counted.collect()
    }

    /// Whether a node is heterophilous in the client's own graph; `None` without a labelled
    /// neighbour.
    pub(super) fn heterophilous(&self, v: usize, threshold: f64) -> Option<bool> {
        self.homophily[v].map(|phi| phi <= threshold)
    }
}

/// The fingerprint of a client's data: in a federation the names of classes and features decide how
/// they are numbered, and the name of a client where its files are.
fn with_schema(read: Fingerprint, name: &str, schema: &Schema) -> Fingerprint {
    let joined = |part: &str, names: &[String]| {
        let mut hasher = blake3::Hasher::new();
        hasher.update(part.as_bytes());
        for name in names {
            // With its length, so that no two lists have the same bytes.
            hasher.update(&(name.len() as u64).to_le_bytes());
            hasher.update(name.as_bytes());
        }
        hasher.finalize().to_hex().to_string()
    };
    let labels = joined(&read.labels, &schema.classes);
    let features = joined(&read.features, &schema.columns);
    let own = [name.to_owned(), labels.clone(), features.clone(), schema.is_fixed.to_string()];
    Fingerprint { whole: joined(&read.whole, &own), labels, features, ..read }
}

/// What a client takes part with.
pub(super) struct Joined {
    pub(super) local: LocalData<f32>,
    pub(super) tally: NodeTally,
}

/// The name of a client: of its folder, or of its file without the ending.
fn name_of(path: &Path) -> String {
    // Links keep their own name: two of them may lead to folders of one name.
    let full = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let full = if full.file_name().is_some() { full } else { path.canonicalize().unwrap_or(full) };
    let name = if full.is_file() { full.file_stem() } else { full.file_name() };
    name.unwrap_or_default().to_string_lossy().into_owned()
}

/// Names go into tables, files and paths.
fn check_name(name: &str, path: &Path) -> Result<()> {
    let Some(expected) = ClientName::objection(name) else { return Ok(()) };
    let reason = format!("expected {expected}, found {name:?}");
    Err(Error::usage(path.display().to_string(), reason, "Rename the folder of this client."))
}

/// The graph with classes and features in the order that clients share.
fn arranged(graph: Graph, schema: Option<&ClientSchema>, file: &str) -> Result<Graph> {
    let sparse = schema.and_then(|schema| schema.sparse);
    let graph = with_classes(graph, schema.map(|schema| &schema.classes), file)?;
    let graph = with_columns(graph, schema, file)?;
    check_directed(&graph, schema, file)?;
    let Some(sparse) = sparse else { return Ok(graph) };
    check_dense(&graph, sparse, file)?;
    Ok(graph.stored(sparse))
}

/// Refuses a file whose edges have a direction where those of the schema have none, or the reverse.
fn check_directed(graph: &Graph, schema: Option<&ClientSchema>, file: &str) -> Result<()> {
    let found = graph.adjacency().is_directed();
    if schema.is_none_or(|schema| schema.directed == found) {
        return Ok(());
    }
    let reason =
        format!("expected directed = {} as in {}, found {found}", !found, ClientSchema::FILE);
    let advice = "Correct `directed` in the schema of every client, or the edges of this one.";
    Err(Error::usage(format!("{file}, edges"), reason, advice))
}

/// Refuses to store more zeros than any machine has memory for.
fn check_dense(graph: &Graph, sparse: bool, file: &str) -> Result<()> {
    let (rows, columns) = (graph.features().rows(), graph.features().columns());
    if sparse || rows.saturating_mul(columns) <= MOST_DENSE {
        return Ok(());
    }
    let reason = format!("expected at most {MOST_DENSE} numbers, found {rows} × {columns}");
    Err(Error::usage(format!("{file}, features"), reason, "Set `sparse = true` in the schema."))
}

/// 16 GiB of numbers.
const MOST_DENSE: usize = 1 << 32;

/// The graph with its classes in this order, or sorted.
fn with_classes(graph: Graph, classes: Option<&Vec<String>>, file: &str) -> Result<Graph> {
    let own = graph.labels().names();
    let all = order(own, classes);
    if own == all {
        return Ok(graph);
    }
    let place: HashMap<&str, u32> = all.iter().map(String::as_str).zip(0..).collect();
    let numbers: Vec<Option<u32>> =
        own.iter().map(|class| place.get(class.as_str()).copied()).collect();
    let unknown = graph.labels().iter().flatten().find(|class| numbers[*class as usize].is_none());
    if let Some(class) = unknown {
        let expected = format!("one of the classes of {}: {}", ClientSchema::FILE, listed(&all));
        let reason = format!("expected {expected}; found `{}`", own[class as usize]);
        let advice = "Correct the label, or add the class to the schema of every client.";
        return Err(Error::usage(format!("{file}, column `label`"), reason, advice));
    }
    let labels = graph.labels().iter().map(|class| class.and_then(|own| numbers[own as usize]));
    let labels = Labels::new(labels.collect::<Vec<_>>(), all)?;
    Ok(graph.with_labels(labels)?)
}

/// The graph with its feature columns in the order of the schema; sorted by name without a schema.
fn with_columns(graph: Graph, schema: Option<&ClientSchema>, file: &str) -> Result<Graph> {
    let own = graph.feature_names();
    let columns = match schema {
        Some(ClientSchema { features: Some(names), .. }) if own.is_empty() => {
            return numbered(graph, names, file);
        }
        _ if own.is_empty() => return Ok(graph),
        Some(ClientSchema { features: None, .. }) => return Ok(graph),
        Some(ClientSchema { features, .. }) => order(own, features.as_ref()),
        None => order(own, None),
    };
    if own == columns {
        return Ok(graph);
    }
    let place: HashMap<&str, usize> = own.iter().map(String::as_str).zip(0..).collect();
    let missing = columns.iter().find(|column| !place.contains_key(column.as_str()));
    let known: HashSet<&String> = columns.iter().collect();
    let extra = own.iter().find(|column| !known.contains(column));
    let wrong = match (missing, extra) {
        (Some(column), _) => Some((column, "expected this feature column of", "none", "Add")),
        (None, Some(column)) => {
            Some((column, "expected the feature columns of", "one more", "Drop"))
        }
        (None, None) => None,
    };
    if let Some((column, expected, found, verb)) = wrong {
        let reason = format!("{expected} {}, found {found}", ClientSchema::FILE);
        let advice = format!("{verb} the column, or change the schema of every client.");
        return Err(Error::usage(format!("{file}, column `{column}`"), reason, advice));
    }
    let order: Vec<usize> = columns.iter().map(|column| place[column.as_str()]).collect();
    Ok(graph.arranged(&order))
}

/// The graph with the names of the schema for columns that have none in the file.
fn numbered(graph: Graph, names: &[String], file: &str) -> Result<Graph> {
    let (expected, found) = (names.len(), graph.features().columns());
    if expected == found {
        return Ok(graph.with_feature_names(names.to_vec())?);
    }
    let reason =
        format!("expected the {expected} feature columns of {}, found {found}", ClientSchema::FILE);
    let advice = "Give the file these columns, or change the schema of every client.";
    Err(Error::usage(format!("{file}, features"), reason, advice))
}

/// Names in a message, the first few of them.
fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(6).map(|name| format!("`{name}`")).collect();
    format!("{}{}", shown.join(", "), if names.len() > shown.len() { ", …" } else { "" })
}
