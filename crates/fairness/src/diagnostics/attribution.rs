//! Attribution of the loss: the share of its decrease that is the minority's.
//!
//! ℓᵥ of every training node under the model of the first round's start and under the model
//! evaluated after the last, without dropout; the minority's part of Σᵥ (ℓᵥ⁰ − ℓᵥᵀ), next to its
//! parts of the nodes and of the initial loss. Each is taken under the messages of its round's
//! training, not under those that topology boosting may compute anew for evaluation.

use super::{Diagnosis, Diagnostic, Network, Settings, Subject, findings};
use boostfgl_fed::{Inspected, Inspection, LocalData};
use boostfgl_nn::backbones::Pass;
use boostfgl_nn::{Params, Pool, Real, StateVisitor, View};
use rayon::prelude::*;
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
    /// The decrease of the group's loss over what it was: Σ (ℓᵥ⁰ − ℓᵥᵀ) / Σ ℓᵥ⁰; `None` without
    /// nodes.
    pub normalised_decrease: Option<f64>,
}

impl GroupLoss {
    /// The nodes whose entry in `minority` is `wanted`, with their losses at the start and at the
    /// end.
    fn new(initial: &[f64], last: &[f64], minority: &[bool], wanted: bool) -> Self {
        let losses: Vec<(f64, f64)> = initial
            .iter()
            .zip(last)
            .zip(minority)
            .filter(|(_, minority)| **minority == wanted)
            .map(|((initial, last), _)| (*initial, *last))
            .collect();
        let initial = losses.iter().map(|(initial, _)| initial).sum();
        let last = losses.iter().map(|(_, last)| last).sum();
        Self {
            nodes: losses.len(),
            initial,
            last,
            normalised_decrease: share(initial - last, initial),
        }
    }

    /// Σ (ℓᵥ⁰ − ℓᵥᵀ).
    pub fn decrease(&self) -> f64 {
        self.initial - self.last
    }
}

/// The decrease of the loss, by group.
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

impl Attribution {
    /// Whether every sum is a number.
    fn is_finite(&self) -> bool {
        let total = self.minority.decrease() + self.majority.decrease();
        let sums = [self.minority, self.majority]
            .map(|group| group.initial.is_finite() && group.last.is_finite());
        sums == [true; 2] && total.is_finite()
    }
}

/// Attributes the decrease from the losses `initial` to the losses `last` of the same nodes, some
/// of which are of the `minority`.
///
/// The share of the decrease is not confined to [0, 1]: where one group's loss falls and the
/// other's rises, it leaves it.
///
/// ```
/// use boostfgl_fairness::diagnostics::attribution::attribute;
/// let found = attribute(&[2.0, 1.0, 1.0], &[1.5, 0.5, 0.0], &[true, false, false]);
/// assert_eq!((found.share_of_decrease, found.share_of_initial_loss), (Some(0.25), Some(0.5)));
/// ```
pub fn attribute(initial: &[f64], last: &[f64], minority: &[bool]) -> Attribution {
    let (majority, minority) = (
        GroupLoss::new(initial, last, minority, false),
        GroupLoss::new(initial, last, minority, true),
    );
    Attribution {
        minority,
        majority,
        share_of_decrease: share(minority.decrease(), minority.decrease() + majority.decrease()),
        share_of_nodes: share(minority.nodes as f64, (minority.nodes + majority.nodes) as f64),
        share_of_initial_loss: share(minority.initial, minority.initial + majority.initial),
    }
}

/// `part / whole`, unless that is no number.
fn share(part: f64, whole: f64) -> Option<f64> {
    Some(part / whole).filter(|share| share.is_finite())
}

/// The cross-entropy ℓᵥ of every training node of a client, in order, without dropout.
pub fn training_losses<T: Real>(network: &Network<'_, T>, data: &LocalData<T>) -> Vec<f64> {
    let Network { backbone, params, inputs, propagation, .. } = *network;
    if data.training().is_empty() {
        return Vec::new();
    }
    let mut view = View::training(inputs, data.training().to_vec(), backbone.plan());
    if !std::ptr::eq(propagation, inputs.propagation()) {
        view.set_propagation(propagation);
    }
    let logits = Pass::new(backbone, &view, &Pool::new()).logits(params);
    data.training()
        .iter()
        .enumerate()
        .filter_map(|(row, &v)| {
            let label = data.training_label(v as usize)?;
            Some(cross_entropy(logits.row(row), label as usize))
        })
        .collect()
}

/// ln Σ_c exp(z_c) − z_y, in `f64` and relative to the largest logit, so that exp cannot overflow.
fn cross_entropy<T: Real>(logits: &[T], label: usize) -> f64 {
    let largest = logits.iter().map(|z| z.f64()).fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = logits.iter().map(|z| libm::exp(z.f64() - largest)).sum();
    largest - logits[label].f64() + libm::log(sum)
}

/// Watches a run for it.
#[derive(Default)]
pub(super) struct Watch {
    initial: Option<Vec<f64>>,
    last: Option<Vec<f64>>,
    /// Whether each training node is of the minority.
    minority: Vec<bool>,
}

/// The losses of all clients, one after the other, each under a model of its own.
fn all_losses<'a, T: Real>(
    inspection: &'a Inspection<'a, T>,
    model: impl Fn(&'a Inspected<'a, T>) -> &'a Params<T> + Sync,
) -> Vec<f64> {
    inspection
        .clients
        .par_iter()
        .map(|client| training_losses(&Network::of(inspection, client, model(client)), client.data))
        .collect::<Vec<_>>()
        .concat()
}

impl Watch {
    pub(super) fn new(_settings: Settings) -> Self {
        Self::default()
    }
}

impl<T: Real> Diagnostic<T> for Watch {
    fn inspect(&mut self, inspection: &Inspection<'_, T>, subject: &Subject<'_>) {
        if self.initial.is_none() {
            self.initial = Some(all_losses(inspection, |client| &client.start));
            for data in inspection.clients.iter().map(|client| client.data) {
                let nodes = data.training().iter().map(|&v| data.nodes()[v as usize]);
                self.minority.extend(nodes.map(|node| subject.is_minority(node)));
            }
        }
        if inspection.round == inspection.rounds {
            self.last = Some(all_losses(inspection, |client| &client.evaluated));
        }
    }

    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        // Losses of a huge model may be infinite, which JSON cannot represent: they are saved as
        // numbers, not as findings.
        visitor.option("initial", &mut self.initial, Vec::new)?;
        visitor.option("last", &mut self.last, Vec::new)?;
        findings(visitor, &mut self.minority)
    }

    fn conclude(self: Box<Self>, _subject: &Subject<'_>, diagnosis: &mut Diagnosis) {
        let losses = self.initial.zip(self.last);
        let found = losses.map(|(initial, last)| attribute(&initial, &last, &self.minority));
        // If losses overflow, the decrease is not a number and there is no attribution.
        diagnosis.attribution = found.filter(Attribution::is_finite);
    }
}
