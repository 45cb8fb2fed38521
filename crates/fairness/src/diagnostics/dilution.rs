//! Dilution: does averaging cancel what helps the minority?
//!
//! g_min = −(mean gradient over the minority training nodes of all clients at the model θ that the round starts from),
//! Δθₖ = θₖ − θ, aₖ = ⟨Δθₖ, g_min⟩, and
//! DR = ⟨Σₖ wₖ Δθₖ, g_min⟩ / ((1/K) Σₖ [aₖ]₊ + ε) (Eq. dr_def_main), ε = 10⁻¹², over the clients that took part.
//! Beside DR under the weights that the server used there are those that the same updates would have had under sizes
//! (FedAvg) and under equal weights.

use super::{Diagnosis, Diagnostic, Subject};
use boostfgl_fed::Inspection;
use boostfgl_nn::Real;
use serde::{Deserialize, Serialize};

/// How far an update goes along the direction that helps the minority.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alignment {
    /// ⟨Δθₖ, g_min⟩.
    pub projection: f64,
    /// ⟨Δθₖ, g_min⟩ / (‖Δθₖ‖ ‖g_min‖); `None` if one of them is 0.
    pub cosine: Option<f64>,
}

/// One participant of a round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientAlignment {
    /// Which client.
    pub client: usize,
    /// The whole update.
    pub whole: Alignment,
    /// Layer by layer, as in [`Dilution::layers`].
    pub layers: Vec<Alignment>,
    /// Its weight in the aggregation, the mean over tensors; `None` where the method does not aggregate.
    pub weight: Option<f64>,
}

/// One round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DilutionRound {
    /// Which, from 1.
    pub round: usize,
    /// DR under the weights that were used; `None` where the method does not aggregate.
    pub dr: Option<f64>,
    /// DR under weights by size.
    pub dr_size: Option<f64>,
    /// DR under equal weights.
    pub dr_uniform: Option<f64>,
    /// The participants, in order.
    pub clients: Vec<ClientAlignment>,
}

/// Dilution along a run. Rounds in which no client has a minority training node are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Dilution {
    /// The layers' names.
    pub layers: Vec<String>,
    /// The rounds.
    pub rounds: Vec<DilutionRound>,
}

/// Watches a run for it.
#[derive(Default)]
pub(super) struct Watch {}

impl<T: Real> Diagnostic<T> for Watch {
    fn inspect(&mut self, _inspection: &Inspection<'_, T>, _subject: &Subject<'_>) {}

    fn conclude(self: Box<Self>, _subject: &Subject<'_>, _diagnosis: &mut Diagnosis) {}
}
