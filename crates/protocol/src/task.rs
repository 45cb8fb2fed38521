//! What the server asks a client to do.

use crate::{Exchange, Message, Model, Roster};
use boostfgl_nn::Real;
use std::sync::Arc;

/// What the server asks a client to do. Each task has one reply.
#[derive(Clone, Debug, PartialEq)]
pub enum Task<T: Real> {
    /// Say what the client has. Reply: `Enrolled`.
    Enroll,
    /// Get ready: all clients have joined. Reply: `Done`.
    Begin(Roster),
    /// A step of an exchange before the first round. Reply: `Exchanged`.
    Exchange(Exchange<T>),
    /// Local training. Reply: `Update`.
    Train(Broadcast<T>),
    /// The last update, or the preparation, was not used: return to where it started. Reply: `Done`.
    Discard(Discard<T>),
    /// Predict with a model. Reply: `Evaluated`.
    Evaluate(Trial<T>),
    /// The evaluation after this many rounds is the one to report, until a later one replaces it.
    /// Reply: `Done`.
    Keep {
        /// Rounds done.
        rounds_done: u32,
    },
    /// The rounds are over. Reply: `Concluded`.
    Conclude,
    /// Give back the state between rounds. Reply: `State`.
    Save,
    /// Continue from a state. Reply: `Done`.
    Restore(Vec<u8>),
}

/// What the server sends at the start of a round.
#[derive(Clone, Debug)]
pub struct Broadcast<T> {
    /// Rounds done before.
    pub rounds_done: u32,
    /// The model; `None` if the client continues from its own.
    pub model: Option<Model<T>>,
    /// What the method sends in addition.
    pub message: Option<Arc<Message<T>>>,
}

impl<T: Real> PartialEq for Broadcast<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.rounds_done, &self.model) == (other.rounds_done, &other.model)
            && self.message == other.message
    }
}

/// A model to evaluate.
#[derive(Clone, Debug)]
pub struct Trial<T> {
    /// Rounds done.
    pub rounds_done: u32,
    /// The model; `None` if the client's own is evaluated.
    pub model: Option<Model<T>>,
    /// Whether the next round starts from this model, so that its results are worth caching.
    pub starts_next: bool,
}

impl<T: Real> PartialEq for Trial<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.rounds_done, self.starts_next) == (other.rounds_done, other.starts_next)
            && self.model == other.model
    }
}

/// Why an update was not used, as far as the client needs to know.
#[derive(Clone, Debug)]
pub struct Discard<T> {
    /// Whether numbers were the reason, so that the optimiser's state may not be finite.
    pub numeric: bool,
    /// The model that the client started from, if the server gave it.
    pub model: Option<Model<T>>,
}

impl<T: Real> PartialEq for Discard<T> {
    fn eq(&self, other: &Self) -> bool {
        self.numeric == other.numeric && self.model == other.model
    }
}

impl<T: Real> Task<T> {
    /// What it is, for errors.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Enroll => "to enroll",
            Self::Begin(_) => "to begin",
            Self::Exchange(_) => "a step of an exchange",
            Self::Train(_) => "to train",
            Self::Discard(_) => "to discard an update",
            Self::Evaluate(_) => "to evaluate",
            Self::Keep { .. } => "to keep an evaluation",
            Self::Conclude => "to conclude",
            Self::Save => "to save its state",
            Self::Restore(_) => "to restore a state",
        }
    }
}
