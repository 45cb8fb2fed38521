//! What a client answers.

use crate::{Enrolment, Exchanged, Update};
use boostfgl_nn::Real;

/// The reply to one task.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply<T: Real> {
    /// To `Enroll`.
    Enrolled(Enrolment),
    /// To `Begin`: how many exchanges come before the first round.
    Begun {
        /// The number of exchanges.
        exchanges: u32,
    },
    /// To `Exchange`.
    Exchanged(Exchanged<T>),
    /// To `Train`.
    Update(Update<T>),
    /// To `Evaluate`.
    Evaluated(Evaluation),
    /// To `Save`.
    State(Vec<u8>),
    /// To `Discard` and `Restore`.
    Done,
    /// To any task that could not be done.
    Failed(Failure),
}

impl<T: Real> Reply<T> {
    /// What it is, for errors.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Enrolled(_) => "an enrolment",
            Self::Begun { .. } => "a start",
            Self::Exchanged(_) => "a step of an exchange",
            Self::Update(_) => "an update",
            Self::Evaluated(_) => "an evaluation",
            Self::State(_) => "a state",
            Self::Done => "a confirmation",
            Self::Failed(_) => "a failure",
        }
    }
}

/// How well a model predicts on one client's graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evaluation {
    /// Validation nodes predicted right.
    pub hits: u64,
    /// Validation nodes with a label.
    pub validated: u64,
    /// The predicted class of every node, in a simulation only: elsewhere predictions stay with the
    /// client.
    pub predictions: Option<Vec<u32>>,
}

/// Why a task could not be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What happened, in words.
    pub reason: String,
}
