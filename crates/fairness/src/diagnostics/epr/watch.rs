//! EPR at the end of a run.

use super::super::{Diagnosis, Diagnostic, Network, Settings, Subject, effort, findings};
use super::findings::{Messages, group};
use super::{Epr, Removal, measure};
use crate::Group;
use boostfgl_fed::{Inspected, Inspection};
use boostfgl_graph::Stream;
use boostfgl_nn::{Real, StateVisitor};
use rayon::prelude::*;

/// At least so many messages of each client are measured, if there are as many: where each costs a
/// forward pass, and where it does not.
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
        let look = |client: &Inspected<'_, T>| {
            let network = Network::of(inspection, client, &client.evaluated);
            messages(
                &network,
                client.data.nodes(),
                client.data.id(),
                subject,
                removal,
                |messages| {
                    self.settings.effort.map_or(messages, |effort| {
                        affordable(&network, messages, effort, inspection.rounds)
                    })
                },
            )
        };
        let clients: Vec<Messages> = inspection.clients.par_iter().map(look).collect();
        self.found = Some(Epr {
            round: inspection.round,
            removal,
            groups: Group::EVERY.map(|of| group(&clients, of)).into(),
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

/// The messages into labelled nodes of one client, whose own nodes are `ids` in the graph that was
/// divided; nodes that a method made up have no label. `count` says how many of so many are to be
/// measured.
fn messages<T: Real>(
    network: &Network<'_, T>,
    ids: &[u32],
    client: usize,
    subject: &Subject<'_>,
    removal: Removal,
    count: impl Fn(usize) -> usize,
) -> Messages {
    let label = |v: usize| ids.get(v).and_then(|&id| subject.labels.get(id as usize));
    let adjacency = network.adjacency;
    if network.backbone.plan().hops == 0 {
        return Messages { receivers: Vec::new(), reliability: Vec::new() };
    }
    let (mut arcs, mut receivers) = (Vec::new(), Vec::new());
    for v in (0..adjacency.len()).filter(|&v| label(v).is_some()) {
        let id = ids[v] as usize;
        arcs.extend(adjacency.arc_range(v));
        receivers.resize(arcs.len(), (subject.minority[id], subject.heterophilous[id]));
    }
    let mut wanted = vec![false; adjacency.arcs()];
    let drawn = effort::sample(
        &arcs,
        count(arcs.len()),
        &mut Stream::new(subject.seed, "epr sample", &[client as u64]),
    );
    drawn.into_iter().for_each(|arc| wanted[arc] = true);
    let found = measure(network, &label, removal, &|arc| wanted[arc]);
    Messages { receivers, reliability: arcs.into_iter().map(|arc| found[arc]).collect() }
}

/// How many of `messages` can be measured in `effort` times the training of all rounds.
fn affordable<T: Real>(
    network: &Network<'_, T>,
    messages: usize,
    effort: f64,
    rounds: usize,
) -> usize {
    let budget = effort * rounds as f64 * effort::training(network);
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
