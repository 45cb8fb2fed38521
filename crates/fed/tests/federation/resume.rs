//! A run that was stopped after any round and resumed ends with the same bits as an uninterrupted
//! one, for every method of the registry. A method whose `visit` leaves out part of its state fails
//! here.

use crate::every::for_all_methods;
use crate::small::*;
use boostfgl_conformance::properties::resume::{self, states, stopped};
use boostfgl_fed::attack::Kind;
use boostfgl_fed::boost::Boost;
use boostfgl_fed::{Federation, Registry, Rule, Setup};
use boostfgl_nn::{Error, StateVisitor};

#[test]
fn a_stopped_run_ends_with_the_same_bits() {
    for_all_methods(resume::after_every_round);
}

#[test]
fn a_stopped_run_ends_with_the_same_bits_whatever_the_optimiser_and_features() {
    for_all_methods(resume::any_optimiser);
}

#[test]
fn a_stopped_run_ends_with_the_same_bits_on_every_backbone() {
    for_all_methods(resume::every_backbone);
}

#[test]
fn a_stopped_run_that_scores_with_its_last_messages_ends_with_the_same_bits() {
    for_all_methods(resume::scoring_with_last_messages);
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
            stopped(
                &setup,
                || data::<f32>(method, &graph, &partition),
                &Registry::builtin(),
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
    let state = states(&fedavg, data("fedavg"), &Registry::builtin()).swap_remove(2);
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
