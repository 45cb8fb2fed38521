//! What a client sends after local training: claims and a payload.

use crate::Message;
use boostfgl_nn::{Params, Real};
use std::sync::Arc;

/// The update of one client in one round.
///
/// The *payload* is the model and the tensors and entries of the message: numbers that are combined
/// with those of other clients. The *claims* are single numbers about the client. A client may lie
/// about them, and the server cannot recompute them.
#[derive(Clone, Debug)]
pub struct Update<T> {
    /// What the client says about itself.
    pub claims: Claims,
    /// θₖ after local training, if the method sends it.
    pub model: Option<Arc<Params<T>>>,
    /// What the method sends in addition. Its single numbers are claims.
    pub message: Message<T>,
}

impl<T: Real> PartialEq for Update<T> {
    fn eq(&self, other: &Self) -> bool {
        self.claims == other.claims && self.model == other.model && self.message == other.message
    }
}

/// What a client says about itself in an update.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Claims {
    /// Its training loss in the last local epoch.
    pub loss: f64,
    /// Its weight in a plain average, if the method needs it.
    pub size: Option<f64>,
    /// ‖Δ‖₂ of each tensor of what is combined, where the server cannot compute it: it has no model,
    /// or not the one that training started from.
    pub norms: Option<Vec<f64>>,
    /// Its fairness summary, if a boost asks for one.
    pub summary: Option<Summary>,
    /// Seconds its local work took.
    pub seconds: f64,
}

/// A client's fairness summary for the server.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// max(0, accuracy on majority − accuracy on minority) over training nodes; 0 if either group
    /// is empty.
    pub gap: f64,
    /// Mean d̄ over the minority training nodes; 0 if there are none.
    pub minority_difficulty: f64,
}
