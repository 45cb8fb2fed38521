//! Replies that are lost, repeated or untrue where the run depends on them.

use crate::small::*;
use crate::two_sides::{connected, server, shapes};
use boostfgl_conformance::{Ended, Wire};
use boostfgl_fed::boost::Boost;
use boostfgl_fed::boost::model::TrustScope;
use boostfgl_fed::config::ReportedRound;
use boostfgl_fed::{ClientLayer, Error, Next, Result, Setup};
use boostfgl_nn::Params;
use boostfgl_protocol::{
    Broadcast, Header, Limits, Model, Reply, ReplyFrame, Roster, RunId, Task, Update, decode,
    encode,
};
use std::sync::Arc;

/// Runs FedAvg with a fault in the replies: `fault` says which of them are lost, by header and
/// content.
fn with_losses(
    setup: &Setup,
    lost: impl Fn(Header, &[Reply<f32>]) -> bool + 'static,
    repeats: usize,
) -> Result<Ended> {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let mut wire = connected(setup, data("fedavg", &graph, &partition));
    let shapes = shapes(&graph);
    let mut left = repeats;
    wire.fault = Some(Box::new(move |header, bytes| {
        let frame: ReplyFrame<f32> =
            decode(&bytes, Limits { finite: true, shapes: &shapes }).unwrap();
        if left > 0 && lost(header, &frame.items) {
            left -= 1;
            return vec![];
        }
        vec![bytes]
    }));
    Ended::driven(&mut server(setup), &mut wire)
}

/// Whether it is the evaluation of the last of three rounds, of client 1.
fn is_last_evaluation(header: Header, replies: &[Reply<f32>]) -> bool {
    let evaluates = replies.iter().any(|reply| matches!(reply, Reply::Evaluated(_)));
    let trains = replies.iter().any(|reply| matches!(reply, Reply::Update(_)));
    header.client == 1 && header.round == 3 && evaluates && !trains
}

/// The evaluation of the round to report is asked for again, and the result is that of a run without
/// a loss.
#[test]
fn a_lost_evaluation_of_the_reported_round_is_asked_for_again() {
    let setup = setup("fedavg", &[]);
    let whole = with_losses(&setup, |_, _| false, 0).unwrap();
    for repeats in [1, 2] {
        let ended = with_losses(&setup, is_last_evaluation, repeats).unwrap();
        assert_eq!(ended.digest, whole.digest);
        assert_eq!(ended.rounds[2].evaluation.as_ref().unwrap().clients.len(), CLIENTS);
    }
    let error = with_losses(&setup, is_last_evaluation, 3).unwrap_err();
    assert!(
        matches!(&error, Error::Lost { client, stage, .. }
            if client.number == 1 && *stage == "evaluation of the last round"),
        "{error}"
    );
}

/// A round that not all clients have evaluated is not chosen, so that every client has predictions
/// of the round that is.
#[test]
fn a_round_with_a_lost_evaluation_is_never_the_best() {
    let mut setup = setup("fedavg", &[]);
    setup.protocol.report = ReportedRound::BestVal;
    for lost in 1..=3 {
        let ended = with_losses(
            &setup,
            move |header, replies| {
                let evaluates = replies.iter().any(|reply| matches!(reply, Reply::Evaluated(_)));
                // The evaluation of a round travels with the training of the next.
                header.client == 2 && evaluates && header.round == 3.min(lost + 1)
            },
            1,
        )
        .unwrap();
        assert!(!ended.digest.is_empty());
        let incomplete = ended.rounds.iter().filter_map(|round| round.evaluation.as_ref());
        for evaluation in incomplete.filter(|evaluation| evaluation.clients.len() < CLIENTS) {
            assert!(!evaluation.is_best && !evaluation.is_reported);
        }
    }
}

/// FedProto's clients send no model and show no distance: what they claim must not decide how many
/// weights there are.
#[test]
fn claimed_distances_that_nothing_shows_end_no_server() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let mut setup = setup("fedproto", &[Boost::Model]);
    setup.boost.model.trust_scope = TrustScope::Tensor;
    let run = |claimed: Option<Option<Vec<f64>>>| {
        let mut wire = connected(&setup, data("fedproto", &graph, &partition));
        let shapes = shapes(&graph);
        wire.fault = Some(Box::new(move |header, bytes| {
            let mut frame: ReplyFrame<f32> =
                decode(&bytes, Limits { finite: true, shapes: &shapes }).unwrap();
            for reply in &mut frame.items {
                if let (Reply::Update(update), 0, Some(claimed)) = (reply, header.client, &claimed)
                {
                    update.claims.norms.clone_from(claimed);
                }
            }
            vec![encode(&frame)]
        }));
        Ended::driven(&mut server(&setup), &mut wire).unwrap().digest
    };
    let honest = run(None);
    for claimed in [None, Some(vec![]), Some(vec![1.0; 5000])] {
        assert_eq!(run(Some(claimed)), honest, "norms have no effect on prototypes");
    }
}

/// Counts that do not add up to the test nodes of the enrolment, and hits that cannot be.
#[test]
fn evaluations_that_cannot_be_true_are_refused() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let setup = setup("fedavg", &[]);
    for change in [
        (|e| e.counts = vec![1]) as fn(&mut boostfgl_protocol::Evaluation<f32>),
        (|e| e.counts = vec![u64::MAX; 3 * CLASSES * CLASSES]),
        (|e| e.hits = e.validated + 1),
        (|e| e.validated += 1),
    ] {
        let mut wire = connected(&setup, data("fedavg", &graph, &partition));
        let shapes = shapes(&graph);
        wire.fault = Some(Box::new(move |header, bytes| {
            let mut frame: ReplyFrame<f32> =
                decode(&bytes, Limits { finite: true, shapes: &shapes }).unwrap();
            for reply in &mut frame.items {
                if let (Reply::Evaluated(evaluation), 1, 2) = (reply, header.client, header.round) {
                    change(evaluation);
                }
            }
            vec![encode(&frame)]
        }));
        let ended = Ended::driven(&mut server(&setup), &mut wire).unwrap();
        let refused: Vec<_> = ended.rounds.iter().flat_map(|round| &round.refused).collect();
        assert_eq!(refused.len(), 1, "{refused:?}");
        assert_eq!((refused[0].client, refused[0].reason.kind()), (1, "message"));
    }
}

/// A client that has begun, with its number, and the roster it began with.
fn begun(wire: &mut Wire, number: u32, able: Vec<bool>) {
    let client = &mut wire.clients[number as usize];
    let Reply::Enrolled(enrolment) = client.handle(Task::Enroll) else { panic!() };
    let classes = enrolment.schema.classes;
    let roster = Roster { client: number, able, classes, class_counts: vec![] };
    assert_eq!(client.handle(Task::Begin(roster)), Reply::Done);
    let finish = Task::Exchange(boostfgl_protocol::Exchange::Finish);
    assert!(matches!(client.handle(finish), Reply::Exchanged(_)));
}

/// A frame that arrives twice must not train twice: the optimiser would be ahead of the model.
#[test]
fn a_repeated_task_to_train_is_refused() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let mut wire = connected(&setup("fedavg", &[]), data("fedavg", &graph, &partition));
    begun(&mut wire, 0, vec![true; CLIENTS]);
    let client = &mut wire.clients[0];
    let model = Some(Model::new(0, Params::glorot(&shapes(&graph), 0)));
    let train =
        |rounds_done| Task::Train(Broadcast { rounds_done, model: model.clone(), message: None });
    let first = client.handle(train(0));
    assert!(matches!(first, Reply::Update(_)));
    let again = client.handle(train(0));
    let Reply::Failed(failure) = again else { panic!("{again:?}") };
    assert!(failure.reason.contains("after this round"), "{}", failure.reason);
    assert!(matches!(client.handle(train(1)), Reply::Update(_)));
}

#[test]
fn a_client_without_training_nodes_refuses_to_train() {
    let graph = graph(WORDS);
    let split = boostfgl_graph::Split::new(vec![boostfgl_graph::Role::Val; graph.len()]);
    let all = partition(&graph).client_graphs(&graph);
    let data = all.into_iter().map(|mut client| {
        let nodes: Vec<u32> = (0..client.graph.len() as u32).collect();
        client.split = split.select(&nodes);
        boostfgl_fed::LocalData::new(&client)
    });
    let mut wire = connected(&setup("fedavg", &[]), data.collect());
    begun(&mut wire, 0, vec![false; CLIENTS]);
    let model = Some(Model::new(0, Params::glorot(&shapes(&graph), 0)));
    let task = Task::Train(Broadcast { rounds_done: 0, model, message: None });
    let reply = wire.clients[0].handle(task);
    let Reply::Failed(failure) = reply else { panic!("{reply:?}") };
    assert!(failure.reason.contains("without training nodes"), "{}", failure.reason);
}

/// A frame of an earlier run with the same settings is refused, if the runs have different ids.
#[test]
fn runs_with_ids_of_their_own_refuse_frames_of_each_other() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let setup = setup("fedavg", &[]);
    let mut wire = connected(&setup, data("fedavg", &graph, &partition));
    let first_frames = |id| {
        let mut server = server(&setup).with_run_id(RunId([id; 16]));
        let Next::Ask(ask) = server.next() else { panic!() };
        ask.frames
    };
    let mut of_first = first_frames(1);
    let mut of_second = first_frames(2);
    assert_ne!(of_first[0].header.run, of_second[0].header.run);
    let reply = wire.clients[0].receive(of_first.remove(0));
    assert!(matches!(reply.items[0], Reply::Enrolled(_)));
    let reply = wire.clients[0].receive(of_second.remove(0));
    let Reply::Failed(failure) = &reply.items[0] else { panic!("{reply:?}") };
    assert!(failure.reason.contains("of run 0101"), "{}", failure.reason);
}

/// Halves how far the model moved, on the client.
struct Halved;

impl ClientLayer<f32> for Halved {
    fn outgoing(&mut self, broadcast: &Broadcast<f32>, update: &mut Update<f32>) -> Result<()> {
        let (Some(start), Some(model)) = (&broadcast.model, &mut update.model) else {
            return Ok(());
        };
        let model = Arc::make_mut(model);
        for (tensor, start) in model.tensors_mut().iter_mut().zip(start.tensors()) {
            for row in 0..tensor.rows() {
                let moved = tensor.row_mut(row).iter_mut().zip(start.row(row));
                moved.for_each(|(x, start)| *x = start + (*x - start) / 2.0);
            }
        }
        Ok(())
    }
}

/// A layer changes what leaves the client, not what the client has; the server measures what
/// arrives.
#[test]
fn a_client_layer_changes_what_is_sent() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let mut setup = setup("fedavg", &[]);
    setup.protocol.rounds = 1;
    let run = |layered: bool| {
        let mut wire = connected(&setup, data("fedavg", &graph, &partition));
        if layered {
            let clients = std::mem::take(&mut wire.clients).into_iter();
            wire.clients = clients.map(|client| client.with_layer(Box::new(Halved))).collect();
        }
        let mut server = server(&setup);
        let ended = Ended::driven(&mut server, &mut wire).unwrap();
        let norms: Vec<f64> =
            ended.rounds[0].clients.iter().map(|client| client.update_norm).collect();
        (norms, server.reported_models()[0].clone())
    };
    let ((plain, _), (halved, _)) = (run(false), run(true));
    for (plain, halved) in plain.iter().zip(&halved) {
        assert!((plain / 2.0 - halved).abs() < 1e-5 * plain, "{plain} and {halved}");
    }
}
