//! Edge-wise propagation reliability: which messages harm the node that receives them?
//!
//! Rᵤᵥ = ℓᵥ without the message u→v − ℓᵥ with it; positive is helpful, negative harmful.

use super::{Diagnosis, Diagnostic, Settings, Subject};
use boostfgl_fed::Inspection;
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

/// The messages that reach one group of nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EprGroup {
    /// The group of the receiving node: `all`, `minority`, `majority`, `heterophilous`, `homophilous`, `hete_min`.
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

/// The reliability of messages at the end of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Epr {
    /// The round whose model was looked at.
    pub round: usize,
    /// How messages were taken away.
    pub removal: Removal,
    /// By group of the receiving node.
    pub groups: Vec<EprGroup>,
    /// By client.
    pub clients: Vec<EprClient>,
}

impl Epr {
    /// Where the distribution of R is written down.
    pub const QUANTILES: [f64; 9] = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99];
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
