//! Frames of a finished run: any metric by any grouping of its test nodes.
//!
//! The run folder has the predictions, and the graph has the properties of the nodes. No model runs
//! again, so that metrics and groupings can be chosen after the run.

use crate::{Error, Result};
use boostfgl_fairness::frame::{FrameOptions, SeedFrame, SeedFrames};
use boostfgl_fairness::{Facts, FrameMetric, Grouping, MetricFrame};
use boostfgl_graph::{Graph, NodeIds, Role};
use boostfgl_report::{Predictions, RunFolder, SavedPrediction, SeedPredictions};
use std::collections::HashMap;
use std::path::Path;

/// Advice if a run and a graph do not belong together.
const ADVICE: &str =
    "Give the data that the run was made on; its name is in the run's config.toml.";

/// Measures every metric on every grouping of the test nodes of a run, grouping by grouping.
///
/// Predictions, clients, splits, minority and heterophilous nodes are those of `predictions.csv`;
/// labels, degrees and group columns are those of `graph`, which must be the graph of the run. Its
/// features are not used.
///
/// # Errors
/// If `predictions.csv` is missing, damaged or about another graph; if a grouping or metric asks
/// for what the data does not have.
pub fn frames(
    folder: &RunFolder,
    graph: &Graph,
    groupings: &[Grouping],
    metrics: &[FrameMetric],
    options: FrameOptions,
) -> Result<Vec<SeedFrames>> {
    let path = folder.file(RunFolder::PREDICTIONS);
    let predictions = Predictions::read(&path)?;
    folder.check(RunFolder::PREDICTIONS)?;
    if predictions.seeds.is_empty() {
        return Err(boostfgl_report::Error::malformed(path, "expected rows, found none").into());
    }
    let named = NamedGraph::new(graph, &path)?;
    // Per grouping and metric, the frames of the seeds.
    let mut found: Vec<Vec<SeedFrame>> = vec![Vec::new(); groupings.len() * metrics.len()];
    for seed in &predictions.seeds {
        let nodes = SeedNodes::new(seed, &named)?;
        let facts = nodes.facts(&named);
        for (at, grouping) in groupings.iter().enumerate() {
            let frames = MetricFrame::measure(&facts, grouping, metrics, options)?;
            for (slot, frame) in found[at * metrics.len()..].iter_mut().zip(frames) {
                slot.push(SeedFrame { seed: seed.seed, frame });
            }
        }
    }
    Ok(found.into_iter().map(SeedFrames::new).collect::<Result<_, _>>()?)
}

/// A graph with its nodes and classes by name.
struct NamedGraph<'a> {
    graph: &'a Graph,
    path: &'a Path,
    // Never iterated: their order could change between runs of the program.
    nodes: HashMap<String, u32>,
    classes: HashMap<&'a str, u32>,
    degree: Vec<usize>,
}

impl<'a> NamedGraph<'a> {
    fn new(graph: &'a Graph, path: &'a Path) -> Result<Self> {
        let mut nodes = HashMap::with_capacity(graph.len());
        for v in 0..graph.len() {
            if nodes.insert(graph.id(v), v as u32).is_some() {
                let reason =
                    format!("expected every name of a node once, found `{}` twice", graph.id(v));
                return Err(Error::usage(
                    graph.name(),
                    reason,
                    "Give each node a name of its own.",
                ));
            }
        }
        let mut classes = HashMap::new();
        for (class, name) in (0..).zip(graph.labels().names()) {
            if classes.insert(name.as_str(), class).is_some() {
                let reason = format!("expected every name of a class once, found `{name}` twice");
                return Err(Error::usage(
                    graph.name(),
                    reason,
                    "Give each class a name of its own.",
                ));
            }
        }
        let degree = (0..graph.len()).map(|v| graph.adjacency().degree(v)).collect();
        Ok(Self { graph, path, nodes, classes, degree })
    }

    fn mismatch(&self, reason: String) -> Error {
        Error::usage(self.path.display().to_string(), reason, ADVICE)
    }

    /// The node and the predicted class of a row.
    fn place(&self, row: &SavedPrediction) -> Result<(usize, u32)> {
        let name = self.graph.name();
        let Some(&node) = self.nodes.get(&row.node) else {
            let range = match self.graph.ids() {
                NodeIds::Position => format!(", which has nodes 0 to {}", self.graph.len() - 1),
                NodeIds::Named(_) => String::new(),
            };
            return Err(
                self.mismatch(format!("expected nodes of {name}{range}, found `{}`", row.node))
            );
        };
        let v = node as usize;
        let label = self
            .graph
            .labels()
            .get(v)
            .map_or("", |class| self.graph.labels().names()[class as usize].as_str());
        let found = row.label.as_deref().unwrap_or_default();
        if label != found {
            let reason = format!(
                "expected class `{label}` for node `{}` as in {name}, found `{found}`",
                row.node
            );
            return Err(self.mismatch(reason));
        }
        match self.classes.get(&*row.prediction) {
            Some(&class) => Ok((v, class)),
            None => {
                Err(self
                    .mismatch(format!("expected a class of {name}, found `{}`", row.prediction)))
            }
        }
    }
}

/// Predictions and groups of every node under one seed, in the order of the graph.
struct SeedNodes {
    prediction: Vec<u32>,
    nodes: Vec<u32>,
    client: Vec<u32>,
    minority: Vec<Option<bool>>,
    heterophilous: Vec<bool>,
    homophily_unknown: Vec<bool>,
}

impl SeedNodes {
    /// Puts the rows of a seed in the order of the graph's nodes.
    fn new(seed: &SeedPredictions, named: &NamedGraph<'_>) -> Result<Self> {
        let n = named.graph.len();
        let mut row_of: Vec<Option<(&SavedPrediction, u32)>> = vec![None; n];
        for row in &seed.rows {
            let (v, class) = named.place(row)?;
            if row_of[v].replace((row, class)).is_some() {
                let reason = format!(
                    "expected every node once for seed {}, found `{}` twice",
                    seed.seed, row.node
                );
                return Err(named.mismatch(reason));
            }
        }
        if let Some(v) = row_of.iter().position(Option::is_none) {
            let (missing, first) =
                (row_of.iter().filter(|row| row.is_none()).count(), named.graph.id(v));
            let reason = format!(
                "expected a row for each of {n} nodes for seed {}, found none for {missing}, the \
                 first being `{first}`",
                seed.seed
            );
            return Err(named.mismatch(reason));
        }
        let rows: Vec<(&SavedPrediction, u32)> = row_of.into_iter().flatten().collect();
        Ok(Self {
            prediction: rows.iter().map(|(_, class)| *class).collect(),
            nodes: (0..)
                .zip(&rows)
                .filter(|(_, (row, _))| row.split == Role::Test)
                .map(|(v, _)| v)
                .collect(),
            client: rows.iter().map(|(row, _)| row.client).collect(),
            minority: rows.iter().map(|(row, _)| row.minority).collect(),
            heterophilous: rows.iter().map(|(row, _)| row.heterophilous == Some(true)).collect(),
            homophily_unknown: rows.iter().map(|(row, _)| row.heterophilous.is_none()).collect(),
        })
    }

    fn facts<'a>(&'a self, named: &'a NamedGraph<'_>) -> Facts<'a> {
        Facts {
            truth: named.graph.labels(),
            prediction: &self.prediction,
            nodes: &self.nodes,
            client: &self.client,
            minority: &self.minority,
            heterophilous: &self.heterophilous,
            homophily_unknown: &self.homophily_unknown,
            degree: &named.degree,
            columns: named.graph.group_columns(),
        }
    }
}
