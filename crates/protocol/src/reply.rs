//! What a client answers.

use crate::{Enrolment, Exchanged, GroupCounts, Update};
use boostfgl_nn::{Matrix, Params, Real};
use std::sync::Arc;

/// The reply to one task.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply<T: Real> {
    /// To `Enroll`.
    Enrolled(Enrolment),
    /// To `Exchange`.
    Exchanged(Exchanged<T>),
    /// To `Train`.
    Update(Update<T>),
    /// To `Evaluate`.
    Evaluated(Evaluation<T>),
    /// To `Conclude`.
    Concluded(Conclusion),
    /// To `Save`.
    State(Vec<u8>),
    /// To `Begin`, `Discard`, `Keep` and `Restore`.
    Done,
    /// To any task that could not be done.
    Failed(Failure),
}

impl<T: Real> Reply<T> {
    /// What it is, for errors.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Enrolled(_) => "an enrolment",
            Self::Exchanged(_) => "a step of an exchange",
            Self::Update(_) => "an update",
            Self::Evaluated(_) => "an evaluation",
            Self::Concluded(_) => "a conclusion",
            Self::State(_) => "a state",
            Self::Done => "a confirmation",
            Self::Failed(_) => "a failure",
        }
    }
}

/// How well a model predicts on one client's graph.
#[derive(Clone, Debug)]
pub struct Evaluation<T> {
    /// Validation nodes predicted right.
    pub hits: u64,
    /// Validation nodes with a label.
    pub validated: u64,
    /// Counts of test nodes from which metrics are computed: for [`GROUPS`] groups of nodes one
    /// confusion matrix each, true class by predicted class. Empty where predictions are revealed.
    pub counts: Vec<u64>,
    /// The same test nodes by protected attribute, if the settings name a positive class. Empty
    /// where predictions are revealed.
    pub groups: Vec<GroupCounts>,
    /// What only a simulation reveals.
    pub revealed: Option<Revealed<T>>,
}

/// Groups of test nodes that are counted apart: heterophilous nodes, and the others with a known
/// homophily, and those without labelled neighbours.
pub const GROUPS: usize = 3;

impl<T: Real> PartialEq for Evaluation<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.hits, self.validated, &self.counts) == (other.hits, other.validated, &other.counts)
            && (&self.groups, &self.revealed) == (&other.groups, &other.revealed)
    }
}

/// What a simulation reveals of an evaluation. Elsewhere it stays with the client.
#[derive(Clone, Debug)]
pub struct Revealed<T> {
    /// The predicted class of each of the client's own nodes.
    pub predictions: Vec<u32>,
    /// The probability of every class, a row per node, if the settings ask for them.
    pub probabilities: Option<Matrix<T>>,
    /// The client's own model, if the server gave none.
    pub model: Option<Arc<Params<T>>>,
}

impl<T: Real> PartialEq for Revealed<T> {
    fn eq(&self, other: &Self) -> bool {
        self.predictions == other.predictions
            && self.probabilities == other.probabilities
            && self.model == other.model
    }
}

/// What a client has at the end of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conclusion {
    /// BLAKE3 of the client's own model, if the server has none of it, and of its predictions, both
    /// from the evaluation that was kept.
    pub digest: [u8; 32],
}

/// Why a task could not be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What happened, in words.
    pub reason: String,
    /// What can be done about it, in one sentence.
    pub advice: String,
}
