//! GSD measured during a run.

use super::super::{Diagnosis, Diagnostic, Network, Settings, Subject, effort, findings};
use super::norms::{MEMORY, Neighbourhoods, one_by_one};
use super::products::{SPARSE_PENALTY, triangle};
use super::{Gsd, GsdRound, Mass};
use boostfgl_fed::{Inspected, Inspection, LocalData};
use boostfgl_graph::Stream;
use boostfgl_nn::{Real, StateVisitor};
use rayon::prelude::*;

/// The smallest number of nodes of a class that are measured, if it has as many.
const LEAST: usize = 8;

/// The cost of clearing, writing and reading one number of a gradient, in operations of training.
const WRITTEN: f64 = 10.0;

/// The cost of one number of the overlap of two hidden rows, in operations of training: rows are
/// short and lie far apart in memory.
const SCATTERED: f64 = 6.0;

/// Watches a run for it.
pub(in super::super) struct Watch<T> {
    settings: Settings,
    clients: Vec<Option<Measured<T>>>,
    rounds: Vec<GsdRound>,
}

/// The training nodes of a client that are measured, the same in every round.
struct Measured<T> {
    /// Their positions among the training nodes.
    positions: Vec<usize>,
    nodes: Vec<u32>,
    labels: Vec<u32>,
    neighbourhoods: Option<Neighbourhoods<T>>,
}

impl<T> Watch<T> {
    pub(in super::super) fn new(settings: Settings) -> Self {
        Self { settings, clients: Vec::new(), rounds: Vec::new() }
    }
}

impl<T: Real> Diagnostic<T> for Watch<T> {
    fn inspect(&mut self, inspection: &Inspection<'_, T>, subject: &Subject<'_>) {
        let clients = &inspection.clients;
        self.clients.resize_with(clients.len(), || None);
        let (effort, rounds, seed) = (self.settings.effort, inspection.rounds, subject.seed);
        let masses = self
            .clients
            .par_iter_mut()
            .zip(clients.par_iter())
            .map(|(known, client)| {
                let network = Network::of(inspection, client, &client.start);
                let measured = known.get_or_insert_with(|| {
                    Measured::choose(&network, client.data, effort, rounds, seed)
                });
                let norms = measured.norms(&network, MEMORY / clients.len());
                measured.masses(&norms, client)
            })
            .collect();
        self.rounds.push(GsdRound { round: inspection.round, clients: masses });
    }

    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        findings(visitor, &mut self.rounds)
    }

    fn conclude(self: Box<Self>, subject: &Subject<'_>, diagnosis: &mut Diagnosis) {
        diagnosis.gsd = Some(Gsd {
            training_counts: subject.training_counts.to_vec(),
            minority: subject.minority_classes.to_vec(),
            minority_ratio: None,
            rounds: self.rounds,
        });
    }
}

impl<T: Real> Measured<T> {
    /// All training nodes, or a sample of each class if all would take more than `effort` times the
    /// training.
    fn choose(
        network: &Network<'_, T>,
        data: &LocalData<T>,
        effort: Option<f64>,
        rounds: usize,
        seed: u64,
    ) -> Self {
        let share =
            effort.map_or(1.0, |effort| affordable(network, data.training(), effort, rounds));
        let mut of_class = vec![Vec::new(); data.classes()];
        for (at, &v) in data.training().iter().enumerate() {
            data.training_label(v as usize).into_iter().for_each(|y| of_class[y as usize].push(at));
        }
        let mut positions = Vec::new();
        for (class, all) in of_class.iter().enumerate() {
            let count = ((share * all.len() as f64) as usize).max(LEAST.min(all.len()));
            let mut stream = Stream::new(seed, "gsd sample", &[data.id() as u64, class as u64]);
            positions.extend(effort::sample(all, count, &mut stream));
        }
        positions.sort_unstable();
        let nodes: Vec<u32> = positions.iter().map(|&at| data.training()[at]).collect();
        let labels = nodes.iter().filter_map(|&v| data.training_label(v as usize)).collect();
        Self { positions, nodes, labels, neighbourhoods: None }
    }

    /// The gradient norms of the measured nodes.
    fn norms(&mut self, network: &Network<'_, T>, memory: usize) -> Vec<f64> {
        if self.nodes.is_empty() || !network.two_layer_gcn {
            return one_by_one(network, &self.nodes, &self.labels);
        }
        match &mut self.neighbourhoods {
            Some(known) => known.follow(network),
            None => self.neighbourhoods = Some(Neighbourhoods::new(network, &self.nodes, memory)),
        }
        let Some(known) = &self.neighbourhoods else { unreachable!("made above") };
        known.norms(network, &self.labels)
    }

    /// The norms, added up by class.
    fn masses(&self, norms: &[f64], client: &Inspected<'_, T>) -> Vec<Mass> {
        let counts = client.data.training_counts();
        let mut masses: Vec<Mass> =
            counts.into_iter().map(|nodes| Mass { nodes, ..Mass::default() }).collect();
        for ((&at, &y), &norm) in self.positions.iter().zip(&self.labels).zip(norms) {
            let weighted = norm * client.node_weights.map_or(1.0, |alpha| alpha[at].f64());
            let known = masses[y as usize];
            let mass = Mass {
                nodes: known.nodes,
                measured: known.measured + 1,
                sum: known.sum + norm,
                squares: known.squares + norm * norm,
                weighted_sum: known.weighted_sum + weighted,
                weighted_squares: known.weighted_squares + weighted * weighted,
            };
            // A node whose squares overflow counts as not measured. Sums are finite wherever sums
            // of squares are, so they need no check.
            if mass.squares.is_finite() && mass.weighted_squares.is_finite() {
                masses[y as usize] = mass;
            }
        }
        masses
    }
}

/// The share of `nodes` whose norms take no more than `effort` times a round of training.
fn affordable<T: Real>(network: &Network<'_, T>, nodes: &[u32], effort: f64, rounds: usize) -> f64 {
    let budget = effort * effort::training(network);
    let (fixed, all) = if network.two_layer_gcn {
        (effort::forward(network), by_products(network, nodes, rounds))
    } else {
        let gradient = effort::training(network) * effort::receptive_share(network);
        (0.0, nodes.len() as f64 * (gradient + WRITTEN * network.params.count() as f64))
    };
    if fixed + all <= budget { 1.0 } else { ((budget - fixed) / all).clamp(0.0, 1.0) }
}

/// Arithmetic of one round's norms by inner products; those of features are shared by all rounds if
/// messages are plain.
fn by_products<T: Real>(network: &Network<'_, T>, nodes: &[u32], rounds: usize) -> f64 {
    let p = network.propagation.csr();
    let all = p.rows().max(1) as f64;
    let (hidden, width) =
        (network.params.tensors()[0].columns() as f64, network.inputs.width() as f64);
    // A row of P X has about as many entries as the rows of X it is a sum of.
    let entries = network.inputs.stored() as f64 / all * (p.non_zeros() as f64 / all);
    let row = (entries * SPARSE_PENALTY as f64).min(width);
    let plain = network.inputs.propagation().csr().values() == p.values();
    let product = if plain { row / rounds.max(1) as f64 } else { row };
    nodes
        .iter()
        .map(|&v| {
            let senders = p.row_range(v as usize).len();
            2.0 * (triangle(senders) as f64 * (SCATTERED * hidden + product)
                + 2.0 * senders as f64 * hidden)
        })
        .sum()
}
