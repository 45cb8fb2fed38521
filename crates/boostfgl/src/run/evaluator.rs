//! Evaluating predictions under one partition.

use crate::config::HomophilyGraph;
use crate::{Experiment, Result};
use boostfgl_fairness::diagnostics::Subject;
use boostfgl_fairness::metrics::MacroF1;
use boostfgl_fairness::{Classes, Confusion, Evaluation, Facts, Metric as _, Question};
use boostfgl_graph::groups::{Groups, node_homophily};
use boostfgl_graph::{Graph, Role};
use boostfgl_partition::Partition;

/// Evaluates predictions under one partition.
pub(crate) struct Evaluator<'a> {
    graph: &'a Graph,
    partition: &'a Partition,
    client_sizes: Vec<usize>,
    /// The test nodes.
    pub(crate) test: Vec<u32>,
    /// Training nodes per class.
    pub(crate) training_counts: Vec<usize>,
    /// Per class, whether it is a minority class; `None` for a class without a training node.
    pub(crate) minority: Vec<Option<bool>>,
    pub(crate) groups: Groups,
}

impl<'a> Evaluator<'a> {
    pub(crate) fn new(experiment: &'a Experiment, partition: &'a Partition) -> Result<Self> {
        let (graph, section) = (experiment.graph(), &experiment.config().groups);
        let counts = graph.labels().counts(partition.split().nodes(Role::Train));
        let minority = section.minority.classes(&counts, graph.labels().names())?;
        let homophily = match section.homophily_graph {
            HomophilyGraph::Global => experiment.homophily().to_vec(),
            HomophilyGraph::Local => local_homophily(graph, partition),
        };
        let mut client_sizes = vec![0; partition.clients()];
        partition.assignment().iter().for_each(|&k| client_sizes[k as usize] += 1);
        Ok(Self {
            graph,
            partition,
            client_sizes,
            test: partition.split().nodes(Role::Test).map(|v| v as u32).collect(),
            groups: Groups::new(
                &homophily,
                graph.labels(),
                &minority,
                section.homophily_threshold,
            )?,
            training_counts: counts,
            minority,
        })
    }

    /// The information about nodes that diagnostics may read.
    pub(crate) fn subject(&self, seed: u64) -> Subject<'_> {
        Subject {
            labels: self.graph.labels(),
            training_counts: &self.training_counts,
            minority_classes: &self.minority,
            minority: &self.groups.minority,
            heterophilous: &self.groups.heterophilous,
            roles: self.partition.split().roles(),
            seed,
        }
    }

    /// Predictions and everything by which test nodes are grouped; `degree` has one entry per node.
    pub(crate) fn facts<'f>(&'f self, prediction: &'f [u32], degree: &'f [usize]) -> Facts<'f> {
        Facts {
            truth: self.graph.labels(),
            prediction,
            nodes: &self.test,
            client: self.partition.assignment(),
            minority: &self.groups.minority,
            heterophilous: &self.groups.heterophilous,
            homophily_unknown: &self.groups.homophily_unknown,
            degree,
            columns: self.graph.group_columns(),
        }
    }

    /// The scores of predictions on the test nodes.
    pub(crate) fn evaluate(&self, predictions: &[u32]) -> Result<Evaluation> {
        let question = Question {
            truth: self.graph.labels(),
            prediction: predictions,
            nodes: &self.test,
            client: self.partition.assignment(),
            client_sizes: &self.client_sizes,
            minority: &self.groups.minority,
            heterophilous: &self.groups.heterophilous,
        };
        Ok(question.evaluate()?)
    }

    /// Macro-F1 of predictions over all classes on the validation nodes with a label; `None`
    /// without any.
    pub(crate) fn val_macro_f1(&self, predictions: &[u32]) -> Result<Option<f64>> {
        let labels = self.graph.labels();
        let nodes = self.partition.split().nodes(Role::Val);
        let pairs = nodes.filter_map(|v| Some((labels.get(v)?, predictions[v])));
        let confusion = Confusion::from_pairs(self.graph.classes(), pairs)?;
        Ok(MacroF1::EXACT.compute(&confusion, Classes::All).filter(|_| confusion.total() > 0))
    }
}

/// φ of every node among the neighbours it has inside its client.
fn local_homophily(graph: &Graph, partition: &Partition) -> Vec<Option<f64>> {
    let mut all = vec![None; graph.len()];
    for client in partition.client_graphs(graph) {
        for (&v, phi) in client.nodes.iter().zip(node_homophily(&client.graph)) {
            all[v as usize] = phi;
        }
    }
    all
}
