//! Bad updates are refused, named and left behind; honest ones never are.

use crate::conformance::for_all;
use crate::small::*;
use boostfgl_fed::attack::Kind;
use boostfgl_fed::boost::Boost;
use boostfgl_fed::methods::{self, Layout, METHODS};
use boostfgl_fed::{Error, Federation, LocalData, Outcome, Refusal, RoundRecord, Rule, Setup};
use boostfgl_graph::{Features, Graph, Role, Split};
use boostfgl_nn::{Inputs, Params};

const ATTACKER: usize = CLIENTS - 1;

/// Runs, and returns what was refused as (round, client, kind, text), and who was used in every round.
#[expect(clippy::type_complexity, reason = "the lines of a small table")]
fn screened(setup: &Setup) -> (Result<Outcome<f32>, Error>, Vec<(usize, usize, String, String)>, Vec<Vec<usize>>) {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    screened_on(setup, data(setup.method.name, &graph, &partition))
}

#[expect(clippy::type_complexity, reason = "the lines of a small table")]
fn screened_on(
    setup: &Setup,
    data: Vec<LocalData<f32>>,
) -> (Result<Outcome<f32>, Error>, Vec<(usize, usize, String, String)>, Vec<Vec<usize>>) {
    let (mut refused, mut used) = (Vec::new(), Vec::new());
    let mut observer = |record: &RoundRecord<'_>| {
        let line = |r: &Refusal| (r.round, r.client, r.reason.kind().to_owned(), r.reason.to_string());
        refused.extend(record.refused.iter().map(line));
        used.push(record.clients.iter().map(|client| client.client).collect());
        assert!(record.loss.is_finite());
    };
    let outcome = Federation::new(setup.clone(), data).unwrap().run(&mut [&mut observer]);
    (outcome, refused, used)
}

fn attacked(method: &str, boosts: &[Boost], kind: Kind) -> Setup {
    let mut setup = setup(method, boosts);
    setup.attack.kind = kind;
    setup
}

/// The nine kinds of bad update: all refused by default, with client and reason, and the model stays finite.
#[test]
fn every_bad_update_is_refused_with_its_reason() {
    for (kind, reason, told) in [
        (Kind::Nan, "not-finite", "expected finite numbers, found a model with infinity or NaN"),
        (Kind::Inf, "not-finite", "expected finite numbers, found a model with infinity or NaN"),
        (Kind::Scale, "too-long", "expected an update no longer than "),
        (Kind::WrongShape, "shape", "expected tensors of 60×16, 1×16, 16×4, 1×4, found 60×17, "),
        (Kind::WrongRound, "wrong-round", "expected an update for round 1, found one for round 0"),
        (Kind::WrongSize, "size", "it was enrolled with, found "),
        (Kind::Duplicate, "duplicate", "expected one update in a round, found another"),
        (Kind::WrongGap, "summary", "expected a fairness gap from 0 to 1, found -1"),
    ] {
        let (outcome, refused, used) = screened(&attacked("fedavg", &Boost::ALL, kind));
        let outcome = outcome.unwrap_or_else(|error| panic!("{kind:?}: {error}"));
        assert!(outcome.models.iter().all(Params::is_finite), "{kind:?}");
        let by_round: Vec<(usize, usize, &str)> = refused.iter().map(|(r, c, k, _)| (*r, *c, k.as_str())).collect();
        assert_eq!(by_round, [(1, ATTACKER, reason), (2, ATTACKER, reason), (3, ATTACKER, reason)], "{kind:?}");
        assert!(refused[0].3.contains(told), "{kind:?}: {}", refused[0].3);
        // Of a duplicate the first is used.
        let wanted: Vec<usize> = (0..CLIENTS).filter(|k| kind == Kind::Duplicate || *k != ATTACKER).collect();
        assert!(used.iter().all(|round| *round == wanted), "{kind:?}: {used:?}");
    }
    let (outcome, refused, _) = screened(&attacked("fedavg", &[], Kind::Replay));
    assert!(outcome.is_ok());
    let told = "expected a new update, found its update of round 1 once more";
    let again = |round| (round, ATTACKER, "replay".to_owned(), told.to_owned());
    assert_eq!(refused, [again(2), again(3)]);
}

/// A client whose update is refused leaves no trace: the others' run is as if it had nothing to train on.
#[test]
fn a_refused_client_leaves_no_trace_in_the_model() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let mut clients = partition.client_graphs(&graph);
    let nodes = clients[ATTACKER].graph.len();
    clients[ATTACKER].split = Split::new(vec![Role::None; nodes]);
    let without = run::<f32>(&setup("fedavg", &[]), clients.iter().map(LocalData::new).collect());
    for kind in [Kind::Nan, Kind::Scale, Kind::WrongShape, Kind::WrongSize] {
        let with = run::<f32>(&attacked("fedavg", &[], kind), data("fedavg", &graph, &partition));
        assert!(bits(&with.models) == bits(&without.models), "{kind:?}");
    }
}

/// With and without screening the digits are the same where nobody attacks, and nobody is refused.
#[test]
fn nobody_honest_is_refused_and_no_digit_changes() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for_all(|method, setup, what| {
        for (participation, epochs) in [(1.0, 1), (0.5, 3)] {
            let mut setup = setup.clone();
            (setup.protocol.participation, setup.protocol.epochs) = (participation, epochs);
            let (screened, refused, _) = screened_on(&setup, data(method.name, &graph, &partition));
            assert_eq!(refused, [], "{what}");
            setup.screen.enabled = false;
            assert_same(&screened.unwrap(), &run(&setup, data(method.name, &graph, &partition)), what);
        }
    });
}

/// Without screening one NaN is everywhere: what the screen is there for.
#[test]
fn without_screening_one_bad_update_ruins_the_model() {
    let mut setup = attacked("fedavg", &[], Kind::Nan);
    setup.screen.enabled = false;
    setup.protocol.rounds = 1;
    let (outcome, ..) = screened(&setup);
    assert!(!outcome.unwrap().models[0].is_finite());
}

#[test]
fn a_round_goes_on_down_to_the_quorum() {
    let mut setup = attacked("fedavg", &[], Kind::Nan);
    setup.attack.clients = 2;
    assert!(screened(&setup).0.is_ok());
    setup.attack.clients = 3;
    let error = screened(&setup).0.unwrap_err();
    let told = error.to_string();
    assert!(
        told.starts_with("round 1: expected usable updates of at least 2 of 4 participants, found 1; client 1, "),
        "{told}"
    );
    assert_eq!(told.matches("found a model with infinity or NaN").count(), 3, "{told}");
    assert!(!error.advice().is_empty());
    (setup.attack.clients, setup.screen.quorum) = (1, 1.0);
    assert!(screened(&setup).0.is_err());
}

/// A deadline that nobody meets ends the run, one that everybody meets changes nothing.
#[test]
fn who_is_late_is_refused() {
    let mut late = setup("fedavg", &[]);
    late.screen.deadline_seconds = Some(1e-12);
    let told = screened(&late).0.unwrap_err().to_string();
    assert!(told.contains("expected an update within 0.000000000001 s, found it after "), "{told}");
    late.screen.deadline_seconds = Some(1e6);
    let plain = screened(&setup("fedavg", &[])).0.unwrap();
    assert_same(&screened(&late).0.unwrap(), &plain, "a generous deadline");
}

/// One client's numbers overflow in its own training; the others go on, round after round, and it is named each time.
#[test]
fn a_client_that_diverges_does_not_end_the_run() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let clients = partition.client_graphs(&graph);
    let mut data: Vec<LocalData<f32>> = clients.iter().map(LocalData::new).collect();
    let huge = Features::dense(clients[2].graph.len(), 60, vec![f32::MAX; clients[2].graph.len() * 60]).unwrap();
    let broken =
        Graph::new("broken", clients[2].graph.adjacency().clone(), huge, clients[2].graph.labels().clone()).unwrap();
    data[2] = LocalData::with_inputs(&clients[2], Inputs::new(&broken));
    let (outcome, refused, used) = screened_on(&setup("fedavg", &[]), data);
    assert!(outcome.unwrap().models[0].is_finite());
    let named: Vec<(usize, usize, &str)> = refused.iter().map(|(r, c, k, _)| (*r, *c, k.as_str())).collect();
    assert_eq!(named, [(1, 2, "failed"), (2, 2, "failed"), (3, 2, "failed")]);
    assert!(
        refused[0].3.starts_with("expected an update, found a failure: client 2 diverged in round 1"),
        "{refused:?}"
    );
    assert_eq!(used, [[0, 1, 3], [0, 1, 3], [0, 1, 3]]);
}

/// Refused in the first round, used in the next. What a client says once it says again: otherwise the server of some methods
/// would never hear it.
#[test]
fn a_refused_client_rejoins() {
    for method in METHODS.iter().filter(|method| method.layout == Layout::Federated) {
        for kind in [Kind::WrongRound, Kind::WrongSize, Kind::Nan] {
            let mut setup = attacked(method.name, &[], kind);
            setup.attack.rounds = Some(1);
            let (outcome, refused, used) = screened(&setup);
            assert!(outcome.unwrap().models.iter().all(Params::is_finite), "{} after {kind:?}", method.name);
            // Who sends nothing cannot send NaN.
            let silent = method.name == "isolated" && kind == Kind::Nan;
            let named: Vec<(usize, usize)> = refused.iter().map(|(round, client, ..)| (*round, *client)).collect();
            assert_eq!(named, if silent { vec![] } else { vec![(1, ATTACKER)] }, "{} after {kind:?}", method.name);
            assert!(used[1..].iter().all(|round| round.len() == CLIENTS), "{} after {kind:?}", method.name);
        }
    }
}

/// Every rule under every method either runs or is refused with the reason; the mean always runs.
#[test]
fn every_rule_runs_or_is_refused_with_a_reason() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let mut ran = 0;
    for method in METHODS {
        for rule in Rule::ALL {
            let mut setup = setup(method.name, &[]);
            // Four clients: what Krum needs for none, and the others for one.
            setup.aggregation.rule = rule;
            setup.aggregation.byzantine = usize::from(!matches!(rule, Rule::Krum | Rule::MultiKrum | Rule::Bulyan));
            match Federation::<f32>::new(setup, data(method.name, &graph, &partition)) {
                Ok(federation) => {
                    let mut sums = Vec::new();
                    let mut observer = |record: &RoundRecord<'_>| {
                        sums.extend(record.clients.iter().map(|c| c.weight).sum::<Option<f64>>());
                    };
                    let outcome = federation.run(&mut [&mut observer]).unwrap();
                    assert!(outcome.models.iter().all(Params::is_finite), "{} by {rule:?}", method.name);
                    if rule != Rule::Mean {
                        ran += 1;
                        assert!(
                            sums.iter().all(|sum| (sum - 1.0).abs() < 1e-9),
                            "{} by {rule:?}: {sums:?}",
                            method.name
                        );
                    }
                }
                Err(Error::Refused { what, reason, .. }) => {
                    assert_eq!(what, format!("the rule {} (aggregation.rule)", rule.name()));
                    assert!(rule != Rule::Mean && reason.len() > 15, "{} by {rule:?}: {reason}", method.name);
                }
                Err(other) => panic!("{} by {rule:?}: {other}", method.name),
            }
        }
    }
    // fedavg, fedprox, moon, fedsage-plus, adafgl and boostfgl by seven rules, afl and fairfed by two.
    assert_eq!(ran, 6 * 7 + 2 * 2);
}

#[test]
fn settings_that_cannot_work_are_refused_before_anything_runs() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let refusal = |change: fn(&mut Setup)| {
        let mut setup = setup("fedavg", &[]);
        change(&mut setup);
        let data = data::<f32>(setup.method.name, &graph, &partition);
        Federation::new(setup, data).err().unwrap().to_string()
    };
    assert_eq!(
        refusal(|s| s.aggregation.rule = Rule::Krum),
        "the rule krum needs at least 2f + 3 = 5 updates in a round to outvote f = 1, found 4: with 4 it tolerates none"
    );
    let halved = refusal(|s| (s.aggregation.rule, s.protocol.participation) = (Rule::Median, 0.5));
    assert!(halved.ends_with("found 2: with 2 it tolerates none"), "{halved}");
    assert_eq!(refusal(|s| s.screen.quorum = 0.0), "screen.quorum: expected a number above 0 and at most 1, found 0");
    assert_eq!(refusal(|s| s.screen.norm_bound = 1.0), "screen.norm_bound: expected a number above 1, found 1");
    assert_eq!(
        refusal(|s| s.screen.deadline_seconds = Some(-1.0)),
        "screen.deadline_seconds: expected a number above 0, found -1"
    );
    assert_eq!(refusal(|s| s.attack.clients = 0), "attack.clients: expected at least 1, found 0");
    assert_eq!(refusal(|s| s.attack.strength = Some(0.0)), "attack.strength: expected a number above 0, found 0");
    let many = refusal(|s| (s.attack.kind, s.attack.clients) = (Kind::Nan, 9));
    assert_eq!(many, "attack.clients: expected at most the 4 clients, found 9");
    let stranger = refusal(|s| (s.attack.kind, s.attack.which) = (Kind::Nan, Some(vec![4])));
    assert_eq!(stranger, "attack.which: expected numbers below the 4 of the clients, found 4");
    let central = refusal(|s| (s.attack.kind, s.method) = (Kind::Nan, methods::find("central").unwrap()));
    assert!(central.starts_with("central cannot be combined with an attack"), "{central}");
}

/// A rule that shall outvote one needs one fewer once that one is refused.
#[test]
fn who_is_refused_need_not_be_outvoted() {
    let mut setup = attacked("fedavg", &[], Kind::Nan);
    setup.aggregation.rule = Rule::TrimmedMean;
    (setup.attack.clients, setup.screen.quorum) = (2, 0.5);
    assert!(screened(&setup).0.is_ok(), "two are left, of whom none has to be outvoted");
    // A late or failed client may be honest, so that it does not count.
    setup.aggregation.byzantine = 1;
    (setup.attack.kind, setup.attack.clients) = (Kind::SignFlip, 1);
    assert!(screened(&setup).0.is_ok());
}

/// Robust rules and attacks give the same bits for any number of threads.
#[test]
fn attacks_and_rules_do_not_depend_on_threads() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for kind in [Kind::Alie, Kind::SignFlip, Kind::LabelFlip, Kind::FreeRider, Kind::TrustLiar] {
        for rule in [Rule::Median, Rule::TrimmedMean, Rule::GeometricMedian, Rule::NormBounded] {
            let mut setup = attacked("boostfgl", &Boost::ALL, kind);
            setup.aggregation.rule = rule;
            setup.attack.strength = Some(1.5);
            let with = |threads| {
                crate::conformance::with_threads(threads, || run::<f32>(&setup, data("boostfgl", &graph, &partition)))
            };
            assert_same(&with(1), &with(4), &format!("{kind:?} against {rule:?}"));
        }
    }
}
