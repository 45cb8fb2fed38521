//! What the server asks a client to do.

use crate::{Exchange, Message, Model, Roster};
use boostfgl_nn::Real;
use std::sync::Arc;

/// What the server asks a client to do. Each task has one reply.
#[derive(Clone, Debug, PartialEq)]
pub enum Task<T: Real> {
    /// Say what the client has. Reply: `Enrolled`.
    Enroll,
    /// Get ready: all clients have joined. Reply: `Begun`.
    Begin(Roster),
    /// A step of an exchange before the first round. Reply: `Exchanged`.
    Exchange(Exchange<T>),
    /// Local training. Reply: `Update`.
    Train(Broadcast<T>),
    /// The last update, or the preparation, was not used: return to where it started. Reply: `Done`.
    Discard(Discard<T>),
    /// Predict with a model. Reply: `Evaluated`.
    Evaluate(Broadcast<T>),
    /// Give back the state between rounds. Reply: `State`.
    Save,
    /// Continue from a state. Reply: `Done`.
    Restore(Vec<u8>),
}

/// What the server sends for training or evaluation.
#[derive(Clone, Debug)]
pub struct Broadcast<T> {
    /// The model; `None` if the client continues from its own.
    pub model: Option<Model<T>>,
    /// What the method sends in addition.
    pub message: Option<Arc<Message<T>>>,
}

impl<T: Real> PartialEq for Broadcast<T> {
    fn eq(&self, other: &Self) -> bool {
        self.model == other.model && self.message == other.message
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
