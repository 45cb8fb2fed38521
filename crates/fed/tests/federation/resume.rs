//! A run that was stopped after any round and resumed ends with the same bits as an uninterrupted
//! one, for every method of the registry. A method whose `visit` leaves out part of its state fails
//! here.

use crate::conformance::NARROW;
use crate::every::for_all;
use crate::small::*;
use boostfgl_fed::attack::Kind;
use boostfgl_fed::boost::Boost;
use boostfgl_fed::boost::topology::ScoringPropagation;
use boostfgl_fed::config::{OptimizerKind, OptimizerState, ReportedRound};
use boostfgl_fed::methods::METHODS;
use boostfgl_fed::{
    ClientRecord, Federation, LocalData, Outcome, Refusal, RoundRecord, Rule, Setup, Training,
};
use boostfgl_nn::backbones::BACKBONES;
use boostfgl_nn::{Error, Real, StateVisitor};

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
    course.visit(&mut StateVisitor::saving(&mut bytes)).unwrap();
    bytes
}

/// Runs, and saves the state after every round but the last.
fn undisturbed<T: Real>(
    setup: &Setup,
    data: Vec<LocalData<T>>,
) -> (Outcome<T>, Vec<Seen>, Vec<Vec<u8>>) {
    let (mut rounds, mut states) = (Vec::new(), Vec::new());
    let mut watch = |record: &RoundRecord<'_>| rounds.push(seen(record));
    let mut course =
        Federation::new(setup.clone(), data).unwrap().begin(&mut [&mut watch]).unwrap();
    while !course.is_over() {
        states.push(saved(&mut course));
        course.step(&mut [&mut watch]).unwrap();
    }
    (course.finish(), rounds, states)
}

/// Resumes from a state, in a new federation.
fn resumed<T: Real>(
    setup: &Setup,
    data: Vec<LocalData<T>>,
    state: &[u8],
) -> (Outcome<T>, Vec<Seen>) {
    let mut rounds = Vec::new();
    let mut watch = |record: &RoundRecord<'_>| rounds.push(seen(record));
    let mut visitor = StateVisitor::restoring(state);
    let mut course = Federation::new(setup.clone(), data)
        .unwrap()
        .resume(&mut visitor, &mut [&mut watch])
        .unwrap();
    assert_eq!(visitor.unread(), 0, "everything that was saved is restored");
    assert!(saved(&mut course) == state, "a restored state that is saved again differs");
    while !course.is_over() {
        course.step(&mut [&mut watch]).unwrap();
    }
    (course.finish(), rounds)
}

fn check(setup: &Setup, data: impl Fn() -> Vec<LocalData<f32>>, what: &str) {
    let (whole, rounds, states) = undisturbed(setup, data());
    for (done, state) in states.iter().enumerate() {
        let (outcome, rest) = resumed(setup, data(), state);
        assert_same(&whole, &outcome, &format!("{what}, stopped after {done}"));
        assert_eq!(
            (whole.bytes_up, whole.bytes_down),
            (outcome.bytes_up, outcome.bytes_down),
            "{what}"
        );
        assert!(rounds[done..] == rest, "{what}, stopped after {done}: what observers see differs");
    }
}

#[test]
fn a_stopped_run_ends_with_the_same_bits() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for_all(|method, mut setup, what| {
        check(&setup, || data(method.name, &graph, &partition), what);
        // With partial participation client state lasts for several rounds. With rare evaluation
        // fewer results are cached at the start of a round.
        (setup.protocol.participation, setup.protocol.eval_every) = (0.5, 2);
        (setup.protocol.rounds, setup.protocol.report) = (5, ReportedRound::BestVal);
        check(
            &setup,
            || data(method.name, &graph, &partition),
            &format!("{what}, half of the clients"),
        );
    });
}

#[test]
fn a_stopped_run_ends_with_the_same_bits_whatever_the_optimiser_and_features() {
    let graph = graph(NARROW);
    let partition = partition(&graph);
    for_all(|method, setup, what| {
        for (kind, momentum, state) in [
            (OptimizerKind::Sgd, 0.9, OptimizerState::Keep),
            (OptimizerKind::Adam, 0.0, OptimizerState::Reset),
        ] {
            let mut setup = setup.clone();
            (setup.optimizer.optimizer, setup.optimizer.momentum) = (kind, momentum);
            (setup.optimizer.optimizer_state, setup.protocol.epochs) = (state, 2);
            check(
                &setup,
                || data(method.name, &graph, &partition),
                &format!("{what}, {kind:?}, {state:?}"),
            );
        }
    });
}

#[test]
fn a_stopped_run_ends_with_the_same_bits_on_every_backbone() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for method in METHODS {
        for backbone in BACKBONES {
            let boosts: Vec<Boost> =
                Boost::ALL.into_iter().filter(|&b| (method.refuses)(b).is_none()).collect();
            let mut setup = setup(method.name, &boosts);
            setup.model.backbone = backbone.name.into();
            setup.protocol.rounds = 2;
            let data = || data(method.name, &graph, &partition);
            if Federation::<f32>::new(setup.clone(), data()).is_ok() {
                check(&setup, data, &format!("{} on {}", method.name, backbone.name));
            }
        }
    }
}

/// β of a client's last round is part of the state if it scores the next round.
#[test]
fn a_stopped_run_that_scores_with_its_last_messages_ends_with_the_same_bits() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for method in METHODS.iter().filter(|method| (method.refuses)(Boost::Topology).is_none()) {
        let boosts: Vec<Boost> =
            Boost::ALL.into_iter().filter(|&b| (method.refuses)(b).is_none()).collect();
        let mut setup = setup(method.name, &boosts);
        setup.boost.topology.scoring_propagation = ScoringPropagation::Boosted;
        (setup.protocol.participation, setup.protocol.eval_every, setup.protocol.rounds) =
            (0.5, 2, 4);
        check(&setup, || data(method.name, &graph, &partition), method.name);
    }
}

/// The fingerprints of accepted updates and the updates that attackers replay are part of the
/// state.
#[test]
fn a_stopped_run_under_attack_ends_with_the_same_bits() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for method in ["fedavg", "fedgta", "fairfgl"] {
        for (kind, rule) in [
            (Kind::Replay, Rule::Mean),
            (Kind::Scale, Rule::Mean),
            (Kind::SignFlip, Rule::Median),
            (Kind::TrustLiar, Rule::TrimmedMean),
        ] {
            let mut setup = setup(method, &[Boost::Model]);
            (setup.attack.kind, setup.protocol.rounds) = (kind, 6);
            setup.aggregation.rule = if method == "fedavg" { rule } else { Rule::Mean };
            check(
                &setup,
                || data(method, &graph, &partition),
                &format!("{method}, {kind:?}, {rule:?}"),
            );
        }
    }
}

/// The state of another configuration is refused, and the error names the first difference.
#[test]
fn the_state_of_another_configuration_is_refused() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let data = |method: &str| data::<f32>(method, &graph, &partition);
    let (fedavg, moon) = (setup("fedavg", &[]), setup("moon", &[]));
    let state = undisturbed(&fedavg, data("fedavg")).2.swap_remove(2);
    let refused = |setup: &Setup, state: &[u8]| {
        let federation = Federation::new(setup.clone(), data(setup.method.name)).unwrap();
        match federation.resume(&mut StateVisitor::restoring(state), &mut []) {
            Err(boostfgl_fed::Error::Network(error @ Error::State { .. })) => error.to_string(),
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("it was accepted"),
        }
    };
    assert_eq!(
        refused(&moon, &state),
        "client 0.rule.previous: expected `previous`, found `client 1`"
    );
    let mut wider = fedavg.clone();
    wider.model.hidden += 1;
    let error = refused(&wider, &state);
    assert!(
        error.starts_with("server.global.model.layer1.weight: expected 60 x 17 numbers"),
        "{error}"
    );
    // Truncation at any byte is an error and not a panic.
    for length in (0..state.len()).step_by(97) {
        refused(&fedavg, &state[..length]);
    }
}
