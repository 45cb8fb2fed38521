//! The toy federation of the golden fixtures: 12 nodes, 2 clients, 3 classes.
//!
//! `tests/golden/{graph,diagnostics,difficulty_ema,edge_scores}.json` come from an independent dense float64
//! implementation in PyTorch autograd. Directed edges are (source, target), sorted by target, then source.

use boostfgl_fed::LocalData;
use boostfgl_graph::{Adjacency, Features, Graph, Labels, Role, Split};
use boostfgl_nn::backbones::{Architecture, Backbone, Gcn};
use boostfgl_nn::{Inputs, Matrix, Params, Propagation};
use boostfgl_partition::{ClientGraph, Partition};
use serde_json::Value;

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

pub(crate) fn indices(value: &Value) -> Vec<u32> {
    numbers(value).into_iter().map(|x| x as u32).collect()
}

pub(crate) fn graph() -> Graph {
    let toy = golden("graph");
    let edges: Vec<(u32, u32)> = indices(&toy["undirected_edges"]).chunks(2).map(|e| (e[0], e[1])).collect();
    let features = numbers(&toy["features"]).into_iter().map(|x| x as f32).collect();
    let labels: Vec<i64> = numbers(&toy["labels"]).into_iter().map(|x| x as i64).collect();
    let (adjacency, _) = Adjacency::from_edges(12, &edges, None, false).unwrap();
    let features = Features::dense(12, 4, features).unwrap();
    Graph::new("toy", adjacency, features, Labels::from_integers(&labels, 3).unwrap()).unwrap()
}

pub(crate) fn roles() -> Vec<Role> {
    numbers(&golden("graph")["split"]).into_iter().map(|x| [Role::Train, Role::Val, Role::Test][x as usize]).collect()
}

/// Clients with features as the fixture prints them: f32 could not hold its decimal fractions.
pub(crate) fn clients() -> Vec<LocalData<f64>> {
    let toy = golden("graph");
    let all = numbers(&toy["features"]);
    let exact = |client: &ClientGraph| {
        let rows: Vec<f64> = client.nodes.iter().flat_map(|&v| all[v as usize * 4..][..4].to_vec()).collect();
        Inputs::with_dense_features(&client.graph, &Matrix::from_rows(client.nodes.len(), 4, &rows))
    };
    let partition = Partition::new(2, indices(&toy["client"]), Split::new(roles())).unwrap();
    partition.client_graphs(&graph()).iter().map(|c| LocalData::with_inputs(c, exact(c))).collect()
}

pub(crate) fn backbone() -> Gcn {
    Gcn::new(Architecture { inputs: 4, hidden: 5, classes: 3, layers: 2 })
}

pub(crate) fn params(theta: &str) -> Params<f64> {
    let theta = &golden("graph")["params"][theta];
    let shapes = Backbone::<f64>::shapes(&backbone());
    let tensors = ["W1", "b1", "W2", "b2"].iter().zip(&shapes);
    let tensors = tensors.map(|(t, s)| Matrix::from_rows(s.rows, s.columns, &numbers(&theta[t]))).collect();
    Params::from_tensors(&shapes, tensors)
}

/// The boosted propagation of `edge_scores.json` under the rule `mulgcn` with the paper's sign.
pub(crate) fn boosted(client: &LocalData<f64>) -> Propagation<f64> {
    let scores = golden("edge_scores");
    let dense = &scores["clients"][client.id()]["paper_sign"]["mulgcn"]["propagation_matrix_rows_are_targets"];
    let (dense, plain) = (numbers(dense), client.inputs().propagation());
    let (csr, n) = (plain.csr(), client.len());
    let cell = |v: usize| csr.row_range(v).map(move |at| (v, at));
    let values = (0..n).flat_map(cell).map(|(v, at)| dense[v * n + csr.indices()[at] as usize]).collect();
    plain.with_values(values)
}
