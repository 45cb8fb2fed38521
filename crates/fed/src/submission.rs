//! What the server holds of one participant's update while it decides on it.

use crate::aggregate::Contribution;
use crate::client::length;
use crate::methods::ServerRule;
use crate::screen::Envelope;
use boostfgl_nn::{Params, Real};
use boostfgl_protocol::Update;

/// What one participant submits in a round.
pub(crate) struct Submission<T> {
    pub(crate) client: usize,
    /// The round that it claims to be for.
    pub(crate) round: usize,
    pub(crate) update: Update<T>,
    /// Payload bytes that the client received.
    pub(crate) bytes_down: u64,
    /// Bytes of the frames that brought it, and that asked for it.
    pub(crate) framed: (u64, u64),
    /// Seconds until it arrived.
    pub(crate) seconds: f64,
    /// How far what is combined moved, once the server has measured it.
    pub(crate) moved: Movement,
}

/// How far something moved in a round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Movement {
    /// ‖Δ‖₂ of each tensor.
    pub(crate) tensor_norms: Vec<f64>,
    /// ‖Δ‖₂.
    pub(crate) norm: f64,
}

impl Movement {
    fn new(tensor_norms: Vec<f64>) -> Self {
        Self { norm: length(&tensor_norms), tensor_norms }
    }
}

impl<T: Real> Submission<T> {
    /// Measures how far the update moved from `start`, the model that the server gave. What the
    /// server cannot measure is the client's claim.
    pub(crate) fn measure(&mut self, start: Option<&Params<T>>) {
        let measured = match (&self.update.model, start) {
            // A model of other shapes is refused. Until then there is no distance.
            (Some(model), Some(start)) if same_shapes(model, start) => {
                Some(model.tensor_distances(start))
            }
            _ => None,
        };
        let claimed = || self.update.claims.norms.clone().unwrap_or_default();
        self.moved = Movement::new(measured.unwrap_or_else(claimed));
    }

    /// The weight in a plain average: as claimed, or as enrolled if the method sends no size.
    pub(crate) fn size(&self, enrolled: f64) -> f64 {
        self.update.claims.size.unwrap_or(enrolled)
    }

    /// What the screen examines.
    pub(crate) fn envelope(&self, server: &dyn ServerRule<T>, enrolled: f64) -> Envelope<'_, T> {
        let Update { claims, model, message } = &self.update;
        Envelope {
            from: self.client,
            round: self.round,
            model: model.as_deref(),
            message,
            norm: self.moved.norm,
            tensor_norms: &self.moved.tensor_norms,
            combined: model.is_some() || server.moved(message).is_some(),
            size: self.size(enrolled),
            summary: claims.summary,
            seconds: self.seconds,
        }
    }

    /// The update in the form that a server rule combines.
    pub(crate) fn contribution(&self, enrolled: f64) -> Contribution<'_, T> {
        let Update { claims, model, message } = &self.update;
        Contribution {
            client: self.client,
            model: model.as_deref(),
            message,
            norm: self.moved.norm,
            tensor_norms: &self.moved.tensor_norms,
            size: self.size(enrolled),
            summary: claims.summary,
        }
    }
}

/// Whether two models have tensors of the same shapes.
fn same_shapes<T: Real>(a: &Params<T>, b: &Params<T>) -> bool {
    a.tensors().len() == b.tensors().len()
        && a.tensors()
            .iter()
            .zip(b.tensors())
            .all(|(a, b)| (a.rows(), a.columns()) == (b.rows(), b.columns()))
}
