//! A run that was stopped after any round and resumed ends with the same bits as an uninterrupted
//! one. A method whose `visit` leaves out part of its state fails here.

use crate::runs::succeeded;
use crate::small::{NARROW, WORDS, graph, partition, setup};
use crate::{Suite, assert_same};
use boostfgl_fed::boost::Boost;
use boostfgl_fed::boost::topology::ScoringPropagation;
use boostfgl_fed::config::{OptimizerKind, OptimizerState, ReportedRound};
use boostfgl_fed::{
    ClientRecord, Federation, LocalData, Outcome, Refusal, Registry, RoundRecord, Setup, Training,
};
use boostfgl_nn::backbones::BACKBONES;
use boostfgl_nn::{Real, StateVisitor};

/// After every round, with all clients and with half of them, and with rare evaluation.
pub fn after_every_round(suite: &Suite<'_>) {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let data = || suite.data(&graph, &partition);
    for case in suite.cases() {
        let mut setup = case.setup.clone();
        stopped(&setup, data, suite.registry, &case.what);
        // With partial participation client state lasts for several rounds. With rare evaluation
        // fewer results are cached at the start of a round.
        (setup.protocol.participation, setup.protocol.eval_every) = (0.5, 2);
        (setup.protocol.rounds, setup.protocol.report) = (5, ReportedRound::BestVal);
        let what = format!("{}, half of the clients", case.what);
        stopped(&setup, data, suite.registry, &what);
    }
}

/// With optimisers that keep state between rounds and others that do not, on dense features.
pub fn any_optimiser(suite: &Suite<'_>) {
    let graph = graph(NARROW);
    let partition = partition(&graph);
    for case in suite.cases() {
        for (kind, momentum, state) in [
            (OptimizerKind::Sgd, 0.9, OptimizerState::Keep),
            (OptimizerKind::Adam, 0.0, OptimizerState::Reset),
        ] {
            let mut setup = case.setup.clone();
            (setup.optimizer.optimizer, setup.optimizer.momentum) = (kind, momentum);
            (setup.optimizer.optimizer_state, setup.protocol.epochs) = (state, 2);
            let what = format!("{}, {kind:?}, {state:?}", case.what);
            stopped(&setup, || suite.data(&graph, &partition), suite.registry, &what);
        }
    }
}

/// On every backbone that the method runs on, with all boosts that it accepts.
pub fn every_backbone(suite: &Suite<'_>) {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let data = || suite.data(&graph, &partition);
    for backbone in BACKBONES {
        let mut setup = setup(suite.method, &suite.accepted());
        setup.model.backbone = backbone.name.into();
        setup.protocol.rounds = 2;
        if Federation::with_registry(setup.clone(), data(), suite.registry).is_ok() {
            let what = format!("{} on {}", suite.method.name, backbone.name);
            stopped(&setup, data, suite.registry, &what);
        }
    }
}

/// β of a client's last round is part of the state if it scores the next round.
pub fn scoring_with_last_messages(suite: &Suite<'_>) {
    let accepted = suite.accepted();
    if !accepted.contains(&Boost::Topology) {
        return;
    }
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let mut setup = setup(suite.method, &accepted);
    setup.boost.topology.scoring_propagation = ScoringPropagation::Boosted;
    (setup.protocol.participation, setup.protocol.eval_every, setup.protocol.rounds) = (0.5, 2, 4);
    stopped(&setup, || suite.data(&graph, &partition), suite.registry, suite.method.name);
}

/// Stops a run after every round and resumes it.
///
/// # Panics
/// If models, predictions, bytes or what observers receive differ from those of a run that was not
/// stopped.
pub fn stopped<T: Real>(
    setup: &Setup,
    data: impl Fn() -> Vec<LocalData<T>>,
    registry: &Registry<T>,
    what: &str,
) {
    let (whole, rounds, states) = undisturbed(setup, data(), registry);
    for (done, state) in states.iter().enumerate() {
        let what = format!("{what}, stopped after {done}");
        let (outcome, rest) = resumed(setup, data(), registry, state, &what);
        assert_same(&whole, &outcome, &what);
        let bytes = |outcome: &Outcome<T>| (outcome.bytes_up, outcome.bytes_down);
        assert_eq!(bytes(&whole), bytes(&outcome), "{what}: bytes");
        assert!(rounds[done..] == rest, "{what}: what observers see differs");
    }
}

/// The state of a run after every round but the last.
///
/// # Panics
/// If the run ends with an error.
pub fn states<T: Real>(
    setup: &Setup,
    data: Vec<LocalData<T>>,
    registry: &Registry<T>,
) -> Vec<Vec<u8>> {
    undisturbed(setup, data, registry).2
}

/// What observers received of a round, without wall-clock times.
#[derive(Debug, PartialEq)]
struct Seen {
    round: usize,
    loss: f64,
    clients: Vec<ClientRecord>,
    refused: Vec<Refusal>,
    predictions: Option<Vec<u32>>,
    val_accuracy: Option<f64>,
}

fn seen(record: &RoundRecord<'_>) -> Seen {
    let timeless = |client: &ClientRecord| ClientRecord { seconds: 0.0, ..client.clone() };
    Seen {
        round: record.round,
        loss: record.loss,
        clients: record.clients.iter().map(timeless).collect(),
        refused: record.refused.to_vec(),
        predictions: record.predictions.map(<[u32]>::to_vec),
        val_accuracy: record.val_accuracy,
    }
}

fn saved<T: Real>(course: &mut Training<T>) -> Vec<u8> {
    let mut bytes = Vec::new();
    succeeded(course.visit(&mut StateVisitor::saving(&mut bytes)), "saving");
    bytes
}

/// Runs, and saves the state after every round but the last.
fn undisturbed<T: Real>(
    setup: &Setup,
    data: Vec<LocalData<T>>,
    registry: &Registry<T>,
) -> (Outcome<T>, Vec<Seen>, Vec<Vec<u8>>) {
    let (mut rounds, mut states) = (Vec::new(), Vec::new());
    let mut watch = |record: &RoundRecord<'_>| rounds.push(seen(record));
    let federation = Federation::with_registry(setup.clone(), data, registry);
    let begun = federation.and_then(|federation| federation.begin(&mut [&mut watch]));
    let mut course = succeeded(begun, setup.method.name);
    while !course.is_over() {
        states.push(saved(&mut course));
        succeeded(course.step(&mut [&mut watch]), setup.method.name);
    }
    (course.finish(), rounds, states)
}

/// Resumes from a state, in a new federation.
fn resumed<T: Real>(
    setup: &Setup,
    data: Vec<LocalData<T>>,
    registry: &Registry<T>,
    state: &[u8],
    what: &str,
) -> (Outcome<T>, Vec<Seen>) {
    let mut rounds = Vec::new();
    let mut watch = |record: &RoundRecord<'_>| rounds.push(seen(record));
    let mut visitor = StateVisitor::restoring(state);
    let federation = Federation::with_registry(setup.clone(), data, registry);
    let resumed =
        federation.and_then(|federation| federation.resume(&mut visitor, &mut [&mut watch]));
    let mut course = succeeded(resumed, what);
    assert_eq!(visitor.unread(), 0, "{what}: not everything that was saved is restored");
    assert!(saved(&mut course) == state, "{what}: a restored state that is saved again differs");
    while !course.is_over() {
        succeeded(course.step(&mut [&mut watch]), what);
    }
    (course.finish(), rounds)
}
