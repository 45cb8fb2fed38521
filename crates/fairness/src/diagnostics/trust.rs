//! Trust per layer: would it differ from trust in the whole update?
//!
//! τₖ = 1 / ((1 + λₛ rₖ)(1 + γ gₖ)) with rₖ = ‖Δθₖ‖₂ and the client's fairness gap gₖ; per layer rₖ,ₗ = ‖Δθₖ,ₗ‖₂.
//! Weights are nₖ τₖ, normalised. The gap is the one the client reported under model boosting, else 0.

use super::{Diagnosis, Diagnostic, Settings, Subject};
use boostfgl_fed::Inspection;
use boostfgl_nn::Real;
use serde::{Deserialize, Serialize};

/// One participant of a round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientTrust {
    /// Which client.
    pub client: usize,
    /// Its gap, where it reported one.
    pub gap: Option<f64>,
    /// ‖Δθₖ‖₂.
    pub norm: f64,
    /// Its weight by trust in the whole update.
    pub weight: f64,
    /// ‖Δθₖ,ₗ‖₂, as in [`Trust::layers`].
    pub layer_norms: Vec<f64>,
    /// Its weight by trust in each layer.
    pub layer_weights: Vec<f64>,
}

/// One round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrustRound {
    /// Which, from 1.
    pub round: usize,
    /// The participants, in order.
    pub clients: Vec<ClientTrust>,
}

/// Trust along a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trust {
    /// The layers' names.
    pub layers: Vec<String>,
    /// The rounds.
    pub rounds: Vec<TrustRound>,
}

/// Watches a run for it.
pub(super) struct Watch {
    settings: Settings,
}

impl Watch {
    pub(super) fn new(settings: Settings) -> Self {
        Self { settings }
    }
}

impl<T: Real> Diagnostic<T> for Watch {
    fn inspect(&mut self, _inspection: &Inspection<'_, T>, _subject: &Subject<'_>) {}

    fn conclude(self: Box<Self>, _subject: &Subject<'_>, _diagnosis: &mut Diagnosis) {}
}
