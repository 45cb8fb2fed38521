//! What a stopped federation is put back from, and what clients say to it.

use boostfgl::fed::boost::{Boost, BoostConfig};
use boostfgl::fed::config::{Model, Optimizer, Protocol};
use boostfgl::fed::{Federation, LocalData, Message, Setup, methods};
use boostfgl::graph::{Adjacency, Features, Graph, Labels, Role, Split};
use boostfgl::nn::{Keep, Ledger};
use boostfgl::partition::Partition;
use std::sync::OnceLock;

/// Rounds of the small federation.
const ROUNDS: usize = 2;

/// Twelve nodes on a ring, in two clients.
fn ring() -> &'static (Graph, Partition) {
    static RING: OnceLock<(Graph, Partition)> = OnceLock::new();
    RING.get_or_init(|| {
        let edges: Vec<(u32, u32)> = (0..12).map(|v| (v, (v + 1) % 12)).collect();
        let (adjacency, _) = Adjacency::from_edges(12, &edges, None, false).expect("edges of twelve nodes");
        let labels: Vec<i64> = (0..12).map(|v| v % 2).collect();
        let labels = Labels::from_integers(&labels, 2).expect("labels of two classes");
        let features = Features::dense(12, 2, (0..24).map(|i| (i % 5) as f32).collect()).expect("twelve rows");
        let graph = Graph::new("ring", adjacency, features, labels).expect("the parts agree");
        let split = Split::new((0..12).map(|v| [Role::Train, Role::Val, Role::Test][v % 3]).collect());
        let partition = Partition::new(2, (0..12).map(|v| v / 6).collect(), split).expect("two clients");
        (graph, partition)
    })
}

/// A small federation that nothing has happened to; methods that remember much.
pub(crate) fn federation(method: usize) -> Federation<f32> {
    let (graph, partition) = ring();
    let name = ["boostfgl", "moon", "scaffold"][method % 3];
    let method = methods::find(name).expect("it is in the registry");
    let boosts = if name == "boostfgl" { Boost::ALL.to_vec() } else { Vec::new() };
    let setup = Setup {
        seed: 0,
        method,
        boosts,
        protocol: Protocol { rounds: ROUNDS, ..Protocol::default() },
        model: Model { hidden: 2, ..Model::default() },
        optimizer: Optimizer::default(),
        boost: BoostConfig::default(),
        methods: methods::MethodConfigs::default(),
        minority_ratio: 0.5,
        screen: Default::default(),
        aggregation: Default::default(),
        attack: Default::default(),
    };
    let data = partition.client_graphs(graph).iter().map(LocalData::new).collect();
    Federation::new(setup, data).expect("the setup is sound")
}

/// The first byte chooses the method. A state that is accepted must also carry to the end.
pub(crate) fn state(input: &[u8]) -> String {
    let Some((method, state)) = input.split_first() else { return "empty".to_owned() };
    let mut ledger = Ledger::restoring(state);
    let mut course = match federation(usize::from(*method)).resume(&mut ledger, &mut []) {
        Ok(course) => course,
        Err(error) => return error.to_string(),
    };
    while !course.is_over() {
        if let Err(error) = course.step(&mut []) {
            return error.to_string();
        }
    }
    "ok".to_owned()
}

/// A state of each method after one round.
pub(crate) fn states() -> Vec<Vec<u8>> {
    let state = |method: u8| {
        let mut course = federation(usize::from(method)).begin(&mut []).expect("nothing is prepared");
        course.step(&mut []).expect("twelve nodes can be trained on");
        let mut bytes = vec![method];
        course.keep(&mut Ledger::saving(&mut bytes)).expect("memory can be written");
        bytes
    };
    (0..3).map(state).collect()
}

pub(crate) fn message(input: &[u8]) -> String {
    let mut message = Message::<f32>::default();
    super::said(message.keep(&mut Ledger::restoring(input)))
}
