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
    /// Evaluates the predictions. Time and memory O(n + K C²) for n evaluated nodes, K clients and C
    /// classes.
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
        let mut clients = Vec::with_capacity(parts.len());
        for ((client, nodes), &size) in (0..).zip(&parts).zip(self.client_sizes) {
            let mut tallies = empty_tallies(self.truth.classes());
            self.count(nodes, &mut tallies)?;
            clients.push(ClientTallies { client, nodes: size, tallies });
        }
        Evaluation::of_tallies_with(self.truth.classes(), &clients, metrics)
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

/// What one client counted on its own evaluated nodes: a confusion matrix for every [`Group`], in
/// the order of [`Group::EVERY`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientTallies {
    /// Its number.
    pub client: u32,
    /// How many nodes it has, in all splits: its weight in the `client` reading.
    pub nodes: usize,
    /// The counts.
    pub tallies: [Confusion; 6],
}

impl ClientTallies {
    /// The counts of a client that counted classes by homophily alone: `heterophilous` nodes and
    /// the `others`. Whether a class is a minority class is known of every class, so that all
    /// groups follow.
    ///
    /// # Errors
    /// If there is not one flag per class, or the matrices have other numbers of classes.
    pub fn new(
        client: u32,
        nodes: usize,
        heterophilous: &Confusion,
        others: &Confusion,
        minority: &[Option<bool>],
    ) -> Result<Self> {
        let classes = minority.len();
        let mut tallies = empty_tallies(classes);
        for (group, tally) in Group::EVERY.into_iter().zip(&mut tallies) {
            for (counts, is_heterophilous) in [(heterophilous, true), (others, false)] {
                if counts.classes() != classes {
                    let expected = format!("{classes} classes, one flag each");
                    return Err(Error::inconsistent("counts", expected, &counts.classes()));
                }
                let is_in = |class: usize| group.contains(minority[class], is_heterophilous);
                tally.merge(&counts.of_classes(is_in))?;
            }
        }
        Ok(Self { client, nodes, tallies })
    }
}

impl Evaluation {
    /// Scores from what each client counted: for clients whose predictions stay with them.
    ///
    /// # Errors
    /// If a client counted another number of classes.
    pub fn of_tallies(classes: usize, clients: &[ClientTallies]) -> Result<Self> {
        Self::of_tallies_with(classes, clients, &BUILTIN)
    }

    /// The same with the [stored](crate::Metric::stored) metrics of `metrics` on every group.
    ///
    /// # Errors
    /// As [`Evaluation::of_tallies`].
    pub fn of_tallies_with(
        classes: usize,
        clients: &[ClientTallies],
        metrics: &MetricRegistry,
    ) -> Result<Self> {
        let mut pooled = empty_tallies(classes);
        let mut tables = Vec::with_capacity(clients.len());
        for ClientTallies { nodes, tallies, .. } in clients {
            for (sum, part) in pooled.iter_mut().zip(tallies) {
                sum.merge(part)?;
            }
            tables.push((*nodes as f64, GroupTable::of_one(tallies, metrics)));
        }
        let groups = GroupTable::of_all(&pooled, metrics, &tables);
        let scores = clients.iter().zip(&tables).map(|(counted, (_, table))| {
            let ClientTallies { client, nodes, .. } = *counted;
            ClientScores { client, nodes, sizes: table.sizes(), scores: table.scores() }
        });
        Ok(Self { scores: groups.scores(), clients: scores.collect(), groups })
    }

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

    /// Counts of two groups per client are enough for every score.
    #[test]
    fn counts_of_clients_give_what_predictions_give() {
        let classes = 3;
        let n = 90;
        let class = |v: u32, salt: u32| (v * 7919 + salt * 104_729) % 31 % classes;
        let truth = Labels::new((0..n).map(|v| Some(class(v, 1))), names(classes)).unwrap();
        let minority_classes = [Some(false), Some(true), None];
        let prediction: Vec<u32> = (0..n).map(|v| class(v, 2)).collect();
        let minority: Vec<Option<bool>> =
            (0..n).map(|v| minority_classes[class(v, 1) as usize]).collect();
        let heterophilous: Vec<bool> = (0..n).map(|v| v % 3 == 0).collect();
        let nodes: Vec<u32> = (0..n).filter(|v| v % 4 != 1).collect();
        let client: Vec<u32> = (0..n).map(|v| v / 40).collect();
        let question = Question {
            truth: &truth,
            prediction: &prediction,
            nodes: &nodes,
            client: &client,
            client_sizes: &[40, 40, 10],
            minority: &minority,
            heterophilous: &heterophilous,
        };
        let clients: Vec<ClientTallies> = (0..3)
            .map(|k| {
                let pairs = |wanted: bool| {
                    let own = nodes.iter().filter(|v| client[**v as usize] == k);
                    let group = own.filter(|v| heterophilous[**v as usize] == wanted);
                    let pairs = group.map(|v| (class(*v, 1), class(*v, 2)));
                    Confusion::from_pairs(classes as usize, pairs).unwrap()
                };
                let size = question.client_sizes[k as usize];
                ClientTallies::new(k, size, &pairs(true), &pairs(false), &minority_classes).unwrap()
            })
            .collect();
        let found = Evaluation::of_tallies(classes as usize, &clients).unwrap();
        assert_eq!(found, question.evaluate().unwrap());
        let wrong = Confusion::new(2);
        assert!(ClientTallies::new(0, 1, &wrong, &wrong, &minority_classes).is_err());
    }

    fn names(classes: u32) -> Vec<String> {
        (0..classes).map(|class| class.to_string()).collect()
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
