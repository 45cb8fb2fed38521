//! The toy federation of the golden fixtures: 12 nodes, 2 clients, 3 classes, three models.
//!
//! The golden files come from an independent dense float64 implementation in PyTorch
//! autograd. Directed edges are (source, target), sorted by target, then source.

use boostfgl_fairness::diagnostics::{Diagnosis, DiagnosticKind, Diagnostician, Settings, Subject};
use boostfgl_fed::config::Model;
use boostfgl_fed::{Inspected, Inspection, LocalData, Observer, RoundRecord};
use boostfgl_graph::{Labels, Role};
use boostfgl_nn::backbones::Gcn;
use boostfgl_nn::{Params, Propagation};
use boostfgl_testkit::toy;
use serde_json::Value;
use std::borrow::Cow;

pub(crate) use boostfgl_testkit::toy::{TENSORS, params};
pub(crate) use boostfgl_testkit::{TOLERANCE, assert_close, golden, numbers};

/// The numbers of a golden file as positions.
pub(crate) fn indices(value: &Value) -> Vec<usize> {
    numbers(value).into_iter().map(|number| number as usize).collect()
}

/// Flags the nodes in `list` among twelve.
pub(crate) fn flags(list: &[usize]) -> Vec<bool> {
    (0..12).map(|v| list.contains(&v)).collect()
}

/// Everything that inspections of the toy federation lend.
pub(crate) struct Toy {
    pub(crate) data: Vec<LocalData<f64>>,
    pub(crate) thetas: [Params<f64>; 3],
    pub(crate) labels: Labels,
    pub(crate) minority: Vec<Option<bool>>,
    pub(crate) heterophilous: Vec<bool>,
    pub(crate) roles: Vec<Role>,
    model: Model,
    gcn: Gcn,
}

impl Toy {
    /// The fixture itself, with the groups of q = 0.4.
    pub(crate) fn new() -> Self {
        Self::divided(2, toy::owners())
    }

    /// The fixture's nodes with other clients.
    pub(crate) fn divided(clients: usize, owners: Vec<u32>) -> Self {
        let (file, metrics, graph) = (golden("graph"), golden("metrics"), toy::graph());
        let graphs = toy::divided(clients, owners).client_graphs(&graph);
        let exact = |client| LocalData::with_inputs(client, toy::exact_inputs(client));
        let groups = &metrics["results"]["all_nodes"];
        Self {
            data: graphs.iter().map(exact).collect(),
            thetas: ["theta0", "theta1", "theta2"].map(|name| params(&file["params"][name])),
            labels: graph.labels().clone(),
            minority: flags(&indices(&groups["minority"]["0.4"]["nodes"]))
                .into_iter()
                .map(Some)
                .collect(),
            heterophilous: flags(&indices(&groups["hete_global_le"])),
            roles: toy::roles(),
            model: Model { hidden: 5, dropout: 0.0, ..Model::default() },
            gcn: toy::gcn(),
        }
    }

    pub(crate) fn subject(&self) -> Subject<'_> {
        Subject {
            labels: &self.labels,
            training_counts: &[4, 2, 1],
            minority_classes: &[Some(false), Some(true), Some(true)],
            minority: &self.minority,
            heterophilous: &self.heterophilous,
            roles: &self.roles,
            seed: 0,
        }
    }

    pub(crate) fn backbone(&self) -> &Gcn {
        &self.gcn
    }

    /// A client that starts from one of the three models and ends at another, if it takes part;
    /// nothing is boosted and nothing aggregated.
    pub(crate) fn client(
        &self,
        k: usize,
        start: usize,
        trained: Option<usize>,
    ) -> Inspected<'_, f64> {
        let data = &self.data[k];
        Inspected {
            data,
            received: &self.thetas[start],
            start: Cow::Borrowed(&self.thetas[start]),
            trained: trained.map(|t| &self.thetas[t]),
            evaluated: Cow::Borrowed(&self.thetas[trained.unwrap_or(start)]),
            node_weights: None,
            propagation: data.inputs().propagation(),
            size: data.nodes().len() as f64,
            weights: None,
            gap: None,
        }
    }

    /// The round of `trust.json` and `diagnostics.json`: θ₀ goes to θ₁ at the first client and to
    /// θ₂ at the second.
    pub(crate) fn both(&self) -> Vec<Inspected<'_, f64>> {
        vec![self.client(0, 0, Some(1)), self.client(1, 0, Some(2))]
    }

    pub(crate) fn inspection<'a>(
        &'a self,
        round: usize,
        clients: Vec<Inspected<'a, f64>>,
    ) -> Inspection<'a, f64> {
        Inspection { round, rounds: 1, backbone: &self.gcn, model: &self.model, clients }
    }

    /// What one diagnostic finds in some rounds, after which every node is predicted.
    pub(crate) fn diagnose(
        &self,
        which: DiagnosticKind,
        rounds: Vec<Vec<Inspected<'_, f64>>>,
        predicted: &[u32],
    ) -> Diagnosis {
        let mut watching = Diagnostician::new(&[which], self.subject(), Settings::default());
        for (round, clients) in rounds.into_iter().enumerate() {
            watching.inspect(&self.inspection(round + 1, clients));
        }
        let record = RoundRecord {
            round: 1,
            rounds: 1,
            loss: 0.0,
            clients: &[],
            refused: &[],
            predictions: Some(predicted),
            val_accuracy: None,
            seconds: 0.0,
        };
        Observer::<f64>::round(&mut watching, &record).unwrap();
        watching.conclude()
    }
}

/// The predictions of `metrics.json`.
pub(crate) fn predictions() -> Vec<u32> {
    numbers(&golden("metrics")["pred"]).into_iter().map(|class| class as u32).collect()
}

/// The boosted propagation of `edge_scores.json` under the rule `mulgcn` with the paper's sign.
pub(crate) fn boosted(client: &LocalData<f64>) -> Propagation<f64> {
    let scores = golden("edge_scores");
    let dense = &scores["clients"][client.id()]["paper_sign"]["mulgcn"]["propagation_matrix_rows_are_targets"];
    let (dense, plain) = (numbers(dense), client.inputs().propagation());
    let (csr, n) = (plain.csr(), client.len());
    let cell = |v: usize| csr.row_range(v).map(move |at| (v, at));
    let values =
        (0..n).flat_map(cell).map(|(v, at)| dense[v * n + csr.indices()[at] as usize]).collect();
    plain.with_values(values)
}
