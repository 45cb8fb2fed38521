//! The saved state of a federation, and the messages of clients.

use boostfgl::fed::boost::{Boost, BoostConfig};
use boostfgl::fed::config::{Model, Optimizer, Protocol};
use boostfgl::fed::methods::{METHODS, MethodConfigs, MethodInfo};
use boostfgl::fed::{Federation, LocalData, Message, RoundRecord, Setup, Training};
use boostfgl::graph::{Adjacency, Features, Graph, Labels, Role, Split};
use boostfgl::nn::{Matrix, StateVisitor, Stateful};
use boostfgl::partition::Partition;
use std::sync::OnceLock;

/// Rounds of the small federation.
const ROUNDS: usize = 2;

/// Twelve nodes on a ring, in two clients.
fn ring() -> &'static (Graph, Partition) {
    static RING: OnceLock<(Graph, Partition)> = OnceLock::new();
    RING.get_or_init(|| {
        let edges: Vec<(u32, u32)> = (0..12).map(|v| (v, (v + 1) % 12)).collect();
        let (adjacency, _) =
            Adjacency::from_edges(12, &edges, None, false).expect("edges of twelve nodes");
        let labels: Vec<i64> = (0..12).map(|v| v % 2).collect();
        let labels = Labels::from_integers(&labels, 2).expect("labels of two classes");
        let features =
            Features::dense(12, 2, (0..24).map(|i| (i % 5) as f32).collect()).expect("twelve rows");
        let graph = Graph::new("ring", adjacency, features, labels).expect("the parts agree");
        let split =
            Split::new((0..12).map(|v| [Role::Train, Role::Val, Role::Test][v % 3]).collect());
        let partition =
            Partition::new(2, (0..12).map(|v| v / 6).collect(), split).expect("two clients");
        (graph, partition)
    })
}

/// A small federation before its first round.
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
        screen: Default::default(),
        aggregation: Default::default(),
        attack: Default::default(),
        transport: Default::default(),
        loss: Default::default(),
        evaluation: String::new(),
        probabilities: false,
    };
    let data = partition.client_graphs(graph).iter().map(LocalData::new).collect();
    Federation::new(setup, data).expect("the setup is sound")
}

/// Settings with which methods have a small state.
fn small() -> MethodConfigs {
    let mut methods = MethodConfigs::default();
    methods.fedtad.pseudo_nodes = 4;
    methods.fedtad.neighbours = 2;
    methods.fedtad.noise = 2;
    methods.fedspray.width = 2;
    methods
}

/// The method named in the first line, and the rest of the input.
fn of_method(input: &[u8]) -> Option<(&'static MethodInfo, &[u8])> {
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let method = METHODS.iter().find(|method| method.name.as_bytes() == &input[..end])?;
    Some((method, input.get(end + 1..).unwrap_or_default()))
}

/// Restores a state. If it is accepted, all remaining rounds must run.
pub(crate) fn state(input: &[u8]) -> String {
    let Some((method, input)) = of_method(input) else { return "no method".to_owned() };
    let state = [input, rest(method)].concat();
    let mut visitor = StateVisitor::restoring(&state);
    match federation(method).resume(&mut visitor, &mut []) {
        Ok(course) => run_to_end(course).unwrap_or_else(|error| error.to_string()),
        Err(error) => error.to_string(),
    }
}

/// Runs the remaining rounds; returns the first refusal of an update, or `ok`.
fn run_to_end(mut course: Training<f32>) -> Result<String, boostfgl::fed::Error> {
    let mut refused = Vec::new();
    while !course.is_over() {
        course.step(&mut [&mut |round: &RoundRecord<'_>| {
            refused.extend(round.refused.iter().map(|refusal| refusal.reason.to_string()));
        }])?;
    }
    course.finish();
    Ok(refused.into_iter().next().unwrap_or_else(|| "ok".to_owned()))
}

/// Changes the upload of one client in the first round. Screen and server refuse or use it, and the
/// run continues to its end. Each three bytes are one change.
pub(crate) fn upload(input: &[u8]) -> String {
    let Some((method, changes)) = of_method(input) else { return "no method".to_owned() };
    let changes: Vec<[u8; 3]> = changes.as_chunks().0.to_vec();
    let result = federation(method).begin(&mut []).and_then(|mut course| {
        course
            .tamper(1, move |message| changes.into_iter().for_each(|bytes| change(message, bytes)));
        run_to_end(course)
    });
    result.unwrap_or_else(|error| error.to_string())
}

/// Usual and unusual numbers of a message.
const NUMBERS: [f64; 12] =
    [0.0, -0.0, 1.0, -1.0, 0.5, 1e-40, 12.0, 1e9, 3e38, -1e300, f64::NAN, f64::INFINITY];

/// One change to a message: kind, place and new value.
fn change(message: &mut Message<f32>, [kind, place, value]: [u8; 3]) {
    let (at, x) = (usize::from(place), NUMBERS[usize::from(value) % NUMBERS.len()]);
    let Message { tensors, numbers, entries } = message;
    // The position in each list; `None` if the list is empty.
    let number = at.checked_rem(numbers.len());
    let tensor = at.checked_rem(tensors.len());
    let entry = at.checked_rem(entries.len());
    match kind % 10 {
        0 => number.into_iter().for_each(|at| numbers[at] = x),
        1 => numbers.insert(at % (numbers.len() + 1), x),
        2 => number.into_iter().for_each(|at| drop(numbers.drain(at..=at))),
        3 => {
            if let Some(tensor) = tensor.map(|at| &mut tensors[at]).filter(|t| t.rows() > 0) {
                let row = usize::from(value) % tensor.rows();
                tensor.row_mut(row).fill(NUMBERS[at % NUMBERS.len()] as f32);
            }
        }
        4 => {
            tensors.insert(at % (tensors.len() + 1), Matrix::zeros(at % 5, usize::from(value) % 5));
        }
        5 => tensor.into_iter().for_each(|at| drop(tensors.remove(at))),
        6 => entry.into_iter().for_each(|i| entries[i].0 = u32::from(value) << (at % 25)),
        7 => entry.into_iter().for_each(|i| entries[i].1 = x as f32),
        8 => entries.push((u32::from(place) << 4, x as f32)),
        _ => drop(entries.pop()),
    }
}

/// An upload in which nothing is changed, and one of each method with a change of every other kind.
pub(crate) fn uploads() -> Vec<(&'static str, Vec<u8>)> {
    let mut changes: Vec<u8> = Vec::new();
    for (kind, at) in [0, 3, 6, 7, 0, 3].into_iter().zip(1u8..) {
        changes.extend([kind, at, 2 * at]);
    }
    METHODS
        .iter()
        .map(|method| (method.name, [method.name.as_bytes(), b"\n", &changes].concat()))
        .chain([("plain", b"fedproto\n".to_vec())])
        .collect()
}

/// The name of each method, and the part of its state that is its seed.
pub(crate) fn states() -> Vec<(&'static str, Vec<u8>)> {
    let mut states = Vec::new();
    for method in METHODS {
        let mut state = whole(method);
        state.truncate(state.len() - rest(method).len());
        states.push((method.name, [method.name.as_bytes(), b"\n", &state].concat()));
    }
    states
}

/// The state of a method after one round.
fn whole(method: &'static MethodInfo) -> Vec<u8> {
    let mut course = federation(method).begin(&mut []).expect("twelve nodes can be prepared for");
    course.step(&mut []).expect("twelve nodes can be trained on");
    let mut bytes = Vec::new();
    course.visit(&mut StateVisitor::saving(&mut bytes)).expect("memory can be written");
    bytes
}

/// The part of the state of a method that is not in its seed. The generator of FedTAD always has
/// half a megabyte of weights, more than an input may have: only the first ones are mutated.
fn rest(method: &MethodInfo) -> &'static [u8] {
    static REST: OnceLock<Vec<u8>> = OnceLock::new();
    if method.name != "fedtad" {
        return &[];
    }
    REST.get_or_init(|| {
        let fedtad =
            METHODS.iter().find(|method| method.name == "fedtad").expect("it is in the registry");
        whole(fedtad).split_off(SEED)
    })
}

/// The length of the seed of a long state.
const SEED: usize = 6000;

pub(crate) fn message(input: &[u8]) -> String {
    let mut message = Message::<f32>::default();
    super::message(message.visit(&mut StateVisitor::restoring(input)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Prototypes that are not finite, or one too many, are refused; others are used.
    #[test]
    fn an_upload_is_changed_before_it_is_screened() {
        let _alone = crate::alone();
        let result = |changes: &[u8]| upload(&[b"fedproto\n", changes].concat());
        assert_eq!(result(b""), "ok");
        assert_eq!(result(&[3, 2, 0]), "ok");
        assert!(result(&[3, 10, 0]).contains("finite"), "{}", result(&[3, 10, 0]));
        assert!(result(&[4, 1, 2]).contains("tensor"), "{}", result(&[4, 1, 2]));
    }

    #[test]
    fn the_committed_state_of_every_method_is_accepted() {
        let _alone = crate::alone();
        for method in METHODS {
            let path = crate::seeds::folder().join("state").join(method.name);
            let seed =
                std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert_eq!(state(&seed), "ok", "{}", method.name);
        }
    }
}
