//! The graphs of the oracles (`toy.py --write graphs`): 90 nodes, 6 features, 4 classes, 3 clients.

use super::folder;
use super::state::State;
use boostfgl_fed::config::{Model, Optimizer, Protocol};
use boostfgl_fed::{ClientRecord, Federation, LocalData, RoundRecord, Setup};
use boostfgl_graph::{Adjacency, Features, Graph, Labels, Role, Split};
use boostfgl_nn::backbones::{Architecture, Backbone, Gcn};
use boostfgl_nn::{Inputs, Matrix, Params};
use boostfgl_partition::Partition;
use serde_json::{Value, json};

pub(super) const CLIENTS: usize = 3;
pub(super) const CLASSES: usize = 4;
pub(super) const FEATURES: usize = 6;
pub(super) const HIDDEN: usize = 5;

/// A file of comma-separated values without its header.
fn table(name: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(folder().join("graphs").join(name)).unwrap();
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// The data of the clients of a graph. Features are read as f64: f32 cannot represent their decimal
/// fractions.
pub(super) fn data(graph: &str) -> Vec<LocalData<f64>> {
    let nodes = table(&format!("{graph}/nodes.csv"));
    let number = |x: &String| x.parse::<f64>().unwrap();
    let features: Vec<f64> = nodes.iter().flat_map(|row| row[2..].iter().map(number)).collect();
    let labels: Vec<i64> = nodes.iter().map(|row| row[1][1..].parse().unwrap()).collect();
    let edges: Vec<(u32, u32)> = table(&format!("{graph}/edges.csv"))
        .iter()
        .map(|row| (row[0].parse().unwrap(), row[1].parse().unwrap()))
        .collect();
    let (adjacency, _) = Adjacency::from_edges(nodes.len(), &edges, None, false).unwrap();
    let single = features.iter().map(|x| *x as f32).collect();
    let single = Features::dense(nodes.len(), FEATURES, single).unwrap();
    let whole =
        Graph::new(graph, adjacency, single, Labels::from_integers(&labels, CLASSES).unwrap())
            .unwrap();
    let parts = table(&format!("{graph}_partition.csv"));
    let role = |row: &Vec<String>| match &*row[3] {
        "train" => Role::Train,
        "val" => Role::Val,
        _ => Role::Test,
    };
    let assignment = parts.iter().map(|row| row[2].parse().unwrap()).collect();
    let partition =
        Partition::new(CLIENTS, assignment, Split::new(parts.iter().map(role).collect())).unwrap();
    let exact = |client: &boostfgl_partition::ClientGraph| {
        let rows: Vec<f64> = client
            .nodes
            .iter()
            .flat_map(|&v| features[v as usize * FEATURES..][..FEATURES].to_vec())
            .collect();
        Inputs::with_dense_features(
            &client.graph,
            &Matrix::from_rows(client.len(), FEATURES, &rows),
        )
    };
    partition
        .client_graphs(&whole)
        .iter()
        .map(|client| LocalData::with_inputs(client, exact(client)))
        .collect()
}

/// The common settings of all cases.
pub(super) fn setup(method: &str, rounds: usize) -> Setup {
    let mut setup = crate::small::setup(method, &[]);
    setup.protocol = Protocol { rounds, epochs: 2, ..Protocol::default() };
    setup.model = Model { hidden: HIDDEN, dropout: 0.0, ..Model::default() };
    setup.optimizer = Optimizer { learning_rate: 0.01, weight_decay: 5e-4, ..Optimizer::default() };
    setup.methods = Default::default();
    setup.screen.enabled = false;
    setup
}

/// The model that every client starts from.
pub(super) fn initial(setup: &Setup) -> Params<f64> {
    let net =
        Gcn::new(Architecture { inputs: FEATURES, hidden: HIDDEN, classes: CLASSES, layers: 2 });
    Params::glorot(&Backbone::<f64>::shapes(&net), setup.seed)
}

/// A model under the names of the oracles.
pub(super) fn model(params: &Params<f64>) -> Value {
    let row = |tensor: &Matrix<f64>| Value::from(tensor.to_vec());
    let rows = |tensor: &Matrix<f64>| super::state::Table::from(tensor).rows();
    let [w1, b1, w2, b2] = params.tensors() else { panic!("four tensors") };
    json!({ "w1": rows(w1), "b1": row(b1), "w2": rows(w2), "b2": row(b2) })
}

/// The state after a round, and what an observer received.
pub(super) struct Round {
    pub(super) state: State,
    pub(super) clients: Vec<ClientRecord>,
    pub(super) predictions: Vec<u32>,
}

impl Round {
    /// The loss of a client's last epoch; `None` if it was away.
    pub(super) fn loss(&self, client: usize) -> Option<f64> {
        self.clients.iter().find(|record| record.client == client).map(|record| record.loss)
    }
}

/// Runs, and saves the state after every round.
pub(super) fn run(setup: &Setup, data: Vec<LocalData<f64>>) -> Vec<Round> {
    let mut rounds = Vec::new();
    let mut course = Federation::new(setup.clone(), data).unwrap().begin(&mut []).unwrap();
    while !course.is_over() {
        let (mut clients, mut predictions) = (Vec::new(), Vec::new());
        let mut watch = |record: &RoundRecord<'_>| {
            clients = record.clients.to_vec();
            predictions = record.predictions.map(<[u32]>::to_vec).unwrap_or_default();
        };
        course.step(&mut [&mut watch]).unwrap();
        rounds.push(Round { state: State::of(&mut course), clients, predictions });
    }
    rounds
}
