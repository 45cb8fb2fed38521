//! What stays with a client: its predictions, and its own model if the server has none.

use boostfgl_nn::{Params, Real, StateVisitor};
use std::sync::Arc;

/// Predictions of a client, and its own model if the server gave none.
type Predicted<T> = (Vec<u32>, Option<Arc<Params<T>>>);

/// The last evaluation, and the one to report.
pub(super) struct Kept<T> {
    last: Option<Predicted<T>>,
    reported: Option<Predicted<T>>,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self { last: None, reported: None }
    }
}

impl<T: Real> Kept<T> {
    /// Stores an evaluation until the next one.
    pub(super) fn evaluated(&mut self, predictions: Vec<u32>, own: Option<Arc<Params<T>>>) {
        self.last = Some((predictions, own));
    }

    /// Saves or restores both; own models have the shapes of `model`.
    pub(super) fn visit(
        &mut self,
        model: &Params<T>,
        visitor: &mut StateVisitor<'_>,
    ) -> boostfgl_nn::Result<()> {
        for (name, kept) in [("last", &mut self.last), ("reported", &mut self.reported)] {
            let (mut predictions, mut own) = match kept.take() {
                Some((predictions, own)) => (Some(predictions), own.map(|own| Params::clone(&own))),
                None => (None, None),
            };
            visitor.option(&format!("{name} predictions"), &mut predictions, Vec::new)?;
            visitor.option(&format!("{name} model"), &mut own, || model.clone())?;
            *kept = predictions.map(|predictions| (predictions, own.map(Arc::new)));
        }
        Ok(())
    }

    /// The last evaluation is the one to report.
    pub(super) fn keep(&mut self) {
        self.reported.clone_from(&self.last);
    }

    /// The digest of what is reported.
    pub(super) fn digest(&self) -> [u8; 32] {
        let (predictions, own) =
            self.reported.as_ref().map_or((&[][..], None), |(p, own)| (p, own.as_deref()));
        digest(own, predictions)
    }
}

/// BLAKE3 of a client's own model, if the server has none, and of its predictions.
pub(crate) fn digest<T: Real>(own: Option<&Params<T>>, predictions: &[u32]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    if let Some(model) = own {
        model.feed(|bytes| {
            hasher.update(bytes);
        });
    }
    predictions.iter().for_each(|class| {
        hasher.update(&class.to_le_bytes());
    });
    *hasher.finalize().as_bytes()
}
