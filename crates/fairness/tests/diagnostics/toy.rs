//! The toy federation of the golden fixtures: 12 nodes, 2 clients, 3 classes, three models.
//!
//! The files under `tests/golden` come from an independent dense float64 implementation in PyTorch
//! autograd. Directed edges are (source, target), sorted by target, then source.

use boostfgl_fairness::diagnostics::{Diagnosis, DiagnosticKind, Diagnostician, Settings, Subject};
use boostfgl_fed::config::Model;
use boostfgl_fed::{Inspected, Inspection, LocalData, Observer, RoundRecord};
use boostfgl_graph::{Adjacency, Features, Graph, Labels, Role, Split};
use boostfgl_nn::backbones::{Architecture, Backbone, Gcn};
use boostfgl_nn::{Inputs, Matrix, Params, Propagation};
use boostfgl_partition::Partition;
use serde_json::Value;
use std::borrow::Cow;

pub(crate) const TOLERANCE: f64 = 1e-10;

pub(crate) fn golden(name: &str) -> Value {
    let path = format!("{}/tests/golden/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

pub(crate) fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        other => vec![other.as_f64().unwrap()],
    }
}

pub(crate) fn indices(value: &Value) -> Vec<usize> {
    numbers(value).into_iter().map(|x| x as usize).collect()
}

pub(crate) fn assert_close(found: &[f64], expected: &Value, what: &str) {
    let expected = numbers(expected);
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (a, b)) in found.iter().zip(&expected).enumerate() {
        assert!((a - b).abs() < TOLERANCE, "{what}[{i}]: {a} is not {b}");
    }
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
        let owners: Vec<u32> =
            numbers(&golden("graph")["client"]).into_iter().map(|k| k as u32).collect();
        Self::divided(2, owners)
    }

    /// The fixture's nodes with other owners.
    pub(crate) fn divided(clients: usize, owners: Vec<u32>) -> Self {
        let (file, metrics) = (golden("graph"), golden("metrics"));
        let edges: Vec<u32> =
            numbers(&file["undirected_edges"]).into_iter().map(|v| v as u32).collect();
        let edges: Vec<(u32, u32)> = edges.chunks(2).map(|e| (e[0], e[1])).collect();
        let exact = numbers(&file["features"]);
        let (adjacency, _) = Adjacency::from_edges(12, &edges, None, false).unwrap();
        let features = Features::dense(12, 4, exact.iter().map(|&x| x as f32).collect()).unwrap();
        let classes: Vec<i64> = numbers(&file["labels"]).into_iter().map(|x| x as i64).collect();
        let labels = Labels::from_integers(&classes, 3).unwrap();
        let graph = Graph::new("toy", adjacency, features, labels.clone()).unwrap();
        let roles: Vec<Role> = indices(&file["split"])
            .into_iter()
            .map(|role| [Role::Train, Role::Val, Role::Test][role])
            .collect();
        let partition = Partition::new(clients, owners, Split::new(roles.clone())).unwrap();
        let graphs = partition.client_graphs(&graph);
        // The features are decimal fractions, which f32 cannot hold: widen the file's digits, not
        // ours.
        let data = graphs.iter().map(|client| {
            let rows: Vec<f64> =
                client.nodes.iter().flat_map(|&v| exact[v as usize * 4..][..4].to_vec()).collect();
            let matrix = Matrix::from_rows(client.nodes.len(), 4, &rows);
            LocalData::with_inputs(client, Inputs::with_dense_features(&client.graph, &matrix))
        });
        let groups = &metrics["results"]["all_nodes"];
        let gcn = Gcn::new(Architecture { inputs: 4, hidden: 5, classes: 3, layers: 2 });
        Self {
            data: data.collect(),
            thetas: ["theta0", "theta1", "theta2"].map(|name| params(&gcn, &file["params"][name])),
            labels,
            minority: flags(&indices(&groups["minority"]["0.4"]["nodes"]))
                .into_iter()
                .map(Some)
                .collect(),
            heterophilous: flags(&indices(&groups["hete_global_le"])),
            roles,
            model: Model { hidden: 5, dropout: 0.0, ..Model::default() },
            gcn,
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
            judged: Cow::Borrowed(&self.thetas[trained.unwrap_or(start)]),
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

pub(crate) const TENSORS: [&str; 4] = ["W1", "b1", "W2", "b2"];

pub(crate) fn params(gcn: &Gcn, theta: &Value) -> Params<f64> {
    let shapes = Backbone::<f64>::shapes(gcn);
    let tensor = |(t, shape): (&str, &boostfgl_nn::TensorShape)| {
        Matrix::from_rows(shape.rows, shape.columns, &numbers(&theta[t]))
    };
    Params::from_tensors(&shapes, TENSORS.into_iter().zip(&shapes).map(tensor).collect())
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
