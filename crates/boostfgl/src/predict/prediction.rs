//! Predictions with their probabilities, and which nodes of them are wanted.

use crate::{Error, Result};
use boostfgl_nn::Matrix;
use boostfgl_report::ScoreTable;
use std::collections::HashMap;
use std::path::Path;

/// What a model predicts for the nodes of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct NodePredictions {
    /// The names of the nodes.
    pub nodes: Vec<String>,
    /// The names of the classes.
    pub classes: Vec<String>,
    /// The predicted class of each node.
    pub predicted: Vec<u32>,
    /// The probability of every class, a row per node.
    pub probabilities: Matrix<f32>,
    /// The outputs of the network, where a plain network predicts.
    pub logits: Option<Matrix<f32>>,
    /// What the user should know about them, a sentence each.
    pub notes: Vec<String>,
}

impl NodePredictions {
    /// Those of some nodes, by position.
    #[must_use]
    pub fn of_nodes(&self, at: &[u32]) -> Self {
        Self {
            nodes: at.iter().map(|&v| self.nodes[v as usize].clone()).collect(),
            classes: self.classes.clone(),
            predicted: at.iter().map(|&v| self.predicted[v as usize]).collect(),
            probabilities: self.probabilities.rows_at(at),
            logits: self.logits.as_ref().map(|logits| logits.rows_at(at)),
            notes: self.notes.clone(),
        }
    }

    /// Those of the nodes that a file names, one per line, in its order.
    ///
    /// # Errors
    /// If the file cannot be read, names no node, or names nodes that are not there: one message
    /// with all of them.
    pub fn listed_in(&self, path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| boostfgl_graph::Error::io(path, source))?;
        let place: HashMap<&str, u32> = self.nodes.iter().map(String::as_str).zip(0..).collect();
        let (mut at, mut unknown) = (Vec::new(), Vec::new());
        for (line, name) in text.lines().map(str::trim).enumerate() {
            match place.get(name) {
                Some(&v) => at.push(v),
                None if name.is_empty() => {}
                None => unknown.push((line + 1, name)),
            }
        }
        if let Some((line, name)) = unknown.first() {
            let (count, first) = (unknown.len(), format!("`{name}` in line {line}"));
            let reason = match count {
                1 => format!("expected ids of the data, one per line, found {first}"),
                _ => format!(
                    "expected ids of the data, one per line, found {count} others; the first: {first}"
                ),
            };
            let advice = "Give the ids as the data have them: the column id of nodes.csv, or the \
                number of the node from 0.";
            return Err(Error::usage(path.display().to_string(), reason, advice));
        }
        if at.is_empty() {
            let reason = "expected ids of nodes, one per line, found none";
            let advice = "Leave --nodes out to predict for all of them.";
            return Err(Error::usage(path.display().to_string(), reason, advice));
        }
        Ok(self.of_nodes(&at))
    }

    /// The table of them; with logits if they are asked for.
    ///
    /// # Errors
    /// If logits are asked for where no plain network predicts.
    pub fn table(&self, with_logits: bool) -> Result<ScoreTable<'_>> {
        if with_logits && self.logits.is_none() {
            let reason = "expected a prediction by a plain network, found one by a run";
            let advice = "Name the data: `boostfgl predict MODEL DATA --logits`.";
            return Err(Error::usage("--logits", reason, advice));
        }
        Ok(ScoreTable {
            nodes: &self.nodes,
            classes: &self.classes,
            predicted: &self.predicted,
            probabilities: self.probabilities.to_vec(),
            logits: self.logits.as_ref().filter(|_| with_logits).map(Matrix::to_vec),
        })
    }
}
