//! What stays with a client: its predictions, and its own model if the server has none.

use boostfgl_nn::{Matrix, Params, Real, StateVisitor};
use std::sync::Arc;

/// What a client keeps of an evaluation.
#[derive(Clone)]
pub struct Evaluated<T> {
    /// The number of rounds done.
    pub rounds_done: u32,
    /// The class that is predicted for each of the client's own nodes.
    pub predictions: Vec<u32>,
    /// The probability of every class, a row per node, if the settings ask for them.
    pub probabilities: Option<Matrix<T>>,
    /// The client's own model, if the server gave none.
    pub own: Option<Arc<Params<T>>>,
}

/// The last evaluation, and the one to report.
pub(super) struct Kept<T> {
    last: Option<Evaluated<T>>,
    reported: Option<Evaluated<T>>,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self { last: None, reported: None }
    }
}

impl<T: Real> Kept<T> {
    /// Stores an evaluation until the next one.
    pub(super) fn evaluated(&mut self, evaluated: Evaluated<T>) {
        self.last = Some(evaluated);
    }

    /// The evaluation after this many rounds is the one to report. Whether it is known: the last
    /// one, or the one that was kept before.
    pub(super) fn keep(&mut self, rounds_done: u32) -> bool {
        let is_that = |kept: &Evaluated<T>| kept.rounds_done == rounds_done;
        if self.last.as_ref().is_some_and(is_that) {
            self.reported.clone_from(&self.last);
        }
        self.reported.as_ref().is_some_and(is_that)
    }

    /// The evaluation to report.
    pub(super) fn reported(&self) -> Option<&Evaluated<T>> {
        self.reported.as_ref()
    }

    /// The digest of what is reported.
    pub(super) fn digest(&self) -> [u8; 32] {
        match &self.reported {
            Some(Evaluated { predictions, own, .. }) => digest(own.as_deref(), predictions),
            None => digest::<T>(None, &[]),
        }
    }

    /// Saves or restores both; own models have the shapes of `model`, and there is one class of so
    /// many for each of the client's own nodes.
    pub(super) fn visit(
        &mut self,
        model: &Params<T>,
        (nodes, classes): (usize, usize),
        visitor: &mut StateVisitor<'_>,
    ) -> boostfgl_nn::Result<()> {
        for (name, kept) in [("last", &mut self.last), ("reported", &mut self.reported)] {
            let (mut round, mut predictions, mut probabilities, mut own) = match kept.take() {
                Some(Evaluated { rounds_done, predictions, probabilities, own }) => {
                    let own = own.map(|own| Params::clone(&own));
                    (rounds_done as usize, Some(predictions), probabilities, own)
                }
                None => (0, None, None, None),
            };
            visitor.visit(&format!("{name} evaluated round"), &mut round)?;
            visitor.option(&format!("{name} predictions"), &mut predictions, Vec::new)?;
            let rows = || Matrix::zeros(nodes, classes);
            visitor.option(&format!("{name} probabilities"), &mut probabilities, rows)?;
            visitor.option(&format!("{name} model"), &mut own, || model.clone())?;
            let fits = predictions.as_ref().is_none_or(|found| {
                found.len() == nodes && found.iter().all(|&class| (class as usize) < classes)
            });
            if !fits {
                let expected = format!("a class below {classes} for each of {nodes} nodes");
                return Err(visitor.mismatch(expected, "other predictions"));
            }
            *kept = predictions.map(|predictions| Evaluated {
                rounds_done: round as u32,
                predictions,
                probabilities,
                own: own.map(Arc::new),
            });
        }
        Ok(())
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
    let classes: Vec<u8> = predictions.iter().flat_map(|class| class.to_le_bytes()).collect();
    hasher.update(&classes);
    *hasher.finalize().as_bytes()
}
