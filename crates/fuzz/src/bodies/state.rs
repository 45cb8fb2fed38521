//! What a stopped federation is put back from, and what clients say to it.

use boostfgl::fed::boost::{Boost, BoostConfig};
use boostfgl::fed::config::{Model, Optimizer, Protocol};
use boostfgl::fed::methods::{METHODS, MethodConfigs, MethodInfo};
use boostfgl::fed::{Federation, LocalData, Message, Setup};
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

/// A small federation that nothing has happened to.
fn federation(method: &'static MethodInfo) -> Federation<f32> {
    let (graph, partition) = ring();
    let boosts = if method.name == "boostfgl" { Boost::ALL.to_vec() } else { Vec::new() };
    let setup = Setup {
        seed: 0,
        method,
        boosts,
        protocol: Protocol { rounds: ROUNDS, ..Protocol::default() },
        model: Model { hidden: 2, ..Model::default() },
        optimizer: Optimizer::default(),
        boost: BoostConfig::default(),
        methods: small(),
        minority_ratio: 0.5,
        screen: Default::default(),
        aggregation: Default::default(),
        attack: Default::default(),
    };
    let data = partition.client_graphs(graph).iter().map(LocalData::new).collect();
    Federation::new(setup, data).expect("the setup is sound")
}

/// Settings under which methods remember little.
fn small() -> MethodConfigs {
    let mut methods = MethodConfigs::default();
    methods.fedtad.pseudo_nodes = 4;
    methods.fedtad.neighbours = 2;
    methods.fedtad.noise = 2;
    methods.fedspray.width = 2;
    methods
}

/// The first line is the name of the method. A state that is accepted must also carry to the end.
pub(crate) fn state(input: &[u8]) -> String {
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let Some(method) = METHODS.iter().find(|method| method.name.as_bytes() == &input[..end]) else {
        return "no method".to_owned();
    };
    let state = [input.get(end + 1..).unwrap_or_default(), rest(method)].concat();
    let mut ledger = Ledger::restoring(&state);
    let mut course = match federation(method).resume(&mut ledger, &mut []) {
        Ok(course) => course,
        Err(error) => return error.to_string(),
    };
    while !course.is_over() {
        if let Err(error) = course.step(&mut []) {
            return error.to_string();
        }
    }
    course.finish();
    "ok".to_owned()
}

/// The name of each method, and as much of its state as is a seed.
pub(crate) fn states() -> Vec<(&'static str, Vec<u8>)> {
    let seed = |method: &&'static MethodInfo| {
        let mut state = whole(method);
        state.truncate(state.len() - rest(method).len());
        (method.name, [method.name.as_bytes(), b"\n", &state].concat())
    };
    METHODS.iter().map(seed).collect()
}

/// The state of a method after one round.
fn whole(method: &'static MethodInfo) -> Vec<u8> {
    let mut course = federation(method).begin(&mut []).expect("twelve nodes can be prepared for");
    course.step(&mut []).expect("twelve nodes can be trained on");
    let mut bytes = Vec::new();
    course.keep(&mut Ledger::saving(&mut bytes)).expect("memory can be written");
    bytes
}

/// What of the state of a method is not in its seed. The generator of FedTAD has half a megabyte of weights whatever the
/// settings, more than an input may have: of them all but the first are always as they were.
fn rest(method: &MethodInfo) -> &'static [u8] {
    static REST: OnceLock<Vec<u8>> = OnceLock::new();
    if method.name != "fedtad" {
        return &[];
    }
    REST.get_or_init(|| {
        let fedtad = METHODS.iter().find(|method| method.name == "fedtad").expect("it is in the registry");
        whole(fedtad).split_off(SEED)
    })
}

/// Bytes of a state that are a seed, if it is long.
const SEED: usize = 6000;

pub(crate) fn message(input: &[u8]) -> String {
    let mut message = Message::<f32>::default();
    super::said(message.keep(&mut Ledger::restoring(input)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_state_of_every_method_is_taken() {
        let _alone = crate::alone();
        for method in METHODS {
            let path = crate::seeds::folder().join("state").join(method.name);
            let seed = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert_eq!(state(&seed), "ok", "{}", method.name);
        }
    }
}
