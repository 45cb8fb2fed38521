//! Edge-wise propagation reliability: which messages raise the loss of the node that receives them?
//!
//! Rᵤᵥ = ℓᵥ without the message u→v − ℓᵥ with it; positive is helpful, negative harmful.

mod findings;
mod one_by_one;
mod two_layers;
mod watch;

pub(super) use watch::Watch;

use super::Network;
use boostfgl_nn::Real;
use serde::{Deserialize, Serialize};

/// How a message is taken away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Removal {
    /// From both layers: P[v, u] = 0.
    #[default]
    Both,
    /// From both layers, the rest of row v scaled up to its old sum.
    BothRenormalised,
    /// From the output layer alone.
    Last,
    /// From the output layer alone, the rest of row v scaled up to its old sum.
    LastRenormalised,
}

impl Removal {
    fn renormalises(self) -> bool {
        matches!(self, Self::BothRenormalised | Self::LastRenormalised)
    }

    /// Whether only the output layer goes without the message.
    fn spares_first(self) -> bool {
        matches!(self, Self::Last | Self::LastRenormalised)
    }
}

/// The messages that reach one group of nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EprGroup {
    /// The group of the receiving node: `all`, `minority`, `majority`, `heterophilous`,
    /// `homophilous`, `hete_min`.
    pub group: String,
    /// Directed edges into labelled nodes of the group.
    pub edges: usize,
    /// How many of them were measured.
    pub measured: usize,
    /// How many of those are harmful: R < 0.
    pub negative: usize,
    /// Share of harmful messages; `None` without edges.
    pub negative_share: Option<f64>,
    /// Its standard error by sampling; 0 if every edge was measured.
    pub sampling_error: Option<f64>,
    /// Mean of R.
    pub mean: Option<f64>,
    /// R at the quantiles [`Epr::QUANTILES`]; empty without edges.
    pub quantiles: Vec<f64>,
}

/// One client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EprClient {
    /// Which.
    pub client: usize,
    /// Directed edges into labelled nodes that were measured.
    pub measured: usize,
    /// How many of them are harmful.
    pub negative: usize,
}

/// The reliability of messages at the end of a run: under the model that is evaluated after the
/// last round asked for, and under the messages of that round's training. Where topology boosting
/// computes messages anew for evaluation, these are others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Epr {
    /// The round whose model was measured.
    pub round: usize,
    /// How messages were taken away.
    pub removal: Removal,
    /// By group of the receiving node.
    pub groups: Vec<EprGroup>,
    /// By client.
    pub clients: Vec<EprClient>,
}

impl Epr {
    /// The quantiles of R that are stored.
    pub const QUANTILES: [f64; 9] = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];
}

/// Rᵤᵥ = ℓᵥ without the message u→v − ℓᵥ with it, for every arc in the order of
/// `network.adjacency`; `None` where `label` knows no class of the receiving node v, and where a
/// loss is no number because the logits overflow.
///
/// The GCN of two layers takes O(H + H C) per message. Any other network takes a forward pass over
/// the receptive field of v; there "both layers" are all of them, and a message cannot be taken
/// from the output layer alone: every R of [`Removal::Last`] and [`Removal::LastRenormalised`] is
/// `None`, as is every R of a network without messages. H2GCN also aggregates nodes two hops away;
/// those messages stay, including the one from u to v over a third node.
pub fn reliability<T: Real>(
    network: &Network<'_, T>,
    label: impl Fn(usize) -> Option<u32> + Sync,
    removal: Removal,
) -> Vec<Option<f64>> {
    measure(network, &label, removal, &|_| true)
}

/// [`reliability`] of the arcs that are `wanted`; `None` for the others.
fn measure<T: Real>(
    network: &Network<'_, T>,
    label: &(impl Fn(usize) -> Option<u32> + Sync),
    removal: Removal,
    wanted: &(impl Fn(usize) -> bool + Sync),
) -> Vec<Option<f64>> {
    let mut found = if network.two_layer_gcn {
        two_layers::reliability(network, label, removal, wanted)
    } else {
        one_by_one::reliability(network, label, removal, wanted)
    };
    found.iter_mut().for_each(|r| *r = r.filter(|r| r.is_finite()));
    found
}

/// −ln softmax(z)_y, relative to the largest logit, so that exp cannot overflow.
fn cross_entropy(logits: &[f64], y: usize) -> f64 {
    let largest = logits.iter().fold(f64::NEG_INFINITY, |largest, z| largest.max(*z));
    largest + libm::log(logits.iter().map(|z| libm::exp(z - largest)).sum::<f64>()) - logits[y]
}
