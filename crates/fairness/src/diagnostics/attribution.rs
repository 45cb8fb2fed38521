//! Attribution of the loss: whose loss did training reduce?
//!
//! ℓᵥ of every training node under the model of the first round's start and under the model judged after the last,
//! without dropout; the minority's part of Σᵥ (ℓᵥ⁰ − ℓᵥᵀ), beside its parts of the nodes and of the initial loss.

use super::{Diagnosis, Diagnostic, Subject};
use boostfgl_fed::Inspection;
use boostfgl_nn::Real;
use serde::{Deserialize, Serialize};

/// The training nodes of one group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupLoss {
    /// How many there are.
    pub nodes: usize,
    /// Σ ℓᵥ at the start.
    pub initial: f64,
    /// Σ ℓᵥ at the end.
    pub last: f64,
    /// Mean over the nodes of (ℓᵥ⁰ − ℓᵥᵀ) / ℓᵥ⁰; `None` without nodes.
    pub normalised_decrease: Option<f64>,
}

/// Whose loss was reduced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Attribution {
    /// Of minority classes.
    pub minority: GroupLoss,
    /// The others.
    pub majority: GroupLoss,
    /// The minority's share of the total decrease; `None` if the loss did not change.
    pub share_of_decrease: Option<f64>,
    /// The minority's share of the training nodes.
    pub share_of_nodes: Option<f64>,
    /// The minority's share of the initial loss.
    pub share_of_initial_loss: Option<f64>,
}

/// Watches a run for it.
#[derive(Default)]
pub(super) struct Watch {}

impl<T: Real> Diagnostic<T> for Watch {
    fn inspect(&mut self, _inspection: &Inspection<'_, T>, _subject: &Subject<'_>) {}

    fn conclude(self: Box<Self>, _subject: &Subject<'_>, _diagnosis: &mut Diagnosis) {}
}
