//! Server and clients share settings and bytes, nothing else, and give what a simulation gives.

use crate::runs::succeeded;
use crate::small::{CLIENTS, WORDS, graph, partition};
use crate::{Case, Ended, Round, Suite, Wire, assert_same};
use boostfgl_fed::config::{ReportedRound, Transport as Configured};
use boostfgl_fed::methods::Layout;
use boostfgl_fed::transport::Transport;
use boostfgl_fed::{ClientRecord, Event, LocalData, Next, Outcome, RoundReport, Server, Setup};
use boostfgl_protocol::{Reply, Task};

/// The server of a suite's method.
fn server(suite: &Suite<'_>, setup: &Setup) -> Server<f32> {
    let server = Server::for_clients(setup.clone(), CLIENTS, suite.registry);
    succeeded(server, suite.method.name)
}

/// Every case of a method with clients.
fn federated<'a>(suite: &'a Suite<'_>) -> impl Iterator<Item = &'a Case> {
    suite.cases().iter().filter(|_| suite.method.layout == Layout::Federated)
}

/// Two machines give what a simulation gives.
pub fn same_digest(suite: &Suite<'_>) {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for case in federated(suite) {
        for (participation, report) in [(1.0, ReportedRound::Last), (0.5, ReportedRound::BestVal)] {
            let (mut setup, what) = (case.setup.clone(), &case.what);
            (setup.protocol.participation, setup.protocol.report) = (participation, report);
            let (simulated, rounds) = suite.watch(&setup, &graph, &partition);
            let mut wire = Wire::new(&setup, suite.data(&graph, &partition), suite.registry);
            let mut server = server(suite, &setup);
            let ended = succeeded(Ended::driven(&mut server, &mut wire), what);
            assert_eq!(ended.digest, simulated.federation_digest, "{what}, {participation}");
            // Also where the evaluation of a round travels with the training of the next.
            let (up, down) = server.traffic();
            let bytes = (simulated.bytes_up, simulated.bytes_down);
            assert_eq!((up.payload, down.payload), bytes, "{what}, {participation}");
            assert_eq!(ended.rounds.len(), rounds.len(), "{what}");
            for (found, expected) in ended.rounds.iter().zip(&rounds) {
                assert_same_round(found, expected, what);
            }
        }
    }
}

fn assert_same_round(found: &RoundReport<f32>, expected: &Round, what: &str) {
    let evaluation = found.evaluation.as_ref();
    let accuracy = evaluation.map(|evaluation| evaluation.val_accuracy);
    assert_eq!(accuracy, Some(expected.val_accuracy), "{what}");
    let of = |c: &ClientRecord| ((c.client, c.bytes_up, c.bytes_down), (c.loss, c.weight));
    assert!(!found.clients.is_empty(), "{what}: a round without clients");
    assert_eq!(found.clients.len(), expected.clients.len(), "{what}: other participants");
    for (found, expected) in found.clients.iter().zip(&expected.clients) {
        assert_eq!(of(found), of(expected), "{what}");
    }
}

/// Both sides are saved between two rounds and restored in new processes.
pub fn resumed(suite: &Suite<'_>) {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for Case { setup, what } in federated(suite) {
        let data = || suite.data(&graph, &partition);
        let uninterrupted = suite.run(setup, &graph, &partition).federation_digest;
        let (state, saved) = saved_after_two_rounds(suite, setup, data(), what);
        let mut second = server(suite, setup);
        let mut wire = Wire::new(setup, data(), suite.registry);
        // Enrolment and start come again, and the states take the place of the preparation.
        for _ in 0..2 {
            let Next::Ask(ask) = second.next() else { panic!("{what}: the start") };
            succeeded(second.hear(wire.exchange(ask)), what);
        }
        succeeded(second.restore(&state), what);
        for (client, state) in wire.clients.iter_mut().zip(saved) {
            assert_eq!(client.handle(Task::Restore(state)), Reply::Done, "{what}");
        }
        let ended = succeeded(Ended::driven(&mut second, &mut wire), what);
        assert_eq!(ended.digest, uninterrupted, "{what}");
    }
}

/// The states of the server and of the clients after two rounds.
fn saved_after_two_rounds(
    suite: &Suite<'_>,
    setup: &Setup,
    data: Vec<LocalData<f32>>,
    what: &str,
) -> (Vec<u8>, Vec<Vec<u8>>) {
    let (mut server, mut wire) = (server(suite, setup), Wire::new(setup, data, suite.registry));
    let mut rounds = 0;
    while rounds < 2 {
        if rounds == 1 {
            server.pause();
        }
        let Next::Ask(ask) = server.next() else { panic!("{what}: a round is left") };
        succeeded(server.hear(wire.exchange(ask)), what);
        while let Some(event) = server.event() {
            rounds += usize::from(matches!(event, Event::Round(_)));
        }
    }
    let saved = wire.clients.iter_mut().map(|client| match client.handle(Task::Save) {
        Reply::State(state) => state,
        other => panic!("{what}: {other:?}"),
    });
    (succeeded(server.state(), what), saved.collect())
}

/// Encoding every message changes neither a bit nor a byte count.
pub fn loopback(suite: &Suite<'_>) {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for Case { setup, what } in suite.cases() {
        let looped = Setup { transport: Configured::Loopback, ..setup.clone() };
        let (direct, rounds) = suite.watch(setup, &graph, &partition);
        let (carried, other) = suite.watch(&looped, &graph, &partition);
        assert_same(&direct, &carried, what);
        assert_eq!(direct.federation_digest, carried.federation_digest, "{what}");
        let bytes = |outcome: &Outcome<f32>| {
            [outcome.bytes_up, outcome.bytes_down, outcome.framed_up, outcome.framed_down]
        };
        assert_eq!(bytes(&direct), bytes(&carried), "{what}");
        let framed = direct.framed_up > direct.bytes_up && direct.framed_down > direct.bytes_down;
        assert!(framed, "{what}: frames are not larger than what is in them");
        for (a, b) in rounds.iter().zip(&other) {
            let of = |round: &Round| -> Vec<[u64; 4]> {
                let clients = round.clients.iter();
                clients.map(|c| [c.bytes_up, c.bytes_down, c.framed_up, c.framed_down]).collect()
            };
            assert_eq!(of(a), of(b), "{what}");
        }
    }
}
