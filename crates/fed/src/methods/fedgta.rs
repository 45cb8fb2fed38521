//! FedGTA (Li et al., VLDB 2024): every client gets a mean of the clients with similar graphs.
//!
//! Local training is FedAvg's. Afterwards a client
//! 1. predicts Ŷ = softmax(logits) for all its nodes;
//! 2. propagates labels for `steps` rounds: F⁰ is the truth on training nodes and Ŷ elsewhere, F ←
//!    ½ÂF + ½F⁰, then F⁰ is added once more on training nodes;
//! 3. takes Y = softmax(F) and Y' = softmax(F/temperature), with the truth on training nodes;
//! 4. sends the mixed moments: for every class and order q ≤ M the mean of Y^q and of (Y − mean
//!    Y)^q;
//! 5. sends the local smoothing confidence H = Σᵥ (dᵥ + 1) Σ_c (1/e + Y'ᵥ_c ln(Y'ᵥ_c + 10⁻⁸)),
//!    which is above 0.
//!
//! The server gives client i the model Σ_{j∈Aᵢ} (Hⱼ/Σ_{Aᵢ} H) θⱼ with Aᵢ = {j : cos(momentsᵢ,
//! momentsⱼ) > ε} ∪ {i}.
//!
//! Propagation of labels uses Â of the graph itself under every boost. Otherwise the moments of two
//! clients would not be comparable.

use super::{EvaluatedModel, MethodContext, MethodInfo, Round, SenderFacts, ServerRule};
use crate::Occasion;
use crate::aggregate::{Combination, Contribution};
use crate::client_rule::{ClientContext, TrainingHooks, Upload, default_hooks};
use crate::config::{above_zero, steps};
use crate::local_data::LocalData;
use crate::screen::{Form, Part};
use crate::{Error, Result};
use boostfgl_nn::{Matrix, Params, Propagation, Real, StateVisitor, extra_losses, softmax_rows};
use boostfgl_protocol::{Message, Model, Version};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub(super) const INFO: MethodInfo = MethodInfo {
    name: "fedgta",
    summary: "personal models: each client averages the clients with similar label propagation",
    paper: "Li et al., FedGTA: Topology-aware Averaging for Federated Graph Learning, VLDB 2024",
    equations: "client k:  F = label propagation (5 steps) of truth and softmax predictions; Y = \
        softmax F\n\
                \x20          moments m_k = [mean Y^q, mean (Y - mean Y)^q], q = 1..M; H_k = \
                sum_v d_v sum_c (1/e + Y' ln Y')\n\
                server:    A_i = {j: cos(m_i, m_j) > epsilon} and i;  theta_i = sum_{j in A_i} \
                (H_j / sum_A H) theta_j",
    wire: "up P + 2CM + 1 (model, moments, confidence; CM with one kind of moment), down P \
        (personal)",
    evaluated: "each client's personal model right after aggregation, on its local graph",
    departures: "The shared backbone replaces GAMLP. Label propagation is seeded with training \
        labels as in the official code;\n\
                 OpenFGL seeds with predictions and starts the rest at zero. A client always \
                 accepts itself, which a strict\n\
                 comparison at epsilon = 1 would not. Degrees count the node itself, so that a \
                 client without edges has a\n\
                 confidence too.",
    evaluated_model: EvaluatedModel::Personal,
    extra_bytes: |sizes, _| {
        let (nodes, arcs) = (sizes.all_nodes(), sizes.arcs.iter().sum::<f64>());
        let padded = (sizes.classes / 8.0).ceil() * 8.0;
        4.0 * (sizes.clients() * sizes.parameters + 4.0 * nodes * padded) + 8.0 * (arcs + nodes)
    },
    single_updates: Some("every client gets a mean of the clients that are similar to it"),
    outvotes: |_| {
        Some(
            "every client gets a mean of its own, of the clients similar to it: too few to \
             outvote anything",
        )
    },
    ..MethodInfo::PLAIN
};

/// Settings of FedGTA (`[methods.fedgta]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Least cosine ε of two clients' moments to be averaged, from -1 (all clients) to 1 (only the
    /// client itself).
    pub epsilon: f64,
    /// Steps of label propagation, 1 to 1000000000.
    pub steps: usize,
    /// Highest order M of the moments, from 1 to 50.
    pub moments: usize,
    /// Which moments: about the origin, about the mean, or both.
    pub moment_kind: MomentKind,
    /// Temperature of the softmax behind the confidence, above 0.
    pub temperature: f64,
}

/// Which moments are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MomentKind {
    /// About the origin.
    Origin,
    /// About the mean.
    Central,
    /// Both.
    Hybrid,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            epsilon: 0.5,
            steps: 5,
            moments: 10,
            moment_kind: MomentKind::Hybrid,
            temperature: 20.0,
        }
    }
}

impl Config {
    pub(super) fn check(&self) -> Result<()> {
        if !(-1.0..=1.0).contains(&self.epsilon) {
            return Err(Error::setting(
                "methods.fedgta.epsilon",
                "a number from -1 to 1",
                self.epsilon,
            ));
        }
        steps("methods.fedgta.steps", 1, self.steps)?;
        if !(1..=50).contains(&self.moments) {
            return Err(Error::setting("methods.fedgta.moments", "1 to 50", self.moments));
        }
        above_zero("methods.fedgta.temperature", self.temperature)?;
        Ok(())
    }
}

impl Config {
    /// Moments of one class.
    fn numbers_per_class(&self) -> usize {
        self.moments * if self.moment_kind == MomentKind::Hybrid { 2 } else { 1 }
    }
}

pub(super) fn client<T: Real>(context: &MethodContext<'_, T>, data: &LocalData<T>) -> Smoothing<T> {
    let operator = Propagation::gcn(data.adjacency());
    let reach = (0..data.len()).map(|v| data.adjacency().degree(v) as f64 + 1.0).collect();
    Smoothing { config: context.setup.methods.fedgta.clone(), operator, reach }
}

/// A client that sends moments of its propagated labels.
pub(super) struct Smoothing<T> {
    config: Config,
    operator: Propagation<T>,
    /// dᵥ + 1.
    reach: Vec<f64>,
}

default_hooks!(Smoothing<T>: PreparationHooks, PersonalModel, RuleState);

impl<T: Real> TrainingHooks<T> for Smoothing<T> {
    fn finish(&mut self, context: &ClientContext<'_, T>, local: &Params<T>) -> Result<Upload<T>> {
        let mut seeds = context.logits(local);
        softmax_rows(&mut seeds);
        set_truth(&mut seeds, context.data());
        let propagated = self.propagate(&seeds, context);
        let mut labels = propagated.clone();
        softmax_rows(&mut labels);
        set_truth(&mut labels, context.data());
        let mut numbers = moments(&labels, &self.config);
        // A high temperature spreads the probabilities, so that the confidence still differs between
        // clients whose predictions are all certain.
        let mut tempered = propagated;
        extra_losses::scale(&mut tempered, 1.0 / self.config.temperature);
        softmax_rows(&mut tempered);
        set_truth(&mut tempered, context.data());
        numbers.push(confidence(&tempered, &self.reach));
        [seeds, labels, tempered].into_iter().for_each(|m| context.pool().put(m));
        Ok(Upload::with(Message::numbers(numbers)))
    }
}

impl<T: Real> Smoothing<T> {
    /// Label propagation from F⁰.
    fn propagate(&self, seeds: &Matrix<T>, context: &ClientContext<'_, T>) -> Matrix<T> {
        let half = T::of(0.5);
        let mut labels = context.pool().take(seeds.rows(), seeds.columns());
        labels.copy_from(seeds);
        let mut next = context.pool().take(seeds.rows(), seeds.columns());
        // Propagated labels leave the client as moments, so that they get message noise, too.
        let (noise, nodes) =
            (context.noise(Occasion::Rule(0)), Vec::from_iter(0..seeds.rows() as u32));
        for step in 0..self.config.steps {
            self.operator.csr().multiply(&labels, &mut next);
            noise.add_to(&mut next, &nodes, step);
            next.data_mut()
                .iter_mut()
                .zip(seeds.data())
                .for_each(|(f, f0)| *f = half * *f + half * *f0);
            // The truth is added a second time: propagation would otherwise smooth known labels
            // away.
            for &v in context.data().training() {
                let row = next.row_mut(v as usize).iter_mut();
                row.zip(seeds.row(v as usize)).for_each(|(f, f0)| *f += *f0);
            }
            std::mem::swap(&mut labels, &mut next);
        }
        context.pool().put(next);
        labels
    }
}

/// Sets the rows of training nodes to their one-hot label.
fn set_truth<T: Real>(labels: &mut Matrix<T>, data: &LocalData<T>) {
    for &v in data.training() {
        let row = labels.row_mut(v as usize);
        row.fill(T::ZERO);
        if let Some(label) = data.training_label(v as usize) {
            row[label as usize] = T::ONE;
        }
    }
}

/// Moments of each class's column, order by order: about the origin, then about the mean.
fn moments<T: Real>(labels: &Matrix<T>, config: &Config) -> Vec<f64> {
    let classes = labels.columns();
    let origin = moments_about(labels, &vec![0.0; classes], config.moments);
    if config.moment_kind == MomentKind::Origin {
        return origin;
    }
    // The first moments about the origin are the means, which the central moments need.
    let central = moments_about(labels, &origin[..classes], config.moments);
    match config.moment_kind {
        MomentKind::Hybrid => origin.into_iter().chain(central).collect(),
        MomentKind::Origin | MomentKind::Central => central,
    }
}

/// The moments of orders 1 to `orders` of each class's column about its `centre`, order by order.
fn moments_about<T: Real>(labels: &Matrix<T>, centre: &[f64], orders: usize) -> Vec<f64> {
    let (n, classes) = (labels.rows(), labels.columns());
    let mut moments = vec![0.0; orders * classes];
    for (chunk, centre) in centre.chunks(SIDE_BY_SIDE).enumerate() {
        let first = chunk * SIDE_BY_SIDE;
        let powers = power_sums(labels, first, centre, orders);
        for (moments, powers) in moments.chunks_exact_mut(classes).zip(&powers) {
            for (moment, power) in moments[first..].iter_mut().zip(powers) {
                *moment = power / n as f64;
            }
        }
    }
    moments
}

/// Classes whose powers are computed together. The powers of one class form a chain of dependent
/// products, so that a CPU would wait for each.
const SIDE_BY_SIDE: usize = 8;

/// Σᵥ (y − centre)ᵖ of the classes from `first` on, for p = 1, 2, …, `orders`.
fn power_sums<T: Real>(
    labels: &Matrix<T>,
    first: usize,
    centre: &[f64],
    orders: usize,
) -> Vec<[f64; SIDE_BY_SIDE]> {
    let mut sums = vec![[0.0; SIDE_BY_SIDE]; orders];
    for v in 0..labels.rows() {
        let (mut x, mut power) = ([0.0; SIDE_BY_SIDE], [1.0; SIDE_BY_SIDE]);
        let row = &labels.row(v)[first..];
        x.iter_mut().zip(row.iter().zip(centre)).for_each(|(x, (y, centre))| *x = y.f64() - centre);
        for sums in &mut sums {
            for c in 0..SIDE_BY_SIDE {
                power[c] *= x[c];
                sums[c] += power[c];
            }
        }
    }
    sums
}

/// Σᵥ (dᵥ + 1) Σ_c (1/e + y ln(y + 10⁻⁸)). Since −y ln y ≤ 1/e no summand is below 0, up to the
/// 10⁻⁸.
fn confidence<T: Real>(labels: &Matrix<T>, reach: &[f64]) -> f64 {
    (0..labels.rows()).map(|v| reach[v] * labels.row(v).iter().map(sharpness).sum::<f64>()).sum()
}

/// 1/e + y ln(y + 10⁻⁸).
fn sharpness<T: Real>(y: &T) -> f64 {
    1.0 / std::f64::consts::E + y.f64() * libm::log(y.f64() + 1e-8)
}

pub(super) fn server<T: Real>(context: &MethodContext<'_, T>) -> TopologyAware<T> {
    let initial = Model::new(0, context.initial.clone());
    let config = &context.setup.methods.fedgta;
    let moments = config.numbers_per_class() * context.classes;
    let models = vec![initial; context.clients];
    TopologyAware {
        epsilon: config.epsilon,
        moments,
        classes: context.classes,
        models,
        spare: Vec::new(),
    }
}

/// Moments of numbers from 0 to 1 lie in the same range, up to rounding; about a mean from −1 to 1.
const LARGEST_MOMENT: f64 = 1.0 + 1e-6;
/// 1/e + y ln(y + 10⁻⁸) is at most 1/e from 0 to 1, up to rounding.
const LARGEST_SHARPNESS: f64 = 1.0 / std::f64::consts::E + 1e-4;

/// One model per client, from similar clients; clients that accept the same others share a model.
pub(super) struct TopologyAware<T> {
    epsilon: f64,
    /// The number of moments that a client sends.
    moments: usize,
    /// Number of classes C.
    classes: usize,
    models: Vec<Model<T>>,
    /// Buffers of models that are no longer used, for the next ones.
    spare: Vec<Params<T>>,
}

impl<T: Real> ServerRule<T> for TopologyAware<T> {
    fn start(&self, client: usize) -> Option<&Model<T>> {
        Some(&self.models[client])
    }

    fn form(&self, turn: &SenderFacts<'_, T>) -> Form {
        let moments = Part::new("moment", self.moments, -LARGEST_MOMENT..=LARGEST_MOMENT);
        let most = turn.reach * self.classes as f64 * LARGEST_SHARPNESS;
        Form::model().with(moments).with(Part::new("confidence", 1, -1.0..=most))
    }

    fn aggregate(
        &mut self,
        updates: &[Contribution<'_, T>],
        round: &Round<'_, T>,
    ) -> Result<Option<Combination>> {
        let described: Vec<(&[f64], f64)> =
            updates.iter().filter_map(|u| split(&u.message.numbers)).collect();
        let sets: Vec<Vec<usize>> =
            (0..updates.len()).map(|i| similar_clients(&described, i, self.epsilon)).collect();
        let mut influence = vec![0.0; updates.len()];
        for (i, set) in sets.iter().enumerate() {
            let chosen: Vec<Contribution<'_, T>> = set.iter().map(|&j| updates[j]).collect();
            // A confidence may be 0 or slightly below; weights must have a positive sum.
            let confidences: Vec<f64> =
                set.iter().map(|&j| described[j].1.max(f64::MIN_POSITIVE)).collect();
            let combination = Combination::new(&chosen, &confidences, round.boost)?;
            for (j, weight) in set.iter().zip(combination.mean_weights()) {
                influence[*j] += weight / updates.len() as f64;
            }
            // The same set gives the same mean, which is computed once and shared.
            let model = match sets[..i].iter().position(|earlier| earlier == set) {
                Some(earlier) => self.models[updates[earlier].client].clone(),
                None => {
                    let mut mean = self.spare.pop().unwrap_or_else(|| updates[i].params().clone());
                    combination.apply(&chosen, &mut mean);
                    // Models are made once a round, each under its first client.
                    let slot = updates[i].client as u32;
                    let version = Version { slot, change: round.done as u32 + 1 };
                    Model::at(version, Arc::new(mean))
                }
            };
            let before = std::mem::replace(&mut self.models[updates[i].client], model);
            self.spare.extend(before.into_params());
        }
        Ok(Some(Combination::of_weights(influence)))
    }

    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        // A shared model is saved once, under its first client, and is shared again when restored.
        let owners: Vec<usize> =
            (0..self.models.len()).map(|k| first_sharer(&self.models, k)).collect();
        for (k, mut owner) in owners.into_iter().enumerate() {
            visitor.visit(&format!("owner of {k}"), &mut owner)?;
            if owner < k {
                self.models[k] = self.models[owner].clone();
            } else {
                self.models[k] = self.models[k].in_slot(k as u32);
                visitor.visit(&k.to_string(), &mut self.models[k])?;
            }
        }
        Ok(())
    }

    fn models(&self) -> Vec<&Params<T>> {
        self.models.iter().map(Model::params).collect()
    }
}

/// Aᵢ: the clients, by position, whose moments are similar to those of client `i`, and `i` itself.
fn similar_clients(described: &[(&[f64], f64)], i: usize, epsilon: f64) -> Vec<usize> {
    (0..described.len())
        .filter(|&j| j == i || cosine(described[i].0, described[j].0) > epsilon)
        .collect()
}

/// The first client that shares the model of client `k`.
fn first_sharer<T: Real>(models: &[Model<T>], k: usize) -> usize {
    (0..k).find(|&j| models[j].version() == models[k].version()).unwrap_or(k)
}

/// Moments and confidence.
fn split(numbers: &[f64]) -> Option<(&[f64], f64)> {
    numbers.split_last().map(|(confidence, moments)| (moments, *confidence))
}

/// cos(a, b); 0 if one of them is 0.
pub(super) fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let length = libm::sqrt(dot(a, a) * dot(b, b));
    if length > 0.0 { dot(a, b) / length } else { 0.0 }
}

/// Σ aᵢ bᵢ.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
