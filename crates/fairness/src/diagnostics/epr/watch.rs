//! EPR at the end of a run.

use super::super::{Diagnosis, Diagnostic, Network, Settings, Subject, effort, findings};
use super::findings::{Messages, group};
use super::{Epr, Removal, measure};
use crate::Group;
use boostfgl_fed::{Inspected, Inspection};
use boostfgl_graph::Stream;
use boostfgl_nn::{Real, StateVisitor};
use rayon::prelude::*;

/// The smallest number of messages of a client that are measured, if it has as many: where each
/// costs a forward pass, and where it does not.
const LEAST: [usize; 2] = [300, 2000];

/// Watches a run for it.
pub(in super::super) struct Watch {
    settings: Settings,
    found: Option<Epr>,
}

impl Watch {
    pub(in super::super) fn new(settings: Settings) -> Self {
        Self { settings, found: None }
    }
}

impl<T: Real> Diagnostic<T> for Watch {
    fn inspect(&mut self, inspection: &Inspection<'_, T>, subject: &Subject<'_>) {
        if inspection.round != inspection.rounds {
            return;
        }
        let removal = Removal::Both;
        let clients: Vec<Messages> = inspection
            .clients
            .par_iter()
            .map(|client| {
                let network = Network::of(inspection, client, &client.evaluated);
                let effort = self.settings.effort.map(|effort| effort * inspection.rounds as f64);
                messages(&network, client, subject, removal, effort)
            })
            .collect();
        self.found = Some(Epr {
            round: inspection.round,
            removal,
            groups: Group::EVERY.map(|receivers| group(&clients, receivers)).into(),
            clients: clients.iter().enumerate().map(|(k, messages)| messages.client(k)).collect(),
        });
    }

    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        findings(visitor, &mut self.found)
    }

    fn conclude(self: Box<Self>, _subject: &Subject<'_>, diagnosis: &mut Diagnosis) {
        diagnosis.epr = self.found;
    }
}

/// The messages into labelled nodes of one client. All are measured, or as many as `effort` rounds
/// of training cost.
fn messages<T: Real>(
    network: &Network<'_, T>,
    client: &Inspected<'_, T>,
    subject: &Subject<'_>,
    removal: Removal,
    effort: Option<f64>,
) -> Messages {
    let ids = client.data.nodes();
    let adjacency = network.adjacency;
    if network.backbone.plan().hops == 0 {
        return Messages { receivers: Vec::new(), reliability: Vec::new() };
    }
    let (mut arcs, mut receivers) = (Vec::new(), Vec::new());
    for v in (0..adjacency.len()).filter(|&v| label(ids, subject, v).is_some()) {
        let id = ids[v] as usize;
        arcs.extend(adjacency.arc_range(v));
        receivers.resize(arcs.len(), (subject.minority[id], subject.heterophilous[id]));
    }
    let mut wanted = vec![false; adjacency.arcs()];
    let count = effort.map_or(arcs.len(), |effort| affordable(network, arcs.len(), effort));
    let mut stream = Stream::new(subject.seed, "epr sample", &[client.data.id() as u64]);
    let drawn = effort::sample(&arcs, count, &mut stream);
    drawn.into_iter().for_each(|arc| wanted[arc] = true);
    let found = measure(network, &|v| label(ids, subject, v), removal, &|arc| wanted[arc]);
    Messages { receivers, reliability: arcs.into_iter().map(|arc| found[arc]).collect() }
}

/// The class of a client's node v, whose own nodes are `ids` in the graph that was divided; nodes
/// that a method generated have none.
fn label(ids: &[u32], subject: &Subject<'_>, v: usize) -> Option<u32> {
    subject.labels.get(*ids.get(v)? as usize)
}

/// How many of `messages` can be measured in `effort` times the training of one round.
fn affordable<T: Real>(network: &Network<'_, T>, messages: usize, effort: f64) -> usize {
    let budget = effort * effort::training(network);
    let tensors = network.params.tensors();
    let fixed = effort::forward(network);
    let each = if network.two_layer_gcn {
        2.0 * (tensors[2].rows() * (1 + tensors[2].columns())) as f64
    } else {
        effort::receptive_share(network) * fixed + 2.0 * network.adjacency.arcs() as f64
    };
    let least = LEAST[usize::from(network.two_layer_gcn)];
    (((budget - fixed) / each).max(0.0) as usize).max(least).min(messages)
}
