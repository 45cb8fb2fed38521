//! Server and clients as two machines: they share settings and bytes, nothing else. Every method
//! with every boost must give what a simulation gives.

use crate::every::for_all_methods;
use crate::small::*;
use boostfgl_conformance::properties::two_sides;
use boostfgl_conformance::{Ended, Wire};
use boostfgl_fed::boost::{Boost, BoostInfo, BoostPlugin};
use boostfgl_fed::transport::{Arrival, Undelivered};
use boostfgl_fed::{
    Error, Federation, LocalData, Next, Refusal, Registry, RoundReport, Server, Setup,
};
use boostfgl_nn::Matrix;
use boostfgl_nn::backbones::{self, Architecture};
use boostfgl_protocol::{
    Broadcast, Discard, Exchange, Frame, Header, Limits, Message, Model, Reply, ReplyFrame, Roster,
    RunId, Task, TaskFrame, Trial, decode, encode,
};
use std::sync::Arc;

/// Clients with these data at the other end of a wire.
pub(crate) fn connected(setup: &Setup, data: Vec<LocalData<f32>>) -> Wire {
    Wire::new(setup, data, &Registry::builtin())
}

pub(crate) fn server(setup: &Setup) -> Server<f32> {
    Server::for_clients(setup.clone(), CLIENTS, &Registry::builtin()).unwrap()
}

#[test]
fn two_machines_give_what_a_simulation_gives() {
    for_all_methods(two_sides::same_digest);
}

#[test]
fn both_sides_resume_to_the_same_digest() {
    for_all_methods(two_sides::resumed);
}

#[test]
fn loopback_gives_the_same_bits_and_byte_counts() {
    for_all_methods(two_sides::loopback);
}

/// The evaluation of a round travels with the training of the next: T rounds need T + 1 exchanges,
/// and enrolment, start, preparation and end one each.
#[test]
fn a_round_is_one_exchange() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let setup = setup("fedavg", &[]);
    let mut wire = connected(&setup, data("fedavg", &graph, &partition));
    Ended::driven(&mut server(&setup), &mut wire).unwrap();
    assert_eq!(wire.exchanges, setup.protocol.rounds + 1 + 4);
}

/// With a boost that needs them, class counts cross the wire and are counted.
#[test]
fn global_class_counts_cross_the_wire() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let outcome = |gap_minority| {
        let mut setup = setup("fedavg", &[Boost::Model]);
        setup.boost.model.gap_minority = gap_minority;
        run(&setup, data::<f32>("fedavg", &graph, &partition))
    };
    use boostfgl_fed::boost::model::GapMinority::{Global, Local};
    let (global, local) = (outcome(Global), outcome(Local));
    let counts = (8 * CLASSES * CLIENTS) as u64;
    assert_eq!(global.bytes_up - local.bytes_up, counts);
    assert_eq!(global.bytes_down - local.bytes_down, counts);
}

/// Runs with a fault in the replies of client 1 in round 2, which is evaluated with round 3 if
/// `eval_every` is 2: what the server says, or how it ends.
fn with_fault(
    eval_every: usize,
    fault: impl Fn(ReplyFrame<f32>, &[u8]) -> Vec<Vec<u8>> + 'static,
) -> Result<Vec<Refusal>, Error> {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let mut setup = setup("fedavg", &[Boost::Model]);
    setup.protocol.eval_every = eval_every;
    let mut wire = connected(&setup, data("fedavg", &graph, &partition));
    let shapes = shapes(&graph);
    wire.fault = Some(Box::new(move |header, bytes| {
        let frame: ReplyFrame<f32> =
            decode(&bytes, Limits { finite: true, shapes: &shapes }).unwrap();
        let trains = frame.items.iter().any(|reply| matches!(reply, Reply::Update(_)));
        match header.client == 1 && header.round == 2 && trains {
            true => fault(frame, &bytes),
            false => vec![bytes],
        }
    }));
    let ended = Ended::driven(&mut server(&setup), &mut wire)?;
    // The client takes part again.
    assert_eq!(ended.rounds[2].clients.len(), CLIENTS);
    Ok(ended.rounds.into_iter().flat_map(|round| round.refused).collect())
}

/// The kinds of the refusals, each of client 1 in round 2.
fn refused(fault: impl Fn(ReplyFrame<f32>, &[u8]) -> Vec<Vec<u8>> + 'static) -> Vec<&'static str> {
    let refusals = with_fault(7, fault).unwrap();
    assert!(refusals.iter().all(|refusal| (refusal.client, refusal.round) == (1, 2)));
    refusals.iter().map(|refusal| refusal.reason.kind()).collect()
}

/// The reply with another header.
fn with_header(change: impl Fn(&mut Header) + 'static) -> Vec<&'static str> {
    refused(move |mut frame, _| {
        change(&mut frame.header);
        vec![encode(&frame)]
    })
}

/// The reply with other items.
fn with_items(change: impl Fn(&mut Vec<Reply<f32>>) + 'static) -> Vec<&'static str> {
    refused(move |mut frame, _| {
        change(&mut frame.items);
        vec![encode(&frame)]
    })
}

#[test]
fn replies_that_do_not_fit_are_refused_with_client_and_reason() {
    assert_eq!(refused(|_, bytes| vec![bytes.to_vec()]), [""; 0]);
    assert_eq!(refused(|_, _| vec![]), ["missing"]);
    assert_eq!(refused(|_, bytes| vec![bytes[..bytes.len() - 1].to_vec()]), ["unreadable"]);
    assert_eq!(refused(|_, bytes| vec![bytes.to_vec(); 2]), ["duplicate"]);
    assert_eq!(
        refused(|_, bytes| {
            let mut bytes = bytes.to_vec();
            bytes[4] = 9;
            vec![bytes]
        }),
        ["unreadable"]
    );
    assert_eq!(with_header(|header| header.run = RunId([9; 16])), ["unreadable"]);
    assert_eq!(with_header(|header| header.client = 2), ["unreadable"]);
    assert_eq!(with_header(|header| header.round = 1), ["wrong-round"]);
    assert_eq!(with_items(Vec::clear), ["unreadable"]);
    assert_eq!(with_items(|items| items.push(Reply::Done)), ["unreadable"]);
    assert_eq!(with_items(|items| items[0] = Reply::Done), ["message"]);
    let update = |change: fn(&mut boostfgl_protocol::Update<f32>)| {
        with_items(move |items| {
            let Reply::Update(update) = &mut items[0] else { panic!("an update") };
            change(update);
        })
    };
    assert_eq!(update(|update| update.model = None), ["message"]);
    assert_eq!(update(|update| update.claims.summary = None), ["message"]);
    assert_eq!(update(|update| update.claims.size = Some(1e9)), ["size"]);
    assert_eq!(update(|update| update.claims.loss = f64::NAN), ["not-finite"]);
    assert_eq!(update(|update| update.claims.seconds = -1.0), ["not-finite"]);
    assert_eq!(
        update(|update| {
            let model = Arc::make_mut(update.model.as_mut().unwrap());
            model.tensors_mut()[0].row_mut(0)[0] = f32::NAN;
        }),
        ["not-finite"]
    );
    assert_eq!(
        update(|update| {
            let shapes = [boostfgl_nn::TensorShape::bias("b", 3)];
            update.model = Some(Arc::new(boostfgl_nn::Params::glorot(&shapes, 0)));
        }),
        ["shape"]
    );
}

/// FairFGL's server has no model to measure a distance with, so clients claim theirs. Trust looks
/// each of them up by its place, so that another number must be refused, screened or not.
#[test]
fn another_number_of_claimed_distances_is_refused_with_and_without_screening() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for (screened, claimed) in [(true, vec![]), (false, vec![]), (false, vec![1.0; 40])] {
        let mut setup = setup("fairfgl", &[Boost::Model]);
        setup.screen.enabled = screened;
        let mut wire = connected(&setup, data("fairfgl", &graph, &partition));
        let shapes = shapes(&graph);
        wire.fault = Some(Box::new(move |header, bytes| {
            let mut frame: ReplyFrame<f32> =
                decode(&bytes, Limits { finite: true, shapes: &shapes }).unwrap();
            for reply in &mut frame.items {
                if let (Reply::Update(update), 0 | 2) = (reply, header.client) {
                    update.claims.norms = Some(claimed.clone());
                }
            }
            vec![encode(&frame)]
        }));
        let ended = Ended::driven(&mut server(&setup), &mut wire).unwrap();
        let refused = &ended.rounds[0].refused;
        let found: Vec<_> =
            refused.iter().map(|refusal| (refusal.client, refusal.reason.kind())).collect();
        assert_eq!(found, [(0, "message"), (2, "message")], "screened: {screened}");
    }
}

/// An evaluation that arrives twice is counted once, and reported.
#[test]
fn a_repeated_evaluation_is_refused() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let setup = setup("fedavg", &[]);
    let run = |repeats: bool| {
        let mut wire = connected(&setup, data("fedavg", &graph, &partition));
        let shapes = shapes(&graph);
        wire.fault = Some(Box::new(move |header, bytes| {
            let frame: ReplyFrame<f32> =
                decode(&bytes, Limits { finite: true, shapes: &shapes }).unwrap();
            let evaluated = frame.items.iter().any(|reply| matches!(reply, Reply::Evaluated(_)));
            match repeats && header.client == 2 && evaluated {
                true => vec![bytes.clone(), bytes],
                false => vec![bytes],
            }
        }));
        Ended::driven(&mut server(&setup), &mut wire).unwrap()
    };
    let (once, twice) = (run(false), run(true));
    assert_eq!(once.digest, twice.digest);
    for (expected, found) in once.rounds.iter().zip(&twice.rounds) {
        let of = |round: &RoundReport<f32>| {
            let evaluation = round.evaluation.as_ref().unwrap();
            (evaluation.val_accuracy, evaluation.clients.len())
        };
        assert_eq!(of(found), of(expected));
        assert!(found.refused.iter().any(|refusal| refusal.reason.kind() == "duplicate"));
    }
}

/// A frame that arrives before `Begin` is decoded before the network is known. All of its tasks may
/// be done, so that each has to check its model by itself.
#[test]
fn models_of_other_shapes_are_refused_whenever_they_arrive() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let setup = setup("fedavg", &[]);
    let wire = |setup: &Setup| connected(setup, data("fedavg", &graph, &partition));
    let mut clients = wire(&setup).clients;
    let Reply::Enrolled(enrolment) = clients[0].handle(Task::Enroll) else { panic!() };
    let roster = Roster {
        client: 0,
        able: vec![true; CLIENTS],
        classes: enrolment.schema.classes.clone(),
        class_counts: vec![],
    };
    let model = || Some(Model::<f32>::new(0, boostfgl_nn::Params::glorot(&[], 0)));
    let header = Header { run: RunId([1; 16]), round: 0, client: 0 };
    let items = vec![
        Task::Begin(roster.clone()),
        Task::Exchange(Exchange::Finish),
        Task::Train(Broadcast { rounds_done: 0, model: model(), message: None }),
        Task::Evaluate(Trial { rounds_done: 1, model: model(), starts_next: true }),
        Task::Discard(Discard { numeric: false, model: model() }),
    ];
    let bytes = encode(&Frame { header, items });
    let frame = decode(&bytes, Limits { finite: true, shapes: &clients[0].shapes() }).unwrap();
    let replies = clients[0].receive(frame).items;
    for reply in &replies[2..] {
        let Reply::Failed(failure) = reply else { panic!("{reply:?}") };
        assert!(failure.reason.contains("the shapes of this network"), "{}", failure.reason);
    }
    assert_eq!(replies.len(), 5);
    // A list of classes that no side could count.
    let many: Vec<String> = (0..5000).map(|class| format!("c{class}")).collect();
    let classes = enrolment.schema.classes.iter().cloned().chain(many).collect();
    let refused = clients[1].handle(Task::Begin(Roster { client: 1, classes, ..roster }));
    let Reply::Failed(failure) = refused else { panic!("{refused:?}") };
    assert!(failure.reason.contains("at most 1024 classes"), "{}", failure.reason);
}

/// What a client says when it joins is checked before the server computes with it.
#[test]
fn enrolments_that_cannot_be_true_are_refused() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let setup = setup("fedavg", &[]);
    let refusal = |change: fn(&mut boostfgl_protocol::Enrolment)| {
        let mut wire = connected(&setup, data("fedavg", &graph, &partition));
        wire.fault = Some(Box::new(move |header, bytes| {
            let mut frame: ReplyFrame<f32> =
                match decode(&bytes, Limits { finite: true, shapes: &[] }) {
                    Ok(frame) if header.client == 3 => frame,
                    _ => return vec![bytes],
                };
            for reply in &mut frame.items {
                if let Reply::Enrolled(enrolment) = reply {
                    change(enrolment);
                }
            }
            vec![encode(&frame)]
        }));
        let error = Ended::driven(&mut server(&setup), &mut wire).unwrap_err();
        assert!(!error.advice().is_empty());
        error.to_string()
    };
    for (change, wanted) in [
        (
            (|e| e.nodes = u64::MAX) as fn(&mut boostfgl_protocol::Enrolment),
            "nodes: expected at most",
        ),
        (|e| e.arcs = u64::MAX, "arcs: expected at most"),
        (|e| e.test += 1_000_000, "training, validation and test nodes among its"),
        (|e| e.group_counts[0] += 1, "counts that add up to"),
        (|e| e.group_counts.clear(), "counts, found 0 counts"),
        (|e| e.schema.classes[1] = e.schema.classes[0].clone(), "every class once"),
        (|e| e.schema.classes = (0..2000).map(|c| c.to_string()).collect(), "at most 1024 classes"),
        (|e| e.schema.columns = vec!["x".into()], "names of features"),
        (|e| e.schema.features = u32::MAX, "features: expected at most 4194304"),
        (|e| e.name = "../up".into(), "a name without `/`"),
        (|e| e.name = "a\nb".into(), "without control characters"),
        (|e| e.settings[0] ^= 1, "settings"),
    ] {
        let found = refusal(change);
        assert!(found.contains("cannot join") && found.contains(wanted), "{wanted}\n{found}");
    }
}

/// The evaluation of round 2 travels with the training of round 3: if it is lost, the round counts
/// without that client.
#[test]
fn a_lost_evaluation_is_reported_and_does_not_end_the_run() {
    let refusals = with_fault(1, |_, _| vec![]).unwrap();
    let found: Vec<_> = refusals
        .iter()
        .map(|refusal| (refusal.client, refusal.round, refusal.reason.kind()))
        .collect();
    assert_eq!(found, [(1, 1, "missing"), (1, 2, "missing")]);
}

/// A client that dies at each stage: a refusal or an error that names it.
#[test]
fn a_client_that_dies_is_named_at_every_stage() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for method in ["fedavg", "fedsage-plus"] {
        let setup = setup(method, &[]);
        let mut endings = Vec::new();
        for dies_at in 0..40 {
            let mut wire = connected(&setup, data(method, &graph, &partition));
            let mut left = dies_at;
            wire.fault = Some(Box::new(move |header, bytes| {
                if header.client == 2 {
                    left -= 1;
                }
                if header.client == 2 && left < 0 { vec![] } else { vec![bytes] }
            }));
            let mut server = server(&setup);
            match Ended::driven(&mut server, &mut wire) {
                Ok(ended) => {
                    let refused = |r: &RoundReport<f32>| r.refused.iter().any(|r| r.client == 2);
                    endings.push(ended.rounds.iter().any(refused).then_some("refused"));
                }
                Err(Error::Lost { client, stage, reason }) => {
                    assert_eq!(client.number, 2);
                    let error = Error::Lost { client, stage, reason };
                    assert!(error.to_string().contains("client 2") && !error.advice().is_empty());
                    endings.push(Some(stage));
                }
                Err(other) => panic!("{method}, {dies_at}: {other}"),
            }
        }
        endings.dedup();
        let last = Some("evaluation of the last round");
        assert_eq!(
            endings,
            [Some("enrolment"), Some("start"), last, Some("end"), None],
            "{method}"
        );
    }
}

/// Whatever arrives, a client answers, and stays as it was if it refuses.
#[test]
fn a_client_refuses_tasks_that_make_no_sense() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let setup = setup("scaffold", &[]);
    let mut wire = connected(&setup, data("scaffold", &graph, &partition));
    let client = &mut wire.clients[0];
    let failed = |reply: Reply<f32>| match reply {
        Reply::Failed(failure) => {
            assert!(!failure.advice.is_empty());
            failure.reason
        }
        other => panic!("{other:?}"),
    };
    let model = || Some(Model::new(0, boostfgl_nn::Params::glorot(&shapes(&graph), 0)));
    let train = |message| Task::Train(Broadcast { rounds_done: 0, model: model(), message });
    let trial = || Task::Evaluate(Trial { rounds_done: 1, model: model(), starts_next: true });
    for early in [train(None), trial(), Task::Keep { rounds_done: 1 }, Task::Conclude, Task::Save] {
        let reason = failed(client.handle(early));
        assert!(reason.contains("before it has begun"), "{reason}");
    }
    let Reply::Enrolled(enrolment) = client.handle(Task::Enroll) else { panic!() };
    assert_eq!((enrolment.schema.classes.len(), enrolment.class_counts.len()), (CLASSES, 0));
    let classes = enrolment.schema.classes;
    let able = vec![true; CLIENTS];
    for (client_number, able, counts) in [
        (7, able.clone(), vec![]),
        (0, vec![], vec![]),
        (0, vec![false; CLIENTS], vec![]),
        (0, able.clone(), vec![1, 2]),
    ] {
        let classes = classes.clone();
        let roster = Roster { client: client_number, able, classes, class_counts: counts };
        let reason = failed(client.handle(Task::Begin(roster)));
        assert!(reason.contains("what the server says about the clients"), "{reason}");
    }
    for list in [&classes[1..], &[], &[&classes[..], &classes[..1]].concat()[..]] {
        let (able, classes) = (able.clone(), list.to_vec());
        let roster = Roster { client: 0, able, classes, class_counts: vec![] };
        let reason = failed(client.handle(Task::Begin(roster)));
        assert!(reason.contains("class"), "{reason}");
    }
    let named = classes.clone();
    let roster = Roster { client: 0, able, classes, class_counts: vec![] };
    assert_eq!(client.handle(Task::Begin(roster.clone())), Reply::Done);
    assert!(failed(client.handle(Task::Begin(roster))).contains("before its first round"));
    let broken = failed(client.handle(Task::Restore(vec![1, 2, 3])));
    assert!(broken.contains("state"), "{broken}");
    // That state was not restored, and half of it may have been: the client cannot go on.
    assert!(failed(client.handle(trial())).contains("after an error"));
    let client = &mut wire.clients[1];
    let able = vec![true; CLIENTS];
    let roster = Roster { client: 1, able, classes: named, class_counts: vec![] };
    assert_eq!(client.handle(Task::Begin(roster)), Reply::Done);
    assert!(matches!(client.handle(Task::Exchange(Exchange::Finish)), Reply::Exchanged(_)));
    // SCAFFOLD's clients need its control variate, of the shapes of the model.
    let wrong = Arc::new(Message::tensors(vec![Matrix::zeros(1, 1)]));
    for message in [None, Some(wrong)] {
        let reason = failed(client.handle(train(message)));
        assert!(reason.contains("what the server sent cannot be used"), "{reason}");
    }
    assert_eq!(
        client.handle(Task::Discard(Discard { numeric: false, model: model() })),
        Reply::Done
    );
    assert!(matches!(client.handle(trial()), Reply::Evaluated(_)));
    // A frame of another run or for another client.
    let header = Header { run: RunId([1; 16]), round: 0, client: 1 };
    client.receive(Frame { header, items: vec![Task::Keep { rounds_done: 1 }] });
    for other in [Header { run: RunId([2; 16]), ..header }, Header { client: 3, ..header }] {
        let mut reply =
            client.receive(Frame { header: other, items: vec![Task::Keep { rounds_done: 1 }] });
        let reason = failed(reply.items.pop().unwrap());
        assert!(reason.contains("expected a frame for client 1 of run 0101"), "{reason}");
    }
}

/// The shapes of the small network.
pub(crate) fn shapes(graph: &boostfgl_graph::Graph) -> Vec<boostfgl_nn::TensorShape> {
    let (inputs, layers) = (graph.features().columns(), setup("fedavg", &[]).model.layers);
    let architecture = Architecture { inputs, hidden: HIDDEN, classes: CLASSES, layers };
    backbones::build::<f32>("gcn", architecture).unwrap().shapes()
}

#[test]
fn clients_that_do_not_fit_together_are_named() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let fits = setup("fedavg", &[]);
    let wire = || connected(&fits, data("fedavg", &graph, &partition));
    let refusal =
        |wire: &mut Wire| Ended::driven(&mut server(&fits), wire).unwrap_err().to_string();
    // Other settings.
    let mut other = wire();
    let mut settings = fits.clone();
    settings.optimizer.learning_rate *= 2.0;
    other.clients[2] = connected(&settings, data("fedavg", &graph, &partition)).clients.remove(2);
    let settings = refusal(&mut other);
    assert!(settings.starts_with("client 2 cannot join: settings: expected "), "{settings}");
    // Another boost, or one with other settings, in the registry of a client.
    for (here, there) in [(None, Some(1.0)), (Some(2.0), Some(1.0))] {
        let registry = |factor: Option<f64>| match factor {
            Some(factor) => Registry::builtin().with_boost(Louder(factor)),
            None => Registry::builtin(),
        };
        let data = || data("fedavg", &graph, &partition);
        let mut other = Wire::new(&fits, data(), &registry(here));
        other.clients[1] = Wire::new(&fits, data(), &registry(there)).clients.remove(1);
        let mut server = Server::for_clients(fits.clone(), CLIENTS, &registry(here)).unwrap();
        let refused = Ended::driven(&mut server, &mut other).unwrap_err().to_string();
        assert!(refused.starts_with("client 1 cannot join: settings: expected "), "{refused}");
    }
    // Other features.
    let narrow = crate::small::graph(NARROW);
    let mut other = wire();
    let narrow_partition = crate::small::partition(&narrow);
    other.clients[3] =
        connected(&fits, data("fedavg", &narrow, &narrow_partition)).clients.remove(3);
    let features = refusal(&mut other);
    let expected =
        "client 3 cannot join: features: expected 60 features, as client 0 has, found 12 features";
    assert_eq!(features, expected);
    // Two clients under one number.
    let mut twice = wire();
    twice.fault =
        Some(Box::new(
            |header, bytes| {
                if header.client == 1 { vec![bytes.clone(), bytes] } else { vec![bytes] }
            },
        ));
    let twice = refusal(&mut twice);
    assert!(twice.starts_with("client 1, enrolment: expected one update per round"), "{twice}");
}

/// A boost with a setting.
struct Louder(f64);

impl BoostPlugin<f32> for Louder {
    fn info(&self) -> BoostInfo {
        BoostInfo { name: "louder", meaning: "client: changes nothing", acts: &[] }
    }

    fn settings(&self) -> String {
        self.0.to_string()
    }
}

/// A simulation's layers and layouts are refused between machines, with the reason.
#[test]
fn what_only_a_simulation_can_do_is_refused() {
    let join = |setup: Setup| {
        Server::<f32>::for_clients(setup, 2, &Registry::builtin()).err().unwrap().to_string()
    };
    let mut attacked = setup("fedavg", &[]);
    attacked.attack.kind = boostfgl_fed::attack::Kind::Nan;
    assert!(join(attacked).contains("attack.kind: expected none outside of a simulation"));
    assert!(join(setup("central", &[])).contains("one place holds all data"));
    assert!(Federation::<f32>::new(setup("fedavg", &[]), vec![]).is_err());
}

/// The bytes of tasks, and of the replies to them.
type Recorded = (Vec<u8>, Vec<u8>);

/// Every frame of a run.
fn recorded(method: &str, boosts: &[Boost]) -> (Setup, Vec<Recorded>) {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let setup = setup(method, boosts);
    let mut wire = connected(&setup, data(method, &graph, &partition));
    let mut server = server(&setup);
    let mut frames = Vec::new();
    while let Next::Ask(ask) = server.next() {
        let mut arrivals = Vec::new();
        for frame in ask.frames {
            let client = frame.header.client as usize;
            let task = encode(&frame);
            let reply = Wire::reply(&mut wire.clients[client], &frame);
            let limits = wire.clients[client].shapes();
            let frame = decode(&reply, Limits { finite: true, shapes: &limits }).unwrap();
            arrivals.push(Arrival { client, frame: Ok(frame), seconds: 0.0 });
            frames.push((task, reply));
        }
        server.hear(arrivals).unwrap();
    }
    (setup, frames)
}

/// Changes a few bytes, at places and to values that follow from `seed`.
fn changed(bytes: &[u8], seed: u64) -> Vec<u8> {
    let mut stream = boostfgl_graph::Stream::new(seed, "changes", &[]);
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + stream.below(3) {
        let at = stream.below(bytes.len());
        bytes[at] = stream.below(256) as u8;
    }
    bytes
}

/// Changed frames either cannot be decoded, or are done or refused: no side panics.
#[test]
fn changed_bytes_end_no_side() {
    for (method, boosts) in [("fedsage-plus", &Boost::ALL[..]), ("fairfgl", &[]), ("fedspray", &[])]
    {
        let (setup, frames) = recorded(method, boosts);
        let graph = graph(WORDS);
        let partition = partition(&graph);
        let (mut decoded, mut heard) = (0, 0);
        for round in 0..6u64 {
            let mut wire = connected(&setup, data(method, &graph, &partition));
            let mut server = server(&setup);
            let shapes = shapes(&graph);
            let limits = Limits { finite: true, shapes: &shapes };
            for (i, (task, _)) in frames.iter().enumerate() {
                let seed = round * 10_000 + i as u64;
                let frame: Result<TaskFrame<f32>, _> = decode(&changed(task, seed), limits);
                if let Ok(frame) = frame {
                    let client = (frame.header.client as usize).min(CLIENTS - 1);
                    decoded += frame.items.len();
                    wire.clients[client].receive(frame);
                }
                // The client goes on with what was really sent.
                let frame: TaskFrame<f32> = decode(task, limits).unwrap();
                wire.clients[frame.header.client as usize].receive(frame);
            }
            let mut replies = frames.iter().enumerate();
            while let Next::Ask(ask) = server.next() {
                let mut arrivals = Vec::new();
                for frame in ask.frames {
                    let Some((i, (_, reply))) = replies.next() else { break };
                    // Enrolments and starts stay as they are, since all clients are needed there.
                    let bytes = match i > 2 * CLIENTS && i.is_multiple_of(7) {
                        true => changed(reply, round * 20_000 + i as u64),
                        false => reply.clone(),
                    };
                    let frame_of = decode(&bytes, limits).map_err(Undelivered::Unreadable);
                    let client = frame.header.client as usize;
                    arrivals.push(Arrival { client, frame: frame_of, seconds: 0.0 });
                }
                heard += 1;
                if arrivals.is_empty() || server.hear(arrivals).is_err() {
                    break;
                }
            }
        }
        assert!(decoded > 50 && heard > 30, "{method}: {decoded} tasks, {heard} exchanges");
    }
}
