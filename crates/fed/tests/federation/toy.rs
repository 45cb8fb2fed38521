//! The toy federation of the golden fixtures: 12 nodes, 2 clients (see `tests/golden/README.md`).

use boostfgl_fed::boost::{Boost, BoostConfig, model, topology};
use boostfgl_fed::config::{Model, Optimizer, Protocol};
use boostfgl_fed::methods::{self, MethodConfigs};
use boostfgl_fed::{LocalData, Setup};
use boostfgl_graph::{Adjacency, Features, Graph, Labels, Role, Split};
use boostfgl_nn::backbones::{Architecture, Backbone, Gcn};
use boostfgl_nn::{Inputs, Matrix, Params};
use boostfgl_partition::{ClientGraph, Partition};
use serde_json::Value;

pub(crate) const TOLERANCE: f64 = 1e-10;

pub(crate) fn golden(name: &str) -> Value {
    let path = format!("{}/tests/golden/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

pub(crate) fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        Value::Bool(b) => vec![f64::from(u8::from(*b))],
        other => vec![other.as_f64().unwrap()],
    }
}

pub(crate) fn indices(value: &Value) -> Vec<u32> {
    numbers(value).into_iter().map(|x| x as u32).collect()
}

pub(crate) fn assert_close(found: &[f64], expected: &Value, what: &str) {
    let expected = numbers(expected);
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (a, b)) in found.iter().zip(&expected).enumerate() {
        assert!((a - b).abs() < TOLERANCE, "{what}[{i}]: {a} is not {b}");
    }
}

pub(crate) fn graph() -> Graph {
    let toy = golden("graph");
    let edges: Vec<(u32, u32)> =
        indices(&toy["undirected_edges"]).chunks(2).map(|e| (e[0], e[1])).collect();
    let features = numbers(&toy["features"]).into_iter().map(|x| x as f32).collect();
    let labels: Vec<i64> = numbers(&toy["labels"]).into_iter().map(|x| x as i64).collect();
    let (adjacency, _) = Adjacency::from_edges(12, &edges, None, false).unwrap();
    let features = Features::dense(12, 4, features).unwrap();
    Graph::new("toy", adjacency, features, Labels::from_integers(&labels, 3).unwrap()).unwrap()
}

pub(crate) fn partition() -> Partition {
    let toy = golden("graph");
    let role = |x: f64| [Role::Train, Role::Val, Role::Test][x as usize];
    let split = Split::new(numbers(&toy["split"]).into_iter().map(role).collect());
    Partition::new(2, indices(&toy["client"]), split).unwrap()
}

pub(crate) fn clients() -> Vec<ClientGraph> {
    partition().client_graphs(&graph())
}

/// Clients with features as the fixture prints them: f32 could not hold its decimal fractions.
pub(crate) fn exact_data() -> Vec<LocalData<f64>> {
    let all = numbers(&golden("graph")["features"]);
    let exact = |client: &ClientGraph| {
        let rows: Vec<f64> =
            client.nodes.iter().flat_map(|&v| all[v as usize * 4..][..4].to_vec()).collect();
        Inputs::with_dense_features(&client.graph, &Matrix::from_rows(client.nodes.len(), 4, &rows))
    };
    clients().iter().map(|c| LocalData::with_inputs(c, exact(c))).collect()
}

pub(crate) fn backbone() -> Gcn {
    Gcn::new(Architecture { inputs: 4, hidden: 5, classes: 3, layers: 2 })
}

pub(crate) fn params(theta: &Value) -> Params<f64> {
    let shapes = Backbone::<f64>::shapes(&backbone());
    let tensors = ["W1", "b1", "W2", "b2"].iter().zip(&shapes);
    let tensors =
        tensors.map(|(t, s)| Matrix::from_rows(s.rows, s.columns, &numbers(&theta[t]))).collect();
    Params::from_tensors(&shapes, tensors)
}

pub(crate) fn assert_params(found: &Params<f64>, expected: &Value, what: &str) {
    for (tensor, name) in found.tensors().iter().zip(["W1", "b1", "W2", "b2"]) {
        assert_close(&tensor.to_vec(), &expected[name], &format!("{what} {name}"));
    }
}

/// The setting of `trajectory.json`.
pub(crate) fn setup(boosts: &[Boost], rounds: usize) -> Setup {
    Setup {
        seed: 0,
        method: methods::find("fedavg").unwrap(),
        boosts: boosts.to_vec(),
        protocol: Protocol { rounds, ..Protocol::default() },
        model: Model { hidden: 5, dropout: 0.0, ..Model::default() },
        optimizer: Optimizer { learning_rate: 0.05, ..Optimizer::default() },
        boost: BoostConfig {
            model: model::Config {
                gap_minority: model::GapMinority::Global,
                minority_ratio: 0.2,
                ..model::Config::default()
            },
            topology: topology::Config::default(),
            ..BoostConfig::default()
        },
        methods: MethodConfigs::default(),
        screen: Default::default(),
        aggregation: Default::default(),
        attack: Default::default(),
    }
}
