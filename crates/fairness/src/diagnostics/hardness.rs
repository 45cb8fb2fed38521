//! Hardness of clients: is the skew on clients with many disadvantaged nodes?
//!
//! Hₖ = ½ (share of minority nodes + share of heterophilous nodes) among the training nodes of
//! client k: the paper names "a fixed combination" of the two and leaves the rest open. GSDₖ is the
//! mean over rounds, at the run's minority ratio q.

use super::gsd::{Gsd, Weighting};
use super::{Diagnosis, Diagnostic, Settings, Subject, findings};
use crate::statistics::spearman;
use boostfgl_fed::{Inspected, Inspection};
use boostfgl_nn::{Real, StateVisitor};
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

impl ClientHardness {
    /// A client by its numbers of training nodes, of those of a minority class and of heterophilous
    /// ones, before its gradients are known. `None` without training nodes.
    pub fn new(client: usize, nodes: usize, minority: usize, heterophilous: usize) -> Option<Self> {
        let minority = minority as f64 / nodes as f64;
        let heterophilous = heterophilous as f64 / nodes as f64;
        let hardness = (minority + heterophilous) / 2.0;
        let bare = Self {
            client,
            nodes,
            minority,
            heterophilous,
            hardness,
            gsd: None,
            weighted_gsd: None,
            hard: false,
        };
        (nodes > 0).then_some(bare)
    }
}

/// Hardness against skew.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hardness {
    /// Clients with training nodes, in order.
    pub clients: Vec<ClientHardness>,
    /// Spearman's correlation of Hₖ and GSDₖ over clients that have both; `None` below three of
    /// them or without spread.
    pub correlation: Option<f64>,
}

impl Hardness {
    /// Sets the hardness of `clients` against their skew along a run, where that was measured.
    pub fn new(mut clients: Vec<ClientHardness>, gsd: Option<&Gsd>) -> Self {
        let mut order: Vec<usize> = (0..clients.len()).collect();
        // A stable sort: of equally hard clients the earlier comes first.
        order.sort_by(|&a, &b| clients[b].hardness.total_cmp(&clients[a].hardness));
        let hardest = (clients.len() / 5).max(1);
        order.iter().take(hardest).for_each(|&at| clients[at].hard = true);
        for client in &mut clients {
            client.gsd = skew(gsd, client.client, Weighting::Plain);
            client.weighted_gsd = skew(gsd, client.client, Weighting::Boosted);
        }
        let pairs: Vec<(f64, f64)> =
            clients.iter().filter_map(|c| Some((c.hardness, c.gsd?))).collect();
        Self { clients, correlation: spearman(&pairs) }
    }
}

/// Mean GSD of a client over the rounds that have one.
fn skew(gsd: Option<&Gsd>, client: usize, weighting: Weighting) -> Option<f64> {
    let gsd = gsd?;
    let ratio = gsd.client_mean_over_rounds(client, &gsd.minority(), weighting)?;
    Some(ratio.per_node)
}

/// Watches a run for it.
#[derive(Default)]
pub(super) struct Watch {
    /// The training nodes do not change along a run.
    clients: Option<Vec<ClientHardness>>,
}

/// The hardness of client `k`.
fn hardness<T: Real>(
    (k, client): (usize, &Inspected<'_, T>),
    subject: &Subject<'_>,
) -> Option<ClientHardness> {
    let training = client.data.training();
    let (mut minority, mut heterophilous) = (0, 0);
    for node in training.iter().map(|&v| client.data.nodes()[v as usize]) {
        minority += usize::from(subject.is_minority(node));
        heterophilous += usize::from(subject.heterophilous[node as usize]);
    }
    ClientHardness::new(k, training.len(), minority, heterophilous)
}

impl Watch {
    pub(super) fn new(_settings: Settings) -> Self {
        Self::default()
    }
}

impl<T: Real> Diagnostic<T> for Watch {
    fn inspect(&mut self, inspection: &Inspection<'_, T>, subject: &Subject<'_>) {
        let clients = inspection.clients.iter().enumerate();
        self.clients.get_or_insert_with(|| {
            clients.filter_map(|client| hardness(client, subject)).collect()
        });
    }

    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        findings(visitor, &mut self.clients)
    }

    fn conclude(self: Box<Self>, _subject: &Subject<'_>, diagnosis: &mut Diagnosis) {
        diagnosis.hardness =
            self.clients.map(|clients| Hardness::new(clients, diagnosis.gsd.as_ref()));
    }
}
