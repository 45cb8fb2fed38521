//! Frames survive their encoding, and bad bytes are errors.

use boostfgl_nn::{Matrix, Params, TensorShape};
use boostfgl_protocol::codec::Item;
use boostfgl_protocol::{
    Answer, Broadcast, Claims, Conclusion, Discard, Enrolment, Error, Evaluation, Exchange,
    Exchanged, Failure, Fault, Frame, GroupCounts, Header, Limits, Message, Model, Reply,
    ReplyFrame, Revealed, Roster, RunId, Schema, Summary, Task, TaskFrame, Trial, Update, Version,
    decode, encode, measure,
};
use proptest::prelude::*;
use std::fmt::Debug;
use std::sync::Arc;

/// A weight whose rows are padded in memory, and a bias.
fn shapes() -> Vec<TensorShape> {
    vec![TensorShape::weight("w", 3, 5), TensorShape::bias("b", 2)]
}

fn params(seed: u64) -> Params<f32> {
    Params::glorot(&shapes(), seed)
}

fn header() -> Header {
    Header { run: RunId([7; 16]), round: 3, client: 2 }
}

fn message() -> Message<f32> {
    Message {
        tensors: vec![Matrix::from_rows(2, 3, &[1.0, -2.0, 3.5, 0.0, -0.0, 1e-30])],
        numbers: vec![0.1, f64::MAX],
        entries: vec![(3, 0.25), (4_000_000_000, -1.0)],
    }
}

/// Every kind of task.
fn tasks() -> TaskFrame<f32> {
    let model = Model::at(Version { slot: 1, change: 9 }, Arc::new(params(1)));
    let other = Model::at(Version { slot: 1, change: 10 }, Arc::new(params(2)));
    let shared = Arc::new(message());
    let items = vec![
        Task::Enroll,
        Task::Begin(Roster {
            client: 2,
            able: vec![true, false],
            classes: ["a", "b", "ä"].map(str::to_owned).to_vec(),
            class_counts: vec![5, 0, 8],
            moments: vec![4.0, -1.5, 3.0],
        }),
        Task::Exchange(Exchange::Ask { number: 0 }),
        Task::Exchange(Exchange::Answer { number: 1, questions: vec![(4, Arc::clone(&shared))] }),
        Task::Exchange(Exchange::Receive { number: 1, answers: vec![(0, message())] }),
        Task::Exchange(Exchange::Finish),
        Task::Evaluate(Trial { rounds_done: 2, model: Some(model.clone()), starts_next: true }),
        Task::Keep { rounds_done: 1 },
        Task::Train(Broadcast {
            rounds_done: 2,
            model: Some(model.clone()),
            message: Some(shared),
        }),
        Task::Train(Broadcast { rounds_done: 2, model: Some(other), message: None }),
        Task::Discard(Discard { numeric: true, model: Some(model) }),
        Task::Conclude,
        Task::Save,
        Task::Restore(vec![1, 2, 3]),
    ];
    Frame { header: header(), items }
}

/// Every kind of reply.
fn replies() -> ReplyFrame<f32> {
    let claims = Claims {
        loss: 0.5,
        size: Some(12.0),
        norms: Some(vec![0.25, 1.0]),
        summary: Some(Summary { gap: 0.1, minority_difficulty: 0.7 }),
        seconds: 0.01,
    };
    let answers = vec![Answer::Given(1, message()), Answer::Failed(3, "no edges".to_owned())];
    let items = vec![
        Reply::Enrolled(Enrolment {
            name: "north".to_owned(),
            nodes: 4,
            training: 2,
            validation: 1,
            test: 1,
            arcs: 6,
            schema: Schema {
                features: 2,
                columns: vec!["age".to_owned(), "income".to_owned()],
                classes: vec!["no".to_owned(), String::new()],
                is_fixed: true,
                file: "nodes.csv".to_owned(),
            },
            settings: [3; 32],
            class_counts: vec![1, 1],
            moments: vec![2.0, 0.5, 0.25],
            group_counts: vec![2, 0],
        }),
        Reply::Exchanged(Exchanged::Question(None)),
        Reply::Exchanged(Exchanged::Question(Some(message()))),
        Reply::Exchanged(Exchanged::Answers(answers)),
        Reply::Exchanged(Exchanged::Received(vec![Fault {
            client: 1,
            kind: "message".to_owned(),
            reason: "too long".to_owned(),
        }])),
        Reply::Exchanged(Exchanged::Finished),
        Reply::Update(Update { claims, model: Some(Arc::new(params(3))), message: message() }),
        Reply::Update(Update {
            claims: Claims::default(),
            model: None,
            message: Message::default(),
        }),
        Reply::Evaluated(Evaluation {
            hits: 3,
            validated: 5,
            counts: vec![1, 0, 7],
            groups: Vec::new(),
            revealed: Some(Revealed {
                predictions: vec![0, 2, 1],
                probabilities: Some(Matrix::from_rows(1, 2, &[0.25, 0.75])),
                model: Some(Arc::new(params(4))),
            }),
        }),
        Reply::Evaluated(Evaluation {
            hits: 0,
            validated: 0,
            counts: vec![2, 1],
            groups: vec![
                GroupCounts {
                    outcomes: [1, 0, 1, 1],
                    right: 2,
                    positives: vec![0, 2],
                    negatives: vec![1],
                    ..GroupCounts::default()
                },
                GroupCounts {
                    attribute: "sex".to_owned(),
                    value: "f".to_owned(),
                    ..GroupCounts::default()
                },
            ],
            revealed: None,
        }),
        Reply::Concluded(Conclusion { digest: [5; 32] }),
        Reply::State(vec![9; 20]),
        Reply::Done,
        Reply::Failed(Failure { reason: "NaN".to_owned(), advice: "Check.".to_owned() }),
    ];
    Frame { header: header(), items }
}

/// The frame after its encoding, which must have the length that was measured.
fn carried<I: Item<f32> + Debug>(frame: &Frame<I>) -> Frame<I> {
    let bytes = encode(frame);
    assert_eq!(bytes.len() as u64, measure(frame).framed);
    decode(&bytes, Limits { finite: true, shapes: &shapes() }).unwrap()
}

fn decoded<I: Item<f32>>(bytes: &[u8]) -> Result<Frame<I>, Error> {
    decode(bytes, Limits { finite: true, shapes: &shapes() })
}

#[test]
fn every_task_and_reply_survives_its_encoding() {
    assert_eq!(carried(&tasks()), tasks());
    assert_eq!(carried(&replies()), replies());
}

/// By hand: a model of 3·5 + 2 numbers of 4 bytes, two tensors of shape 8 bytes, and a count.
#[test]
fn a_frame_has_the_documented_length() {
    let model = Model::new(0, params(0));
    let train = Task::Train(Broadcast { rounds_done: 0, model: Some(model), message: None });
    let frame = Frame { header: header(), items: vec![train] };
    let model = 4 + 4 + 1 + 4 + 2 * 8 + 17 * 4;
    let found = measure(&frame);
    assert_eq!(found.framed, 44 + 1 + 4 + 1 + model + 1);
    assert_eq!(found.payload, 17 * 4);
}

/// The evaluation of a round and the training of the next one need the same numbers once.
#[test]
fn a_model_is_sent_once_per_frame() {
    let model = Model::new(0, params(0));
    let trial = || Trial { rounds_done: 1, model: Some(model.clone()), starts_next: true };
    let broadcast = Broadcast { rounds_done: 1, model: Some(model.clone()), message: None };
    let evaluate = Frame { header: header(), items: vec![Task::Evaluate(trial())] };
    let both = vec![Task::Evaluate(trial()), Task::Train(broadcast)];
    let both = Frame { header: header(), items: both };
    let reference = 1 + 4 + 1 + 4 + 4 + 1 + 1;
    assert_eq!(measure(&both).framed, measure(&evaluate).framed + reference);
    // What the method sends is the model, whether or not it was there already.
    assert_eq!((measure(&evaluate).payload, measure(&both).payload), (0, 17 * 4));
    let carried = carried(&both);
    let [Task::Evaluate(first), Task::Train(second)] = &carried.items[..] else { panic!() };
    let (first, second) = (first.model.as_ref().unwrap(), second.model.as_ref().unwrap());
    assert!(Arc::ptr_eq(&first.shared(), &second.shared()));
}

/// METHODS §1 counts numbers: FedAvg sends P and a size, BoostFGL two more.
#[test]
fn payload_counts_what_methods_send() {
    let size = Some(3.0);
    let update =
        |claims| Update { claims, model: Some(Arc::new(params(0))), message: Message::default() };
    let fedavg = update(Claims { size, ..Claims::default() });
    let summary = Some(Summary::default());
    let boostfgl = update(Claims { size, summary, ..Claims::default() });
    assert_eq!(Reply::Update(fedavg).payload(), 17 * 4 + 8);
    assert_eq!(Reply::Update(boostfgl).payload(), 17 * 4 + 8 + 16);
    let message = Update { claims: Claims::default(), model: None, message: message() };
    assert_eq!(Reply::Update(message).payload(), 6 * 4 + 2 * 8 + 2 * (4 + 4));
}

#[test]
fn a_model_of_other_shapes_is_named() {
    let bytes = encode(&tasks());
    let other = [TensorShape::weight("w", 3, 4), TensorShape::bias("b", 2)];
    let error =
        decode::<f32, Task<f32>>(&bytes, Limits { finite: true, shapes: &other }).unwrap_err();
    assert_eq!(
        error,
        Error::Shapes { expected: "3x4, 1x2".to_owned(), found: "3x5, 1x2".to_owned() }
    );
}

/// An update may hold NaN: the screen refuses it and names the client. A client has no screen.
#[test]
fn a_model_for_a_client_must_be_finite() {
    for bad in [f32::NAN, f32::NEG_INFINITY] {
        let mut wild = params(0);
        wild.tensors_mut()[0].row_mut(1)[2] = bad;
        let model = Some(Model::new(0, wild.clone()));
        let train = Task::Train(Broadcast { rounds_done: 0, model, message: None });
        let task = encode(&Frame { header: header(), items: vec![train] });
        let error = decoded::<Task<f32>>(&task).unwrap_err().to_string();
        assert!(error.contains("expected a model of finite numbers"), "{error}");
        let (claims, model) = (Claims::default(), Some(Arc::new(wild)));
        let update = Reply::Update(Update { claims, model, message: Message::default() });
        let reply = encode(&Frame { header: header(), items: vec![update] });
        assert!(decoded::<Reply<f32>>(&reply).is_ok());
    }
}

#[test]
fn another_version_direction_or_width_is_named() {
    let bytes = encode(&replies());
    let mut version = bytes.clone();
    version[4] = 2;
    assert_eq!(
        decoded::<Reply<f32>>(&version).unwrap_err(),
        Error::Version { expected: 1, found: 2 }
    );
    let direction = decoded::<Task<f32>>(&bytes).unwrap_err().to_string();
    assert!(direction.contains("expected the byte for this direction at byte 6"), "{direction}");
    let mut width = bytes;
    width[7] = 8;
    let width = decoded::<Reply<f32>>(&width).unwrap_err().to_string();
    assert!(width.contains("the width of an element at byte 7"), "{width}");
}

#[test]
fn replies_to_another_frame_are_named() {
    let sent = header();
    for (what, found) in [
        ("run", Header { run: RunId([8; 16]), ..sent }),
        ("round", Header { round: 2, ..sent }),
        ("client", Header { client: 0, ..sent }),
    ] {
        let error = sent.check_reply(&found).unwrap_err().to_string();
        assert!(error.starts_with(&format!("a frame of {what} ")), "{error}");
    }
    assert!(sent.check_reply(&header()).is_ok());
}

#[test]
fn every_truncation_is_an_error() {
    for bytes in [encode(&tasks()), encode(&replies())] {
        for length in 0..bytes.len() {
            assert!(decoded::<Task<f32>>(&bytes[..length]).is_err());
            assert!(decoded::<Reply<f32>>(&bytes[..length]).is_err());
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(decoded::<Task<f32>>(&longer).is_err() && decoded::<Reply<f32>>(&longer).is_err());
    }
}

/// A tensor that claims 2³² − 1 rows without columns would cost memory and no bytes.
#[test]
fn lengths_are_checked_before_memory_is_taken() {
    let empty = Update { claims: Claims::default(), model: None, message: message() };
    let bytes = encode(&Frame { header: header(), items: vec![Reply::<f32>::Update(empty)] });
    let shape = [2u32.to_le_bytes(), 3u32.to_le_bytes()].concat();
    let at = bytes.windows(8).position(|window| window == shape).unwrap();
    for (rows, columns) in [(u32::MAX, 0), (u32::MAX, u32::MAX), (1 << 20, 1 << 10)] {
        let mut bytes = bytes.clone();
        bytes[at..at + 4].copy_from_slice(&rows.to_le_bytes());
        bytes[at + 4..at + 8].copy_from_slice(&columns.to_le_bytes());
        let error = decoded::<Reply<f32>>(&bytes).unwrap_err().to_string();
        assert!(error.contains("a tensor that fits"), "{error}");
    }
}

/// Bytes that are accepted are the bytes of what they decode to.
fn is_canonical<I: Item<f32>>(bytes: &[u8]) -> bool {
    decoded::<I>(bytes).map_or(true, |frame| encode(&frame) == bytes)
}

proptest! {
    #[test]
    fn changed_bytes_are_an_error_or_another_frame(at in any::<prop::sample::Index>(), byte: u8) {
        for mut bytes in [encode(&tasks()), encode(&replies())] {
            let at = at.index(bytes.len());
            bytes[at] = byte;
            prop_assert!(is_canonical::<Task<f32>>(&bytes));
            prop_assert!(is_canonical::<Reply<f32>>(&bytes));
        }
    }

    #[test]
    fn any_message_survives_its_encoding(
        rows in 0usize..9,
        columns in 1usize..20,
        numbers in prop::collection::vec(any::<f64>(), 0..5),
        entries in prop::collection::vec((any::<u32>(), any::<f32>()), 0..5),
    ) {
        let values: Vec<f32> = (0..rows * columns).map(|i| i as f32 - 3.5).collect();
        let tensors = vec![Matrix::from_rows(rows, columns, &values)];
        let message = Message { tensors, numbers, entries };
        let update = Update { claims: Claims::default(), model: None, message };
        let frame = Frame { header: header(), items: vec![Reply::<f32>::Update(update)] };
        let bytes = encode(&frame);
        // Bytes are compared, since NaN differs from itself.
        prop_assert_eq!(encode(&decoded::<Reply<f32>>(&bytes).unwrap()), bytes);
    }
}
