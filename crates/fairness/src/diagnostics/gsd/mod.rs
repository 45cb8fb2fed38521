//! Gradient share disparity: do minority nodes get their share of the gradient?
//!
//! GSD = (G_min / N_min) / (G_maj / N_maj) with G = Σᵥ ‖∇_θ ℓ(v; θ)‖₂ over labelled nodes, at the
//! model θ that a round starts from, without dropout. Below 1 the minority gets less gradient per
//! node than the majority; under node boosting the weighted form has αᵥ‖∇ℓᵥ‖ in place of ‖∇ℓᵥ‖.
//!
//! All clients with training nodes are measured in every round, whether they take part in it or
//! not; those that sat out have αᵥ = 1 and plain messages.
//!
//! Masses are kept per client and class, so that the ratio follows for any minority ratio q, pooled
//! or per client.

mod norms;
mod products;
mod ratio;
mod watch;

pub use norms::gradient_norms;
pub use ratio::{Ratio, Weighting};
pub(super) use watch::Watch;

use serde::{Deserialize, Serialize};

/// The gradients of the training nodes of one class at one client in one round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mass {
    /// How many training nodes there are.
    pub nodes: usize,
    /// How many of them were measured; a node whose norm overflows is not.
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
    /// Training nodes of each class, which define the minority for any ratio q.
    pub training_counts: Vec<usize>,
    /// Per class, whether it is a minority class of the run; `None` for a class without a training
    /// node.
    #[serde(default)]
    pub minority: Vec<Option<bool>>,
    /// The minority ratio q of the run, in files that do not name its minority classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minority_ratio: Option<f64>,
    /// The rounds.
    pub rounds: Vec<GsdRound>,
}
