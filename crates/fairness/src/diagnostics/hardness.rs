//! Hardness of clients: is the skew on clients with many disadvantaged nodes?
//!
//! Hₖ = ½ (share of minority nodes + share of heterophilous nodes) among the training nodes of client k: the paper
//! names "a fixed combination" of the two and leaves the rest open. GSDₖ is the mean over rounds.

use super::{Diagnosis, Diagnostic, Subject};
use boostfgl_fed::Inspection;
use boostfgl_nn::Real;
use serde::{Deserialize, Serialize};

/// One client.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientHardness {
    /// Which.
    pub client: usize,
    /// Its training nodes.
    pub nodes: usize,
    /// Share of them that is of a minority class.
    pub minority: f64,
    /// Share of them that is heterophilous.
    pub heterophilous: f64,
    /// Hₖ.
    pub hardness: f64,
    /// Mean GSDₖ over rounds; `None` if the client lacks one of the two groups.
    pub gsd: Option<f64>,
    /// The same with αᵥ.
    pub weighted_gsd: Option<f64>,
    /// Whether it is among the hardest fifth of clients, at least one.
    pub hard: bool,
}

/// Hardness against skew.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hardness {
    /// Clients with training nodes, in order.
    pub clients: Vec<ClientHardness>,
    /// Spearman's correlation of Hₖ and GSDₖ over clients that have both; `None` below three of them or without spread.
    pub correlation: Option<f64>,
}

/// Watches a run for it.
#[derive(Default)]
pub(super) struct Watch {}

impl<T: Real> Diagnostic<T> for Watch {
    fn inspect(&mut self, _inspection: &Inspection<'_, T>, _subject: &Subject<'_>) {}

    fn conclude(self: Box<Self>, _subject: &Subject<'_>, _diagnosis: &mut Diagnosis) {}
}
