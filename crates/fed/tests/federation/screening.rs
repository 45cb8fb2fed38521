//! Bad updates are refused by name and the round continues without them; honest ones are accepted.

use crate::every::for_all;
use crate::small::*;
use boostfgl_fed::attack::Kind;
use boostfgl_fed::boost::Boost;
use boostfgl_fed::methods::{self, Layout, METHODS};
use boostfgl_fed::{
    Error, Federation, Inspection, LocalData, Observer, ObserverResult, Outcome, Refusal,
    RoundRecord, Rule, Setup,
};
use boostfgl_graph::{Features, Graph, Role, Split};
use boostfgl_nn::backbones::BACKBONES;
use boostfgl_nn::{Inputs, Params};
use boostfgl_partition::ClientGraph;

const ATTACKER: usize = CLIENTS - 1;

/// Runs, and returns refusals as (round, client, kind, text), and the clients whose update was used
/// in every round.
#[expect(clippy::type_complexity, reason = "the lines of a small table")]
fn screened(
    setup: &Setup,
) -> (Result<Outcome<f32>, Error>, Vec<(usize, usize, String, String)>, Vec<Vec<usize>>) {
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
        let line =
            |r: &Refusal| (r.round, r.client, r.reason.kind().to_owned(), r.reason.to_string());
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

/// The kinds of bad update with their refusals: all are refused by default, and the model stays
/// finite.
#[test]
fn every_bad_update_is_refused_with_its_reason() {
    for (kind, reason, text) in [
        (Kind::Nan, "not-finite", "expected finite numbers, found a model with infinity or NaN"),
        (Kind::Inf, "not-finite", "expected finite numbers, found a model with infinity or NaN"),
        (Kind::Scale, "too-long", "expected an update no longer than "),
        (Kind::WrongShape, "shape", "expected tensors of 60×16, 1×16, 16×4, 1×4, found 60×17, "),
        (Kind::WrongMessage, "message", "expected a message of 0 numbers, found 1"),
        (Kind::WrongRound, "wrong-round", "expected an update for round 1, found one for round 0"),
        (Kind::WrongSize, "size", "it was enrolled with, found "),
        (Kind::Duplicate, "duplicate", "expected one update per round, found a second one"),
        (Kind::WrongGap, "summary", "expected a fairness gap from 0 to 1, found -1"),
    ] {
        let (outcome, refused, used) = screened(&attacked("fedavg", &Boost::ALL, kind));
        let outcome = outcome.unwrap_or_else(|error| panic!("{kind:?}: {error}"));
        assert!(outcome.models.iter().all(Params::is_finite), "{kind:?}");
        let by_round: Vec<(usize, usize, &str)> =
            refused.iter().map(|(r, c, k, _)| (*r, *c, k.as_str())).collect();
        assert_eq!(
            by_round,
            [(1, ATTACKER, reason), (2, ATTACKER, reason), (3, ATTACKER, reason)],
            "{kind:?}"
        );
        assert!(refused[0].3.contains(text), "{kind:?}: {}", refused[0].3);
        // Of a duplicate the first is used.
        let wanted: Vec<usize> =
            (0..CLIENTS).filter(|k| kind == Kind::Duplicate || *k != ATTACKER).collect();
        assert!(used.iter().all(|round| *round == wanted), "{kind:?}: {used:?}");
    }
    let (outcome, refused, _) = screened(&attacked("fedavg", &[], Kind::Replay));
    assert!(outcome.is_ok());
    let text = "expected a new update, found a replay of its update of round 1";
    let again = |round| (round, ATTACKER, "replay".to_owned(), text.to_owned());
    assert_eq!(refused, [again(2), again(3)]);
}

/// Every method refuses malformed messages, also one that sends no message itself.
#[test]
fn every_method_refuses_messages_of_another_form() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for_all(|method, setup, what| {
        // With the whole graph in one place there is no client that could attack.
        if method.layout == Layout::Whole {
            return;
        }
        let mut setup = setup.clone();
        setup.attack.kind = Kind::WrongMessage;
        setup.protocol.rounds = 6;
        let (outcome, refused, _) = screened_on(&setup, data(method.name, &graph, &partition));
        let outcome = outcome.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(outcome.models.iter().all(Params::is_finite), "{what}");
        let kinds: Vec<(usize, usize, &str)> =
            refused.iter().map(|(r, c, k, _)| (*r, *c, k.as_str())).collect();
        let rounds = 6 + (method.further_rounds)(&setup.methods);
        let wanted: Vec<(usize, usize, &str)> =
            (1..=rounds).map(|round| (round, ATTACKER, "message")).collect();
        assert_eq!(kinds, wanted, "{what}: {refused:?}");
    });
}

/// No bad update of any kind reaches a model of any method, with every boost that it takes, and
/// without boosts where that makes a difference.
#[test]
fn every_bad_update_is_refused_by_every_method() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for method in METHODS.iter().filter(|method| method.layout == Layout::Federated) {
        let all: Vec<Boost> =
            Boost::ALL.into_iter().filter(|&boost| (method.refuses)(boost).is_none()).collect();
        for (kind, reasons) in [
            (Kind::Nan, &["not-finite"][..]),
            (Kind::Inf, &["not-finite"]),
            // Where a norm is sent with entries, it no longer matches the distance of the entries.
            (Kind::Scale, &["too-long", "message"]),
            (Kind::WrongShape, &["shape", "message"]),
            (Kind::WrongRound, &["wrong-round"]),
            (Kind::WrongSize, &["size", "message"]),
            (Kind::Duplicate, &["duplicate"]),
            (Kind::WrongGap, &["summary"]),
            // Modules show how far they are from what was given this time.
            (Kind::Replay, &["replay", "message"]),
        ] {
            let more = matches!(kind, Kind::Scale | Kind::Replay | Kind::WrongSize);
            for boosts in [&all[..], &[]].iter().take(1 + usize::from(more)) {
                let what = format!("{} with {boosts:?} under {kind:?}", method.name);
                // A client that sends nothing cannot send a bad update.
                if method.name == "isolated" && !matches!(kind, Kind::WrongRound | Kind::Duplicate)
                {
                    continue;
                }
                let mut setup = attacked(method.name, boosts, kind);
                setup.protocol.rounds = 4;
                let (outcome, refused, used) =
                    screened_on(&setup, data(method.name, &graph, &partition));
                let outcome = outcome.unwrap_or_else(|error| panic!("{what}: {error}"));
                assert!(outcome.models.iter().all(Params::is_finite), "{what}");
                let first = if kind == Kind::Replay { 2 } else { 1 };
                let named: Vec<usize> =
                    refused.iter().map(|(round, ..)| *round).filter(|round| *round <= 4).collect();
                assert_eq!(named, (first..=4).collect::<Vec<_>>(), "{what}: {refused:?}");
                assert!(
                    refused.iter().all(|(_, client, ..)| *client == ATTACKER),
                    "{what}: {refused:?}"
                );
                assert!(
                    refused.iter().all(|(_, _, kind, _)| reasons.contains(&kind.as_str())),
                    "{what}: {refused:?}"
                );
                let left = if kind == Kind::Duplicate { CLIENTS } else { CLIENTS - 1 };
                assert!(used[first - 1..4].iter().all(|round| round.len() == left), "{what}");
            }
        }
    }
}

/// Counts that lie in their ranges and do not add up to the training nodes that a client was
/// enrolled with.
#[test]
fn counts_that_do_not_add_up_are_refused() {
    for method in ["fedspray", "fedproto", "fairfed"] {
        let (outcome, refused, _) = screened(&attacked(method, &[], Kind::WrongSize));
        assert!(outcome.is_ok());
        let refusal = &refused[1];
        assert!(
            (refusal.0, refusal.1, refusal.2.as_str()) == (2, ATTACKER, "message"),
            "{method}: {refused:?}"
        );
        assert!(refusal.3.contains("whose sum is "), "{method}: {}", refusal.3);
    }
}

/// The other clients get the same models as if the refused one had no training nodes.
#[test]
fn a_refused_update_does_not_change_the_model() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let mut clients = partition.client_graphs(&graph);
    let nodes = clients[ATTACKER].graph.len();
    clients[ATTACKER].split = Split::new(vec![Role::None; nodes]);
    let without = run::<f32>(&setup("fedavg", &[]), clients.iter().map(LocalData::new).collect());
    for kind in [Kind::Nan, Kind::Scale, Kind::WrongShape, Kind::WrongSize] {
        let attacked_run =
            run::<f32>(&attacked("fedavg", &[], kind), data("fedavg", &graph, &partition));
        assert!(bits(&attacked_run.models) == bits(&without.models), "{kind:?}");
    }
}

/// Without attackers no update is refused, and results are the same with and without screening.
#[test]
fn honest_updates_are_accepted_and_screening_does_not_change_results() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for_all(|method, setup, what| {
        for (participation, epochs) in [(1.0, 1), (0.5, 3)] {
            let mut setup = setup.clone();
            (setup.protocol.participation, setup.protocol.epochs) = (participation, epochs);
            let (screened, refused, _) = screened_on(&setup, data(method.name, &graph, &partition));
            assert_eq!(refused, [], "{what}");
            setup.screen.enabled = false;
            assert_same(
                &screened.unwrap(),
                &run(&setup, data(method.name, &graph, &partition)),
                what,
            );
        }
    });
}

/// Controls shrink, losses diverge and prototypes grow during training. This must not make any
/// client implausible, least of all the one with the hardest data, which has features of its own.
#[test]
fn honest_updates_are_accepted_in_a_long_run() {
    let graph = graph(WORDS);
    let clients = partition(&graph).client_graphs(&graph);
    let rare = |(k, client): (usize, &ClientGraph)| {
        let Features::Sparse(words) = client.graph.features() else { panic!("words are sparse") };
        if k != 0 {
            return LocalData::new(client);
        }
        // The same words, numbered in reverse, with values three times as large.
        let nodes = client.graph.len();
        let mut loud = vec![0.0; nodes * 60];
        for v in 0..nodes {
            let (places, values) = words.row(v);
            places
                .iter()
                .zip(values)
                .for_each(|(place, x)| loud[v * 60 + 59 - *place as usize] = 3.0 * x);
        }
        let (adjacency, labels) = (client.graph.adjacency().clone(), client.graph.labels().clone());
        let features = Features::dense(nodes, 60, loud).unwrap();
        LocalData::with_inputs(
            client,
            Inputs::new(&Graph::new("rare", adjacency, features, labels).unwrap()),
        )
    };
    for method in [
        "scaffold", "qffl", "afl", "fedfv", "fedgta", "fedspray", "fairfgl", "fedproto", "fairfed",
        "fedtad",
    ] {
        for participation in [1.0, 0.5] {
            let mut setup = setup(method, &[]);
            (setup.protocol.rounds, setup.protocol.participation, setup.protocol.epochs) =
                (40, participation, 3);
            setup.methods.fedtad.repetitions = 1;
            let data = clients.iter().enumerate().map(rare).collect();
            let (outcome, refused, _) = screened_on(&setup, data);
            assert!(outcome.is_ok() && refused.is_empty(), "{method}: {refused:?}");
        }
    }
}

/// Without screening one NaN spreads to the whole model.
#[test]
fn without_screening_one_bad_update_ruins_the_model() {
    let mut setup = attacked("fedavg", &[], Kind::Nan);
    setup.screen.enabled = false;
    setup.protocol.rounds = 1;
    let (outcome, refused, _) = screened(&setup);
    assert!(!outcome.unwrap().models[0].is_finite());
    assert_eq!(refused, []);
}

/// Malformed updates are refused also without screening: no attack makes a server panic.
#[test]
fn without_screening_forms_are_still_checked() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for method in METHODS.iter().filter(|method| method.layout == Layout::Federated) {
        for (kind, reasons) in [
            (Kind::WrongShape, &["shape", "message"][..]),
            (Kind::WrongMessage, &["message"]),
            (Kind::WrongRound, &["wrong-round"]),
            (Kind::Duplicate, &["duplicate"]),
        ] {
            let mut setup = attacked(method.name, &[], kind);
            (setup.screen.enabled, setup.protocol.rounds) = (false, 5);
            let (outcome, refused, _) = screened_on(&setup, data(method.name, &graph, &partition));
            assert!(outcome.is_ok(), "{} under {kind:?}", method.name);
            assert!(refused.len() >= 5, "{} under {kind:?}: {refused:?}", method.name);
            assert!(
                refused.iter().all(|(.., kind, _)| reasons.contains(&kind.as_str())),
                "{}: {refused:?}",
                method.name
            );
        }
    }
}

/// With one or two participants there is no median of the round. An update a million times too long
/// is still refused, from the first round on, and honest ones are not, for every method and network.
#[test]
fn lengths_are_bounded_with_one_or_two_participants() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let mut longest = 0.0f64;
    for participation in [0.25, 0.5] {
        let mut setup = attacked("fedavg", &[], Kind::Scale);
        (setup.protocol.participation, setup.attack.clients, setup.screen.quorum) =
            (participation, CLIENTS, 1.0);
        let text = screened(&setup).0.unwrap_err().to_string();
        assert!(text.starts_with("round 1: ") && text.contains("no longer than"), "{text}");
        for method in METHODS {
            for backbone in BACKBONES {
                let mut setup = setup_of(method.name, backbone.name);
                // Ten times the usual rate.
                (setup.protocol.participation, setup.optimizer.learning_rate) =
                    (participation, 0.1);
                setup.protocol.epochs = 3;
                let Ok(federation) =
                    Federation::<f32>::new(setup, data(method.name, &graph, &partition))
                else {
                    continue;
                };
                let mut steps = Steps::default();
                federation.run(&mut [&mut steps]).unwrap();
                assert_eq!(steps.refused, [], "{} on {}", method.name, backbone.name);
                longest = steps.longest.max(longest);
            }
        }
    }
    // The bound is 100.
    println!(
        "the longest honest update of a first round has {longest:.2} times the length of its start"
    );
    assert!(longest < 10.0);
}

/// The lengths of first-round updates, as a multiple of the length of the model they start from.
#[derive(Default)]
struct Steps {
    longest: f64,
    refused: Vec<Refusal>,
}

impl Observer<f32> for Steps {
    fn inspects(&self) -> bool {
        true
    }

    fn inspect(&mut self, inspection: &Inspection<'_, f32>) {
        for client in inspection.clients.iter().filter(|_| inspection.round == 1) {
            let step = client.trained.map_or(0.0, |trained| trained.distance(client.received));
            self.longest = self.longest.max(step / client.received.dot(client.received).sqrt());
        }
    }

    fn round(&mut self, record: &RoundRecord<'_>) -> ObserverResult {
        self.refused.extend(record.refused.to_vec());
        Ok(())
    }
}

fn setup_of(method: &str, backbone: &str) -> Setup {
    let mut setup = setup(method, &[]);
    (setup.model.backbone, setup.protocol.rounds) = (backbone.into(), 2);
    setup
}

#[test]
fn a_round_continues_down_to_the_quorum() {
    let mut setup = attacked("fedavg", &[], Kind::Nan);
    setup.attack.clients = 2;
    assert!(screened(&setup).0.is_ok());
    setup.attack.clients = 3;
    let error = screened(&setup).0.unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with(
            "round 1: expected usable updates of at least 2 of 4 participants, found 1; client 1, "
        ),
        "{text}"
    );
    assert_eq!(text.matches("found a model with infinity or NaN").count(), 3, "{text}");
    assert!(!error.advice().is_empty());
    (setup.attack.clients, setup.screen.quorum) = (1, 1.0);
    assert!(screened(&setup).0.is_err());
}

/// A deadline that no client meets ends the run; one that all clients meet changes nothing.
#[test]
fn late_updates_are_refused() {
    let mut late = setup("fedavg", &[]);
    late.screen.deadline_seconds = Some(1e-12);
    let text = screened(&late).0.unwrap_err().to_string();
    assert!(text.contains("expected an update within 0.000000000001 s, found it after "), "{text}");
    late.screen.deadline_seconds = Some(1e6);
    let plain = screened(&setup("fedavg", &[])).0.unwrap();
    assert_same(&screened(&late).0.unwrap(), &plain, "a generous deadline");
}

/// One client overflows in its own training. The others continue in every round, and the client is
/// named each time.
#[test]
fn a_client_that_diverges_does_not_end_the_run() {
    let (outcome, refused, used) = screened_on(&setup("fedavg", &[]), with_broken(&[2]));
    assert!(outcome.unwrap().models[0].is_finite());
    let named: Vec<(usize, usize, &str)> =
        refused.iter().map(|(r, c, k, _)| (*r, *c, k.as_str())).collect();
    assert_eq!(named, [(1, 2, "failed"), (2, 2, "failed"), (3, 2, "failed")]);
    assert!(
        refused[0]
            .3
            .starts_with("expected an update, found a failure: client 2 diverged in round 1"),
        "{refused:?}"
    );
    assert_eq!(used, [[0, 1, 3], [0, 1, 3], [0, 1, 3]]);
}

/// A client that is refused in the first round is used in the next. It repeats messages that are
/// sent only once: otherwise the server of some methods would never receive them.
#[test]
fn a_refused_client_rejoins() {
    for method in METHODS.iter().filter(|method| method.layout == Layout::Federated) {
        for kind in [Kind::WrongRound, Kind::WrongSize, Kind::Nan] {
            let mut setup = attacked(method.name, &[], kind);
            setup.attack.rounds = Some(1);
            let (outcome, refused, used) = screened(&setup);
            assert!(
                outcome.unwrap().models.iter().all(Params::is_finite),
                "{} after {kind:?}",
                method.name
            );
            // A client that sends nothing cannot send NaN.
            let silent = method.name == "isolated" && kind == Kind::Nan;
            let named: Vec<(usize, usize)> =
                refused.iter().map(|(round, client, ..)| (*round, *client)).collect();
            assert_eq!(
                named,
                if silent { vec![] } else { vec![(1, ATTACKER)] },
                "{} after {kind:?}",
                method.name
            );
            assert!(
                used[1..].iter().all(|round| round.len() == CLIENTS),
                "{} after {kind:?}",
                method.name
            );
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
            // Four clients: enough for Krum with f = 0 and for the other rules with f = 1.
            setup.aggregation.rule = rule;
            setup.aggregation.byzantine =
                usize::from(!matches!(rule, Rule::Krum | Rule::MultiKrum | Rule::Bulyan));
            match Federation::<f32>::new(setup, data(method.name, &graph, &partition)) {
                Ok(federation) => {
                    let mut sums = Vec::new();
                    let mut observer = |record: &RoundRecord<'_>| {
                        sums.extend(record.clients.iter().map(|c| c.weight).sum::<Option<f64>>());
                    };
                    let outcome = federation.run(&mut [&mut observer]).unwrap();
                    assert!(
                        outcome.models.iter().all(Params::is_finite),
                        "{} by {rule:?}",
                        method.name
                    );
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
                    assert!(
                        rule != Rule::Mean && reason.len() > 15,
                        "{} by {rule:?}: {reason}",
                        method.name
                    );
                }
                Err(other) => panic!("{} by {rule:?}: {other}", method.name),
            }
        }
    }
    // fedavg, fedprox, moon, fedsage-plus, adafgl and boostfgl by seven rules, afl and fairfed by
    // two.
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
        "the rule krum needs at least 2f + 3 = 5 updates in a round to outvote f = 1, found 4: \
         with 4 it tolerates none"
    );
    let halved = refusal(|s| (s.aggregation.rule, s.protocol.participation) = (Rule::Median, 0.5));
    assert!(halved.ends_with("found 2: with 2 it tolerates none"), "{halved}");
    assert_eq!(
        refusal(|s| s.screen.quorum = 0.0),
        "screen.quorum: expected a number above 0 and at most 1, found 0"
    );
    assert_eq!(
        refusal(|s| s.screen.norm_bound = 1.0),
        "screen.norm_bound: expected a number above 1, found 1"
    );
    assert_eq!(
        refusal(|s| s.screen.deadline_seconds = Some(-1.0)),
        "screen.deadline_seconds: expected a number above 0, found -1"
    );
    assert_eq!(refusal(|s| s.attack.clients = 0), "attack.clients: expected at least 1, found 0");
    assert_eq!(
        refusal(|s| s.attack.strength = Some(0.0)),
        "attack.strength: expected a number above 0, found 0"
    );
    let many = refusal(|s| (s.attack.kind, s.attack.clients) = (Kind::Nan, 9));
    assert_eq!(many, "attack.clients: expected at most the 4 clients, found 9");
    let stranger = refusal(|s| (s.attack.kind, s.attack.which) = (Kind::Nan, Some(vec![4])));
    assert_eq!(stranger, "attack.which: expected client numbers below 4, found 4");
    let central =
        refusal(|s| (s.attack.kind, s.method) = (Kind::Nan, methods::find("central").unwrap()));
    assert!(central.starts_with("central cannot be combined with an attack"), "{central}");
}

/// A rule that must outvote one bad update needs fewer updates once that one is refused.
#[test]
fn refused_updates_count_towards_the_bad_ones_of_a_robust_rule() {
    let mut setup = attacked("fedavg", &[], Kind::Nan);
    setup.aggregation.rule = Rule::TrimmedMean;
    (setup.attack.clients, setup.screen.quorum) = (2, 0.5);
    assert!(screened(&setup).0.is_ok(), "two are left, of which none has to be outvoted");
    // A client with a long update may be honest and have the hardest data. It lowers f only where
    // the rule could not run otherwise.
    (setup.attack.kind, setup.attack.clients) = (Kind::Scale, 1);
    assert!(screened_on(&setup, with_broken(&[1])).0.is_ok(), "two are left, and one was doubtful");
    // Clients whose own training failed never count.
    setup.attack.kind = Kind::None;
    let text = screened_on(&setup, with_broken(&[1, 2])).0.unwrap_err().to_string();
    assert!(
        text.starts_with("round 1: the rule trimmed-mean needs at least 2f + 1 = 3 updates"),
        "{text}"
    );
    assert!(screened_on(&setup, with_broken(&[2])).0.is_ok(), "three outvote one");
}

/// The usual clients, some of which overflow in their own training.
fn with_broken(broken: &[usize]) -> Vec<LocalData<f32>> {
    let graph = graph(WORDS);
    let clients = partition(&graph).client_graphs(&graph);
    let client_data = |(k, client): (usize, &ClientGraph)| {
        if !broken.contains(&k) {
            return LocalData::new(client);
        }
        let nodes = client.graph.len();
        let huge = Features::dense(nodes, 60, vec![f32::MAX; nodes * 60]).unwrap();
        let (adjacency, labels) = (client.graph.adjacency().clone(), client.graph.labels().clone());
        LocalData::with_inputs(
            client,
            Inputs::new(&Graph::new("broken", adjacency, huge, labels).unwrap()),
        )
    };
    clients.iter().enumerate().map(client_data).collect()
}

/// A client whose generator overflows keeps its graph unmended and is named. The others mend their
/// graphs and continue.
#[test]
fn a_generator_that_diverges_does_not_end_the_run() {
    // On one thread all clients use the same buffers, one after the other.
    for threads in [1, 2, 4] {
        let broken = || screened_on(&setup("fedsage-plus", &[]), with_broken(&[2]));
        let (outcome, refused, used) = with_threads(threads, broken);
        assert!(outcome.unwrap().models[0].is_finite());
        let text = "expected an update, found a failure: client 2 diverged in round 1: its \
            generator is not finite";
        assert_eq!(refused[0], (1, 2, "failed".to_owned(), text.to_owned()));
        assert!(
            refused.iter().all(|(_, client, ..)| *client == 2),
            "{threads} threads: {refused:?}"
        );
        assert_eq!(used, [[0, 1, 3], [0, 1, 3], [0, 1, 3]]);
    }
    let text = screened_on(&setup("fedsage-plus", &[]), with_broken(&[0, 1, 2]))
        .0
        .unwrap_err()
        .to_string();
    assert!(
        text.starts_with(
            "round 1: expected usable updates of at least 2 of 4 participants, found 1"
        ),
        "{text}"
    );
    let all = screened_on(&setup("fedsage-plus", &[]), with_broken(&[0, 1, 2, 3]))
        .0
        .unwrap_err()
        .to_string();
    assert_eq!(all, "client 0 diverged in round 1: its generator is not finite");
}

/// Shows whether the attacker's trained model is the one that it started from.
#[derive(Default)]
struct Watcher {
    stands_still: Vec<bool>,
    gaps: Vec<Option<f64>>,
}

impl Observer<f32> for Watcher {
    fn inspects(&self) -> bool {
        true
    }

    fn inspect(&mut self, inspection: &Inspection<'_, f32>) {
        let attacker = &inspection.clients[ATTACKER];
        self.stands_still.push(attacker.trained.unwrap() == attacker.received);
    }

    fn round(&mut self, record: &RoundRecord<'_>) -> ObserverResult {
        self.gaps.push(record.clients[ATTACKER].gap);
        Ok(())
    }
}

/// Records show the values that the server received and computed weights and trust from, not the
/// attacker's true values.
#[test]
fn records_show_what_arrived() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let watched = |kind: Kind| {
        let setup = attacked("boostfgl", &Boost::ALL, kind);
        let mut watcher = Watcher::default();
        Federation::new(setup, data("boostfgl", &graph, &partition))
            .unwrap()
            .run(&mut [&mut watcher])
            .unwrap();
        watcher
    };
    assert_eq!(watched(Kind::FreeRider).stands_still, [true; 3]);
    let liar = watched(Kind::TrustLiar);
    assert_eq!((liar.stands_still, liar.gaps), (vec![false; 3], vec![Some(0.0); 3]));
    assert!(watched(Kind::LabelFlip).gaps.iter().any(|gap| *gap > Some(0.0)), "the lie is one");
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
            let run_on_threads = |threads| {
                with_threads(threads, || run::<f32>(&setup, data("boostfgl", &graph, &partition)))
            };
            assert_same(
                &run_on_threads(1),
                &run_on_threads(4),
                &format!("{kind:?} against {rule:?}"),
            );
        }
    }
}
