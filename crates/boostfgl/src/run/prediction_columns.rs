//! The columns of `predictions.csv` after the usual ones: protected attributes and probabilities.

use crate::config::Config;
use boostfgl_graph::Graph;
use boostfgl_report::{score_fields, score_headings};

/// Which further columns a run writes.
pub(crate) struct FurtherColumns<'a> {
    /// The classes whose probabilities are written; `None` if they are not.
    scored: Option<&'a [String]>,
}

impl<'a> FurtherColumns<'a> {
    /// Those of a configuration.
    pub(crate) fn of(config: &Config, classes: &'a [String]) -> Self {
        Self { scored: config.evaluation.probabilities.then_some(classes) }
    }

    /// The headings, for nodes of this graph.
    pub(crate) fn headings(&self, graph: &Graph) -> Vec<String> {
        let groups = graph.group_columns().iter().map(|column| format!("group:{}", column.name));
        groups.chain(self.scored.into_iter().flat_map(score_headings)).collect()
    }

    /// The fields of node `v`.
    pub(crate) fn fields(
        &self,
        graph: &Graph,
        v: usize,
        probabilities: Option<&[f32]>,
    ) -> Vec<String> {
        let groups = graph.group_columns().iter().map(|column| match column.of_node[v] {
            Some(value) => column.values[value as usize].clone(),
            None => String::new(),
        });
        let scores = probabilities.filter(|_| self.scored.is_some());
        groups.chain(scores.into_iter().flat_map(score_fields)).collect()
    }
}
