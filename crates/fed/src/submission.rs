//! What the server holds of one participant's update while it decides on it.

use crate::aggregate::Contribution;
use crate::attack::{Forged, HonestUpdate};
use crate::client::length;
use crate::methods::ServerRule;
use crate::screen::{Envelope, Form};
use boostfgl_nn::{Params, Real};
use boostfgl_protocol::Update;
use std::sync::Arc;

/// What one participant submits in a round.
pub(crate) struct Submission<T> {
    pub(crate) client: usize,
    /// The round that it claims to be for.
    pub(crate) round: usize,
    pub(crate) update: Update<T>,
    /// Payload bytes that the client received.
    pub(crate) bytes_down: u64,
    /// Whether it arrived twice.
    pub(crate) twice: bool,
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
    /// An update that has just arrived.
    pub(crate) fn new(client: usize, round: usize, update: Update<T>, bytes_down: u64) -> Self {
        Self { client, round, update, bytes_down, twice: false, moved: Movement::default() }
    }

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

    /// What an honest client would send, as far as the update itself says it.
    pub(crate) fn honest_update(&self, enrolled: f64) -> HonestUpdate<'_, T> {
        let Update { claims, model, message } = &self.update;
        HonestUpdate {
            client: self.client,
            start: None,
            received: None,
            form: Form::message(),
            model: model.as_deref(),
            message,
            norms: claims.norms.as_deref(),
            shows_distance: false,
            labelled: 0.0,
            size: self.size(enrolled),
            summary: claims.summary,
        }
    }

    /// Replaces parts of the submission by forged ones.
    pub(crate) fn replace(&mut self, forged: Forged<T>) {
        let Forged { round, model, message, size, summary, norms, twice } = forged;
        let Update { claims, model: own_model, message: own_message } = &mut self.update;
        (self.round, self.twice) = (round, twice);
        if let Some(model) = model.filter(|_| own_model.is_some()) {
            *own_model = Some(Arc::new(model));
        }
        if let Some(message) = message {
            *own_message = message;
        }
        claims.size = size.or(claims.size);
        claims.summary = summary.or(claims.summary);
        // Where the server measures the distance, a claim would have no effect.
        if claims.norms.is_some() {
            claims.norms = norms.or(claims.norms.take());
        }
    }

    /// What arrives at the server: one envelope, or two if it was sent twice.
    pub(crate) fn envelopes<'a>(
        &'a self,
        server: &dyn ServerRule<T>,
        enrolled: f64,
    ) -> Vec<Envelope<'a, T>> {
        let Update { claims, model, message } = &self.update;
        let envelope = Envelope {
            from: self.client,
            round: self.round,
            model: model.as_deref(),
            message,
            norm: self.moved.norm,
            tensor_norms: &self.moved.tensor_norms,
            combined: model.is_some() || server.moved(message).is_some(),
            size: self.size(enrolled),
            summary: claims.summary,
            seconds: claims.seconds,
        };
        vec![envelope; 1 + usize::from(self.twice)]
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
