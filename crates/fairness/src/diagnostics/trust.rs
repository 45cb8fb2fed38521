//! Trust per layer: would it differ from trust in the whole update?
//!
//! τₖ = 1 / ((1 + λₛ rₖ)(1 + γ gₖ)) with rₖ = ‖Δθₖ‖₂ and the client's fairness gap gₖ; per layer
//! rₖ,ₗ = ‖Δθₖ,ₗ‖₂. Weights are nₖ τₖ, normalised. The gap is the one the client reported under
//! model boosting, else 0. It is always this rational form times the size, whatever form of trust,
//! scope or base weights the run itself uses.

use super::layers::Layers;
use super::{Diagnosis, Diagnostic, Settings, Subject, findings};
use boostfgl_fed::{Inspected, Inspection};
use boostfgl_nn::{Real, StateVisitor};
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

impl ClientTrust {
    fn is_finite(&self) -> bool {
        let whole = [self.norm, self.weight];
        whole.iter().chain(&self.layer_norms).chain(&self.layer_weights).all(|x| x.is_finite())
    }
}

/// One round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrustRound {
    /// Which, from 1.
    pub round: usize,
    /// The participants, in order.
    pub clients: Vec<ClientTrust>,
}

/// Trust along a run. Rounds in which a norm overflows are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trust {
    /// The layers' names.
    pub layers: Vec<String>,
    /// The rounds.
    pub rounds: Vec<TrustRound>,
}

impl TrustRound {
    /// Whether no norm or weight is infinite or NaN.
    fn is_finite(&self) -> bool {
        self.clients.iter().all(ClientTrust::is_finite)
    }

    /// How far the weights of layer `l` are from those of the whole: ½ Σₖ |wₖ,ₗ − wₖ|, the share of
    /// the weight that moves to other clients.
    fn variation(&self, l: usize) -> f64 {
        self.clients
            .iter()
            .map(|client| (client.layer_weights[l] - client.weight).abs())
            .sum::<f64>()
            / 2.0
    }
}

impl Trust {
    /// How far trust per layer is from trust in the whole: for each layer the total variation
    /// distance ½ Σₖ |wₖ,ₗ − wₖ| of the two weightings, the mean over rounds. 0 is no difference, 1
    /// the largest there can be; empty without rounds.
    pub fn variation(&self) -> Vec<f64> {
        let rounds = self.rounds.len() as f64;
        if self.rounds.is_empty() {
            return Vec::new();
        }
        (0..self.layers.len())
            .map(|l| self.rounds.iter().map(|round| round.variation(l)).sum::<f64>() / rounds)
            .collect()
    }
}

/// Weights nₖ τₖ / Σⱼ nⱼ τⱼ of clients with these sizes, update norms and gaps,
/// τₖ = 1 / ((1 + λₛ rₖ)(1 + γ gₖ)).
///
/// ```
/// use boostfgl_fairness::diagnostics::trust::trust_weights;
/// // Two clients of the same size, one of which moved 4 and so is trusted a third as much under λₛ = 0.5.
/// assert_eq!(trust_weights(&[5.0, 5.0], &[0.0, 4.0], &[0.0, 0.0], 0.5, 0.5), [0.75, 0.25]);
/// ```
pub fn trust_weights(
    sizes: &[f64],
    norms: &[f64],
    gaps: &[f64],
    lambda_s: f64,
    gamma: f64,
) -> Vec<f64> {
    let weights: Vec<f64> = sizes
        .iter()
        .zip(norms)
        .zip(gaps)
        .map(|((n, r), g)| n / (1.0 + lambda_s * r) * (1.0 / (1.0 + gamma * g)))
        .collect();
    let sum: f64 = weights.iter().sum();
    // The sum is 0 only if all clients have size 0: then all weights are equal.
    let equal = 1.0 / weights.len() as f64;
    weights.into_iter().map(|w| if sum > 0.0 { w / sum } else { equal }).collect()
}

/// How far one participant moved.
struct Moved {
    client: usize,
    size: f64,
    gap: Option<f64>,
    /// ‖Δθₖ,ₗ‖₂² of each layer.
    squares: Vec<f64>,
}

impl Moved {
    /// `None` if the client did not take part.
    fn of<T: Real>(k: usize, client: &Inspected<'_, T>, layers: &Layers) -> Option<Self> {
        let squares: Vec<f64> =
            client.trained?.tensor_distances(client.received).iter().map(|d| d * d).collect();
        Some(Self { client: k, size: client.size, gap: client.gap, squares: layers.sums(&squares) })
    }

    fn norm(&self) -> f64 {
        self.squares.iter().sum::<f64>().sqrt()
    }
}

/// The trust in the participants of a round whose updates have `layers` layers.
fn weigh(moved: &[Moved], layers: usize, settings: Settings) -> Vec<ClientTrust> {
    let whole = weights(moved, settings, Moved::norm);
    let by_layer: Vec<Vec<f64>> =
        (0..layers).map(|l| weights(moved, settings, |client| client.squares[l].sqrt())).collect();
    moved
        .iter()
        .enumerate()
        .map(|(i, client)| ClientTrust {
            client: client.client,
            gap: client.gap,
            norm: client.norm(),
            weight: whole[i],
            layer_norms: client.squares.iter().map(|square| square.sqrt()).collect(),
            layer_weights: by_layer.iter().map(|weights| weights[i]).collect(),
        })
        .collect()
}

/// The weights of the participants by trust in one norm of their updates.
fn weights(moved: &[Moved], settings: Settings, norm: impl Fn(&Moved) -> f64) -> Vec<f64> {
    let sizes: Vec<f64> = moved.iter().map(|client| client.size).collect();
    let norms: Vec<f64> = moved.iter().map(norm).collect();
    let gaps: Vec<f64> = moved.iter().map(|client| client.gap.unwrap_or(0.0)).collect();
    trust_weights(&sizes, &norms, &gaps, settings.lambda_s, settings.gamma)
}

/// Watches a run for it.
pub(super) struct Watch {
    settings: Settings,
    found: Trust,
}

impl Watch {
    pub(super) fn new(settings: Settings) -> Self {
        Self { settings, found: Trust::default() }
    }
}

impl<T: Real> Diagnostic<T> for Watch {
    fn inspect(&mut self, inspection: &Inspection<'_, T>, _subject: &Subject<'_>) {
        let layers = Layers::of(&inspection.backbone.shapes());
        let clients = inspection.clients.iter().enumerate();
        let moved: Vec<Moved> =
            clients.filter_map(|(k, client)| Moved::of(k, client, &layers)).collect();
        let clients = weigh(&moved, layers.names().len(), self.settings);
        let round = TrustRound { round: inspection.round, clients };
        self.found.rounds.extend(Some(round).filter(TrustRound::is_finite));
        self.found.layers = layers.names().to_vec();
    }

    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        findings(visitor, &mut self.found)
    }

    fn conclude(self: Box<Self>, _subject: &Subject<'_>, diagnosis: &mut Diagnosis) {
        diagnosis.trust = Some(self.found);
    }
}
