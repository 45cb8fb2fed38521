//! From predictions to scores: overall, by group, by client.

use boostfgl_graph::Labels;
use serde::{Deserialize, Serialize};

use crate::inputs::{check_lengths, check_nodes};
use crate::metrics::{BUILTIN, MetricRegistry};
use crate::scores::percent;
use crate::{Confusion, Error, Group, GroupSizes, GroupTable, Percent, Result, Scores};

/// Predictions and everything needed to evaluate them. Slices "per node" are indexed by the nodes
/// of the input graph.
///
/// ```
/// use boostfgl_fairness::Question;
/// use boostfgl_graph::Labels;
///
/// let truth = Labels::from_integers(&[0, 0, 1, 1], 2)?;
/// let answer = Question {
///     truth: &truth,
///     prediction: &[0, 1, 1, 1],
///     nodes: &[0, 1, 2, 3],
///     client: &[0, 0, 0, 1],
///     client_sizes: &[3, 1],
///     minority: &[false, false, true, true].map(Some),
///     heterophilous: &[false, true, true, false],
/// }
/// .evaluate()?;
/// assert_eq!(answer.scores.accuracy.pooled, Some(0.75));
/// assert_eq!(answer.scores.hete_min_f1.present, Some(1.0));
/// // Client 1 has no node of the group: the mean runs over client 0 alone.
/// assert_eq!(answer.scores.hete_min_f1.client, Some(0.5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The true class per node, and the number of classes C.
    pub truth: &'a Labels,
    /// The predicted class per node.
    pub prediction: &'a [u32],
    /// The nodes that are evaluated, each once: the test nodes. Those without a label cannot be
    /// evaluated and are skipped.
    pub nodes: &'a [u32],
    /// The client that owns each node.
    pub client: &'a [u32],
    /// How many nodes of all splits each client has: its weight in the `client` reading.
    pub client_sizes: &'a [usize],
    /// Per node, whether its class is a minority class.
    pub minority: &'a [Option<bool>],
    /// Per node, whether it is heterophilous.
    pub heterophilous: &'a [bool],
}

/// Scores overall, by group and by client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The four headline metrics.
    pub scores: Scores,
    /// Every metric on every group.
    pub groups: GroupTable,
    /// The headline metrics of each client.
    pub clients: Vec<ClientScores>,
}

/// The scores of one client, evaluated on its own nodes alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientScores {
    /// Its number.
    pub client: u32,
    /// How many nodes it has, in all splits.
    pub nodes: usize,
    /// How many evaluated nodes it has in each group.
    pub sizes: GroupSizes,
    /// Its scores; the `client` reading of a single client is its `pooled` one.
    #[serde(flatten)]
    pub scores: Scores,
}

impl Question<'_> {
    /// Evaluates the predictions. Time O(n + K C²) for n evaluated nodes, K clients and C classes;
    /// memory O(n + C²).
    ///
    /// # Errors
    /// If a slice does not have one entry per node, an evaluated node does not exist, its
    /// prediction is not below C, its client not below K, or a client has fewer nodes than
    /// evaluated ones.
    pub fn evaluate(&self) -> Result<Evaluation> {
        self.evaluate_with(&BUILTIN)
    }

    /// The same with the [stored](crate::Metric::stored) metrics of `metrics` on every group.
    ///
    /// # Errors
    /// As [`Question::evaluate`].
    pub fn evaluate_with(&self, metrics: &MetricRegistry) -> Result<Evaluation> {
        let parts = self.check()?;
        let classes = self.truth.classes();
        let mut pooled = empty_tallies(classes);
        let mut tables = Vec::with_capacity(parts.len());
        for (nodes, &size) in parts.iter().zip(self.client_sizes) {
            let mut local = empty_tallies(classes);
            self.count(nodes, &mut local)?;
            for (sum, part) in pooled.iter_mut().zip(&local) {
                sum.merge(part)?;
            }
            tables.push((size as f64, GroupTable::of_one(&local, metrics)));
        }

        let groups = GroupTable::of_all(&pooled, metrics, &tables);
        let clients =
            (0..).zip(&tables).zip(self.client_sizes).map(|((client, (_, table)), &nodes)| {
                ClientScores { client, nodes, sizes: table.sizes(), scores: table.scores() }
            });
        Ok(Evaluation { scores: groups.scores(), clients: clients.collect(), groups })
    }

    /// Counts `nodes` into the groups they belong to.
    fn count(&self, nodes: &[u32], tallies: &mut [Confusion; 6]) -> Result<()> {
        for &node in nodes {
            let v = node as usize;
            let Some(truth) = self.truth.get(v) else { continue };
            for (group, tally) in Group::EVERY.into_iter().zip(&mut *tallies) {
                if group.contains(self.minority[v], self.heterophilous[v]) {
                    tally.add(truth, self.prediction[v])?;
                }
            }
        }
        Ok(())
    }

    /// Checks every part against the others and returns the evaluated nodes of each client.
    fn check(&self) -> Result<Vec<Vec<u32>>> {
        let n = self.truth.len();
        let lengths = [
            ("prediction", self.prediction.len()),
            ("client", self.client.len()),
            ("minority", self.minority.len()),
            ("heterophilous", self.heterophilous.len()),
        ];
        check_lengths(n, lengths)?;
        check_nodes(self.nodes, self.truth, self.prediction)?;
        let mut parts = vec![Vec::new(); self.client_sizes.len()];
        for &node in self.nodes {
            let client = self.client[node as usize];
            let Some(part) = parts.get_mut(client as usize) else {
                let expected = format!("a client below {}", self.client_sizes.len());
                return Err(Error::inconsistent(
                    format!("client of node {node}"),
                    expected,
                    &client,
                ));
            };
            part.push(node);
        }
        for (client, (part, &size)) in parts.iter().zip(self.client_sizes).enumerate() {
            if part.len() > size {
                let expected = format!("at least its {} evaluated nodes", part.len());
                return Err(Error::inconsistent(
                    format!("size of client {client}"),
                    expected,
                    &size,
                ));
            }
        }
        Ok(parts)
    }
}

/// A confusion matrix without a node for each group.
fn empty_tallies(classes: usize) -> [Confusion; 6] {
    std::array::from_fn(|_| Confusion::new(classes))
}

impl Evaluation {
    /// The same in percent, as files hold it; sizes stay counts.
    pub fn percent(self) -> Percent<Self> {
        let clients = self.clients.into_iter();
        Percent(Self {
            scores: self.scores.map(percent),
            groups: self.groups.map(percent),
            clients: clients
                .map(|client| ClientScores { scores: client.scores.map(percent), ..client })
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truth() -> Labels {
        Labels::from_integers(&[0, 1, 1, -1], 2).unwrap()
    }

    fn question(truth: &Labels) -> Question<'_> {
        Question {
            truth,
            prediction: &[0, 1, 0, 1],
            nodes: &[0, 1, 2, 3],
            client: &[0, 0, 1, 1],
            client_sizes: &[2, 2],
            minority: &[Some(false), Some(true), Some(true), Some(false)],
            heterophilous: &[false, false, false, true],
        }
    }

    #[test]
    fn unlabelled_nodes_are_not_evaluated() {
        let answer = question(&truth()).evaluate().unwrap();
        let sizes = answer.groups.sizes();
        assert_eq!((sizes.all, sizes.heterophilous, sizes.minority, sizes.majority), (3, 0, 2, 1));
        assert_eq!(answer.scores.accuracy.pooled, Some(2.0 / 3.0));
        assert_eq!(answer.scores.hete_f1, crate::Readings::default());
    }

    #[test]
    fn the_client_reading_weighs_by_nodes() {
        let truth = truth();
        let answer = Question { client_sizes: &[30, 10], ..question(&truth) }.evaluate().unwrap();
        // Client 0 is right on both nodes, client 1 wrong on its only evaluated one.
        assert_eq!(answer.scores.accuracy.client, Some(0.75));
        assert_eq!(answer.clients[1].scores.accuracy.pooled, Some(0.0));
        assert_eq!((answer.clients[0].nodes, answer.clients[1].sizes.all), (30, 1));
        assert_eq!(answer.percent().0.clients[0].scores.accuracy.client, Some(100.0));
    }

    #[test]
    fn no_node_to_evaluate_is_not_an_error() {
        let truth = truth();
        let answer =
            Question { nodes: &[], client_sizes: &[], ..question(&truth) }.evaluate().unwrap();
        assert_eq!(answer.scores, Scores::default());
        assert!(answer.clients.is_empty());
    }

    #[test]
    fn parts_that_do_not_fit_are_named() {
        let truth = truth();
        let good = question(&truth);
        let cases = [
            (
                Question { prediction: &[0], ..good },
                "prediction: expected 4 entries, one per node, found 1",
            ),
            (
                Question { minority: &[], ..good },
                "minority: expected 4 entries, one per node, found 0",
            ),
            (Question { nodes: &[4], ..good }, "evaluated node: expected a node below 4, found 4"),
            (
                Question { prediction: &[0, 7, 0, 0], ..good },
                "prediction of node 1: expected a class below 2, found 7",
            ),
            (
                Question { client: &[0, 0, 2, 0], ..good },
                "client of node 2: expected a client below 2, found 2",
            ),
            (
                Question { client_sizes: &[1, 2], ..good },
                "size of client 0: expected at least its 2 evaluated nodes, found 1",
            ),
        ];
        for (question, message) in cases {
            assert_eq!(question.evaluate().unwrap_err().to_string(), message);
        }
    }
}
