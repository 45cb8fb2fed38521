//! FairFed (Ezzeldin et al., AAAI 2023): clients whose fairness gap departs from the global one
//! lose weight.
//!
//! Fₖ = accuracy on minority − accuracy on majority training nodes of the received model, F the
//! same over all clients together; δₖ = |F − Fₖ|, or |Acc − Accₖ| where a client lacks one of the
//! groups; ωₖ ← ωₖ − β(δₖ − mean δ), from ωₖ = nₖ/Σn and clipped at 0; θ ← Σ ωₖθₖ / Σ ωₖ.
//!
//! The paper's sensitive groups are people; here they are the client's minority and majority
//! classes. Weights are stored in nodes (ω·Σn), so that β = 0 is FedAvg bit for bit.

use super::{MethodContext, MethodInfo, Round, SenderFacts, ServerRule};
use crate::Result;
use crate::aggregate::{Combination, Contribution};
use crate::client_rule::{BroadcastForm, ClientContext, TrainingHooks, Upload, default_hooks};
use crate::config::{not_negative, share};
use crate::local_data::LocalData;
use crate::screen::{Form, Part};
use boostfgl_graph::groups::minority_classes;
use boostfgl_nn::{Params, Real, StateVisitor};
use boostfgl_protocol::{Message, Model};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub(super) const INFO: MethodInfo = MethodInfo {
    name: "fairfed",
    summary: "fairness-aware weights: a client whose gap departs from the global one loses weight",
    paper: "Ezzeldin et al., FairFed: Enabling Group Fairness in Federated Learning, AAAI 2023",
    equations: "client k:  F_k = acc(minority) - acc(majority) on training nodes, of the received \
        model\n\
                server:    delta_k = |F - F_k| (|Acc - Acc_k| where a group is empty)\n\
                \x20          omega_k = max(0, omega_k - beta (delta_k - mean delta)), from n_k / \
                sum_j n_j\n\
                \x20          theta = sum_k omega_k theta_k / sum_k omega_k",
    wire: "up P + 5 (model, size, hits and nodes of both groups), down P + 2 (F and Acc of the \
        round before)",
    departures: "Groups are a client's minority and majority classes by its training labels \
        (minority_ratio), not\n\
                 a sensitive attribute. The server computes delta from the counts that clients \
                 send; the paper hides them\n\
                 by secure aggregation. Weights are cut off at 0; if all reach 0 they start again \
                 from the sizes.\n\
                 Under model boosting the gap has no effect (gamma): the method already uses its own.",
    outvotes: super::lives_by_weights,
    ..MethodInfo::PLAIN
};

/// Settings of FairFed (`[methods.fairfed]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Rate β at which weights move, at least 0; 0 is FedAvg.
    pub beta: f64,
    /// Minority classes of a client: the smallest classes that together hold at least this share of
    /// its training labels, above 0 and at most 1; the largest class never is one.
    pub minority_ratio: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { beta: 1.0, minority_ratio: 0.5 }
    }
}

impl Config {
    pub(super) fn check(&self) -> Result<()> {
        not_negative("methods.fairfed.beta", self.beta)?;
        share("methods.fairfed.minority_ratio", self.minority_ratio)
    }
}

pub(super) fn client<T: Real>(context: &MethodContext<'_, T>, data: &LocalData<T>) -> GapReporter {
    let minority =
        minority_classes(&data.training_counts(), context.setup.methods.fairfed.minority_ratio);
    GapReporter { minority, counts: [0.0; 4] }
}

/// A client that counts the hits of the received model in its two groups.
pub(super) struct GapReporter {
    /// Per class with a training node, whether it is a minority class.
    minority: Vec<Option<bool>>,
    /// Hits and nodes of the minority, hits and nodes of the majority.
    counts: [f64; 4],
}

default_hooks!(GapReporter: PreparationHooks, PersonalModel, RuleState);

impl<T: Real> TrainingHooks<T> for GapReporter {
    fn inspects_start(&self) -> bool {
        true
    }

    fn broadcast_form(&self, _: &ClientContext<'_, T>) -> BroadcastForm {
        BroadcastForm::Always(Form::message().with(Part::new("gap or accuracy", 2, -1.0..=1.0)))
    }

    fn begin(&mut self, context: &ClientContext<'_, T>, _: Option<&Message<T>>) -> Result<()> {
        let logits = context.start_logits();
        self.counts = [0.0; 4];
        for &v in context.data().training() {
            let Some(label) = context.data().training_label(v as usize) else { continue };
            let group = if self.minority[label as usize] == Some(true) { 0 } else { 2 };
            let hit = crate::client::argmax(logits.row(v as usize)) == label;
            self.counts[group] += f64::from(u8::from(hit));
            self.counts[group + 1] += 1.0;
        }
        context.pool().put(logits);
        Ok(())
    }

    fn finish(&mut self, _: &ClientContext<'_, T>, _: &Params<T>) -> Result<Upload<T>> {
        Ok(Upload { message: Message::numbers(self.counts.to_vec()), ..Upload::model() })
    }
}

pub(super) fn server<T: Real>(context: &MethodContext<'_, T>) -> FairWeights<T> {
    FairWeights {
        beta: context.setup.methods.fairfed.beta,
        global: Model::new(0, context.initial.clone()),
        weights: vec![None; context.clients],
        broadcast: Arc::new(Message::numbers(vec![0.0, 0.0])),
    }
}

/// A server with a weight per client.
pub(super) struct FairWeights<T> {
    beta: f64,
    global: Model<T>,
    /// ω·Σn of each client that has taken part.
    weights: Vec<Option<f64>>,
    /// F and Acc of the last round, sent to every client.
    broadcast: Arc<Message<T>>,
}

impl<T: Real> ServerRule<T> for FairWeights<T> {
    fn start(&self, _: usize) -> Option<&Model<T>> {
        Some(&self.global)
    }

    fn tell(&self, _: usize) -> Option<&Arc<Message<T>>> {
        Some(&self.broadcast)
    }

    fn form(&self, turn: &SenderFacts<'_, T>) -> Form {
        let counts = Part::whole("count of training nodes", 4, 0.0..=turn.labelled);
        let form = Form::model().with(counts).adding_up(
            "two groups of nodes",
            [1, 3],
            turn.labelled..=turn.labelled,
        );
        let hits = "at most as many hits as there are nodes in the group,";
        form.ordered(hits, 0, 1).ordered(hits, 2, 3)
    }

    fn aggregate(
        &mut self,
        updates: &[Contribution<'_, T>],
        round: &Round<'_, T>,
    ) -> Result<Option<Combination>> {
        let counts: Vec<GroupHits> =
            updates.iter().map(|u| GroupHits::read(&u.message.numbers)).collect();
        let all = counts.iter().fold(GroupHits::default(), GroupHits::plus);
        let departures: Vec<f64> = counts.iter().map(|own| own.departure(&all)).collect();
        let mean = departures.iter().sum::<f64>() / departures.len() as f64;
        let nodes: f64 = updates.iter().map(|u| u.size).sum();
        let mut weights: Vec<f64> = updates
            .iter()
            .zip(&departures)
            .map(|(u, delta)| {
                self.weights[u.client].unwrap_or(u.size) - self.beta * (delta - mean) * nodes
            })
            .map(|weight| weight.max(0.0))
            .collect();
        // Without any weight there is no mean: start again from the sizes.
        if weights.iter().all(|weight| *weight == 0.0) {
            weights = updates.iter().map(|u| u.size).collect();
        }
        updates.iter().zip(&weights).for_each(|(u, weight)| self.weights[u.client] = Some(*weight));
        let numbers = vec![all.gap().unwrap_or(0.0), all.accuracy()];
        self.broadcast = Arc::new(Message::numbers(numbers));
        let combination = Combination::new(updates, &weights, round.boost.without_gap())?;
        let combination = combination.combine(updates, round.aggregation, self.global.edit())?;
        Ok(Some(combination))
    }

    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("global", &mut self.global)?;
        visitor
            .within("told", |visitor| Arc::make_mut(&mut self.broadcast).visit_shaped(visitor))?;
        let weights = self.weights.iter_mut().enumerate();
        weights
            .into_iter()
            .try_for_each(|(k, weight)| visitor.option(&k.to_string(), weight, || 0.0))
    }

    fn models(&self) -> Vec<&Params<T>> {
        vec![&self.global]
    }
}

/// Hits of a model in two groups: hits and nodes of minority and majority.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct GroupHits {
    minority: (f64, f64),
    majority: (f64, f64),
}

impl GroupHits {
    fn read(numbers: &[f64]) -> Self {
        Self { minority: (numbers[0], numbers[1]), majority: (numbers[2], numbers[3]) }
    }

    /// The hits of two clients together.
    fn plus(self, other: &Self) -> Self {
        let [(a, n), (b, m)] = [self.minority, other.minority];
        let [(c, k), (d, l)] = [self.majority, other.majority];
        Self { minority: (a + b, n + m), majority: (c + d, k + l) }
    }

    /// acc(minority) − acc(majority), if both have nodes.
    fn gap(&self) -> Option<f64> {
        Some(rate(self.minority)? - rate(self.majority)?)
    }

    fn accuracy(&self) -> f64 {
        (self.minority.0 + self.majority.0) / (self.minority.1 + self.majority.1).max(1.0)
    }

    /// δ: how far this client's gap, or else its accuracy, departs from that of all clients.
    fn departure(&self, all: &Self) -> f64 {
        match (self.gap(), all.gap()) {
            (Some(own), Some(all)) => (all - own).abs(),
            _ => (all.accuracy() - self.accuracy()).abs(),
        }
    }
}

/// Hits per node, if there is a node.
fn rate((hits, nodes): (f64, f64)) -> Option<f64> {
    (nodes > 0.0).then(|| hits / nodes)
}
