//! The input of a frame: predictions and the properties of nodes.

use boostfgl_graph::{GroupColumn, Labels};

use crate::inputs::{check_lengths, check_nodes};
use crate::{Error, Result};

/// Predictions and everything by which nodes can be grouped. Slices "per node" are indexed by the
/// nodes of the input graph.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The true class per node, and the number of classes C.
    pub truth: &'a Labels,
    /// The predicted class per node.
    pub prediction: &'a [u32],
    /// The nodes that are evaluated, each once: the test nodes. Those without a label cannot be
    /// evaluated and are skipped.
    pub nodes: &'a [u32],
    /// The client that owns each node.
    pub client: &'a [u32],
    /// Per node, whether its class is a minority class; `None` if it is in neither group.
    pub minority: &'a [Option<bool>],
    /// Per node, whether it is heterophilous.
    pub heterophilous: &'a [bool],
    /// Per node, whether its homophily is unknown, since no neighbour has a label.
    pub homophily_unknown: &'a [bool],
    /// Per node, its number of neighbours in the whole graph.
    pub degree: &'a [usize],
    /// Groupings that came with the data.
    pub columns: &'a [GroupColumn],
}

impl Facts<'_> {
    /// Checks every part against the others.
    pub(crate) fn check(&self) -> Result<()> {
        let n = self.truth.len();
        let lengths = [
            ("prediction", self.prediction.len()),
            ("client", self.client.len()),
            ("minority", self.minority.len()),
            ("heterophilous", self.heterophilous.len()),
            ("unknown homophily", self.homophily_unknown.len()),
            ("degree", self.degree.len()),
        ];
        let columns =
            self.columns.iter().map(|column| (column.name.as_str(), column.of_node.len()));
        check_lengths(n, lengths.into_iter().chain(columns))?;
        for column in self.columns {
            if let Some(value) = column
                .of_node
                .iter()
                .flatten()
                .find(|value| **value as usize >= column.values.len())
            {
                let expected = format!("a value below {}", column.values.len());
                return Err(Error::inconsistent(
                    format!("group column `{}`", column.name),
                    expected,
                    value,
                ));
            }
        }
        check_nodes(self.nodes, self.truth, self.prediction)
    }

    /// The evaluated nodes that have a label: node, truth, prediction.
    pub(crate) fn evaluated(&self) -> impl Iterator<Item = (usize, u32, u32)> + '_ {
        self.nodes.iter().filter_map(|&node| {
            let v = node as usize;
            Some((v, self.truth.get(v)?, self.prediction[v]))
        })
    }
}
