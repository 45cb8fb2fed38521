//! Frames of the protocol, in both directions.

use boostfgl::nn::{Matrix, Params, TensorShape};
use boostfgl::protocol::codec::Item;
use boostfgl::protocol::{
    Answer, Broadcast, Claims, Conclusion, Discard, Enrolment, Evaluation, Exchange, Exchanged,
    Failure, Fault, Frame, GroupCounts, Header, Limits, Message, Model, Reply, Revealed, Roster,
    RunId, Summary, Task, Trial, Update, decode, encode,
};
use std::sync::Arc;

/// The network of the fuzzed federation.
fn shapes() -> [TensorShape; 2] {
    [TensorShape::weight("w", 2, 3), TensorShape::bias("b", 3)]
}

pub(crate) fn tasks(input: &[u8]) -> String {
    frame::<Task<f32>>(input)
}

pub(crate) fn replies(input: &[u8]) -> String {
    frame::<Reply<f32>>(input)
}

/// Bytes that are accepted must be those of what they decode to.
fn frame<I: Item<f32>>(input: &[u8]) -> String {
    match decode::<f32, I>(input, Limits { finite: true, shapes: &shapes() }) {
        Ok(frame) => {
            assert_eq!(encode(&frame), input, "another encoding of the same frame");
            "ok".to_owned()
        }
        Err(error) => error.to_string(),
    }
}

/// A frame with every kind of task, and one with every kind of reply.
pub(crate) fn seeds() -> [(&'static str, Vec<u8>); 2] {
    let header = Header { run: RunId([1; 16]), round: 2, client: 1 };
    let tasks = Frame { header, items: every_task() };
    let replies = Frame { header, items: every_reply() };
    [("tasks", encode(&tasks)), ("replies", encode(&replies))]
}

fn message() -> Message<f32> {
    Message {
        tensors: vec![Matrix::from_rows(1, 2, &[0.5, -1.0])],
        numbers: vec![2.0],
        entries: vec![(3, 0.25)],
    }
}

fn every_task() -> Vec<Task<f32>> {
    let model = Model::new(0, Params::glorot(&shapes(), 1));
    let sent = Some(Arc::new(message()));
    let broadcast = Broadcast { rounds_done: 1, model: Some(model.clone()), message: sent };
    let roster = Roster {
        client: 1,
        able: vec![true, false],
        classes: vec!["a".to_owned(), "b".to_owned()],
        class_counts: vec![3, 1],
        moments: vec![],
    };
    vec![
        Task::Enroll,
        Task::Begin(roster),
        Task::Exchange(Exchange::Ask { number: 0 }),
        Task::Exchange(Exchange::Answer { number: 0, questions: vec![(0, Arc::new(message()))] }),
        Task::Exchange(Exchange::Receive { number: 0, answers: vec![(0, message())] }),
        Task::Exchange(Exchange::Finish),
        Task::Evaluate(Trial { rounds_done: 1, model: Some(model.clone()), starts_next: true }),
        Task::Keep { rounds_done: 1 },
        Task::Train(broadcast),
        Task::Discard(Discard { numeric: false, model: Some(model) }),
        Task::Conclude,
        Task::Save,
        Task::Restore(vec![7; 4]),
    ]
}

fn every_reply() -> Vec<Reply<f32>> {
    let claims = Claims {
        loss: 0.5,
        size: Some(4.0),
        norms: Some(vec![0.5]),
        summary: Some(Summary { gap: 0.5, minority_difficulty: 0.25 }),
        seconds: 0.125,
    };
    let model = Some(Arc::new(Params::glorot(&shapes(), 2)));
    let revealed =
        Some(Revealed { predictions: vec![0, 1], probabilities: None, model: model.clone() });
    let answers = vec![Answer::Given(0, message()), Answer::Failed(2, "no edges".to_owned())];
    vec![
        Reply::Enrolled(Enrolment { nodes: 3, class_counts: vec![1, 2], ..Enrolment::default() }),
        Reply::Exchanged(Exchanged::Question(Some(message()))),
        Reply::Exchanged(Exchanged::Answers(answers)),
        Reply::Exchanged(Exchanged::Received(vec![Fault {
            client: 1,
            kind: "message".to_owned(),
            reason: "too long".to_owned(),
        }])),
        Reply::Exchanged(Exchanged::Finished),
        Reply::Update(Update { claims, model, message: message() }),
        Reply::Evaluated(Evaluation {
            hits: 1,
            validated: 2,
            counts: vec![3, 4],
            groups: Vec::new(),
            revealed,
        }),
        Reply::Evaluated(Evaluation {
            hits: 1,
            validated: 2,
            counts: vec![3, 4],
            groups: vec![GroupCounts {
                attribute: "sex".to_owned(),
                value: "f".to_owned(),
                right: 1,
                outcomes: [1, 0, 0, 0],
                positives: vec![1],
                negatives: Vec::new(),
            }],
            revealed: None,
        }),
        Reply::Concluded(Conclusion { digest: [6; 32] }),
        Reply::State(vec![7; 4]),
        Reply::Done,
        Reply::Failed(Failure { reason: "NaN".to_owned(), advice: "Check.".to_owned() }),
    ]
}
