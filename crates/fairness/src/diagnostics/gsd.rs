//! Gradient share disparity: do minority nodes get their share of the gradient?
//!
//! GSD = (G_min / N_min) / (G_maj / N_maj) with G = Σᵥ ‖∇_θ ℓ(v; θ)‖₂ over labelled nodes, at the model θ that a round
//! starts from, without dropout. Below 1 the minority gets less gradient per node than the majority; under node boosting
//! the weighted form has αᵥ‖∇ℓᵥ‖ in place of ‖∇ℓᵥ‖.
//!
//! Masses are kept per client and class, so that the ratio follows for any minority ratio q, pooled or per client.

use super::{Diagnosis, Diagnostic, Settings, Subject};
use boostfgl_fed::Inspection;
use boostfgl_graph::groups::minority_classes;
use boostfgl_nn::Real;
use serde::{Deserialize, Serialize};

/// The gradients of the training nodes of one class at one client in one round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mass {
    /// How many training nodes there are.
    pub nodes: usize,
    /// How many of them were measured.
    pub measured: usize,
    /// Σ ‖gᵥ‖₂ over those.
    pub sum: f64,
    /// Σ ‖gᵥ‖₂².
    pub squares: f64,
    /// Σ αᵥ‖gᵥ‖₂.
    pub weighted_sum: f64,
    /// Σ αᵥ²‖gᵥ‖₂².
    pub weighted_squares: f64,
}

/// One round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GsdRound {
    /// Which, from 1.
    pub round: usize,
    /// Masses by client and class.
    pub clients: Vec<Vec<Mass>>,
}

/// Gradient masses along a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gsd {
    /// Training nodes of each class, which define the minority.
    pub training_counts: Vec<usize>,
    /// The minority ratio q of the run.
    pub minority_ratio: f64,
    /// The rounds.
    pub rounds: Vec<GsdRound>,
}

/// Watches a run for it.
pub(super) struct Watch {
    settings: Settings,
    rounds: Vec<GsdRound>,
}

impl Watch {
    pub(super) fn new(settings: Settings) -> Self {
        Self { settings, rounds: Vec::new() }
    }
}

impl<T: Real> Diagnostic<T> for Watch {
    fn inspect(&mut self, _inspection: &Inspection<'_, T>, _subject: &Subject<'_>) {}

    fn conclude(self: Box<Self>, _subject: &Subject<'_>, _diagnosis: &mut Diagnosis) {}
}
