//! The evaluated nodes of a group, counted once for all classes.

use super::{BinaryCounts, GroupRates};
use crate::scored::{ScoreMetrics, ScoredNodes};
use crate::{ClassCounts, Confusion, Result};

/// Labelled nodes as (node, truth, prediction).
pub(super) type Evaluated = (u32, u32, u32);

/// The evaluated nodes of a group.
pub(super) struct Grouped {
    pub(super) name: String,
    pub(super) nodes: Vec<Evaluated>,
    classes: Vec<ClassCounts>,
    hits: u64,
}

impl Grouped {
    /// Counts the nodes of a group.
    ///
    /// # Errors
    /// If a class is not below `classes`.
    pub(super) fn new(name: String, nodes: Vec<Evaluated>, classes: usize) -> Result<Self> {
        let pairs = nodes.iter().map(|(_, truth, prediction)| (*truth, *prediction));
        let confusion = Confusion::from_pairs(classes, pairs)?;
        Ok(Self { name, nodes, classes: confusion.per_class(), hits: confusion.hits() })
    }

    /// The rates with `class` as the positive one, with metrics of scores if there are any.
    pub(super) fn rates(&self, class: usize, scores: Option<&Scores<'_>>) -> GroupRates {
        let counts = BinaryCounts::of_class(&self.classes, class).unwrap_or_default();
        let metrics = scores.and_then(|scores| scores.metrics(&self.nodes, class));
        GroupRates::new(self.name.clone(), &counts, self.hits, metrics)
    }
}

/// The probabilities of all nodes: row by row, one number per class.
#[derive(Clone, Copy)]
pub(super) struct Scores<'a> {
    pub(super) classes: usize,
    pub(super) values: &'a [f32],
}

impl Scores<'_> {
    /// The probabilities of one node.
    pub(super) fn row(&self, node: u32) -> &[f32] {
        let start = node as usize * self.classes;
        &self.values[start..start + self.classes]
    }

    /// The probability that a node is of a class.
    pub(super) fn of(&self, node: u32, class: usize) -> f64 {
        f64::from(self.row(node)[class])
    }

    /// The metrics of the probabilities of a class; `None` if training diverged and they are no
    /// probabilities, which has a warning of its own.
    fn metrics(&self, nodes: &[Evaluated], class: usize) -> Option<ScoreMetrics> {
        let scored =
            nodes.iter().map(|(node, truth, _)| (*truth as usize == class, self.of(*node, class)));
        ScoredNodes::new(scored).ok().map(|nodes| nodes.metrics())
    }
}
