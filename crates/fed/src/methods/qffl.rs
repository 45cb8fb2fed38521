//! q-FFL with q-FedAvg (Li et al., ICLR 2020): clients with a larger loss get a larger weight.
//!
//! Objective Σₖ (pₖ/(q+1)) Fₖ^{q+1}. With L = 1/η, gₖ = L(θ − θₖ) and Fₖ the loss of the received
//! model: Δₖ = Fₖ^q gₖ, hₖ = q Fₖ^{q−1}‖gₖ‖² + L Fₖ^q, θ ← θ − ΣΔₖ / Σhₖ. With q = 0 this is the
//! uniform mean of models.
//!
//! L = 1/η stands for a Lipschitz constant, which has no meaning under Adam: its steps have the same
//! length for every gradient, ‖gₖ‖² then dwarfs Fₖ and nothing is learnt. By default the published
//! step is taken under SGD only. Under Adam the server takes the mean Σ Fₖ^q θₖ / Σ Fₖ^q, which gives
//! clients the same weights up to the norms.
//!
//! Since Δₖ/Σh = cₖ(θ − θₖ) with cₖ = L Fₖ^q / Σh, the step is a weighted sum of θ and the θₖ.

use super::{MethodContext, MethodInfo, Round, SenderFacts, ServerRule};
use crate::aggregate::{Combination, Contribution};
use crate::client_rule::{ClientContext, TrainingHooks, Upload, default_hooks};
use crate::config::{OptimizerKind, not_negative};
use crate::local_data::LocalData;
use crate::screen::{Form, Part};
use crate::{Error, Result};
use boostfgl_nn::{Params, Real, StateVisitor};
use boostfgl_protocol::{Message, Model};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The least loss that is used: negative powers of 0 are not finite.
const FLOOR: f64 = 1e-10;

pub(super) const INFO: MethodInfo = MethodInfo {
    name: "qffl",
    summary: "fair aggregation: clients with a larger loss get a larger weight (q-FedAvg)",
    paper: "Li et al., Fair Resource Allocation in Federated Learning, ICLR 2020",
    equations: "client k:  F_k = mean CE of the received model on its training nodes; theta_k as \
        in FedAvg\n\
                server:    g_k = (theta - theta_k)/eta; D_k = F_k^q g_k; h_k = q F_k^(q-1) \
                |g_k|^2 + F_k^q / eta\n\
                \x20          theta = theta - (sum_k D_k) / (sum_k h_k)",
    wire: "up P + 1 (model, loss), down P",
    departures: "1/eta stands for a Lipschitz constant under SGD. Under Adam it means nothing and \
        the published step all but\n\
                 stands still, so that server_step = \"auto\" then takes sum_k F_k^q theta_k / \
                 sum_k F_k^q instead;\n\
                 server_step = \"lipschitz\" is the published step always. Full participation \
                 replaces sampling by size;\n\
                 qffl.by_size = true weighs D_k and h_k by n_k instead.",
    extra_bytes: |sizes, _| 4.0 * sizes.parameters,
    single_updates: Some("the step follows from the length of each update"),
    outvotes: |_| {
        Some("the server takes a step that is weighted by losses instead of a mean of models")
    },
    ..MethodInfo::PLAIN
};

/// Settings of q-FFL (`[methods.qffl]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Exponent q, from 0 (uniform mean) to 20: the larger, the more the worst client counts.
    pub q: f64,
    /// Whether a client's terms D and h are also weighed by its size.
    pub by_size: bool,
    /// The server's step: as published, a mean with weights F^q, or whichever suits the local
    /// optimiser.
    pub server_step: ServerStep,
}

/// The server's step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ServerStep {
    /// As published under SGD, the mean under Adam.
    Auto,
    /// As published.
    Lipschitz,
    /// The mean with weights F^q.
    Mean,
}

impl Default for Config {
    fn default() -> Self {
        Self { q: 1.0, by_size: false, server_step: ServerStep::Auto }
    }
}

impl Config {
    pub(super) fn check(&self) -> Result<()> {
        not_negative("methods.qffl.q", self.q)?;
        if self.q > 20.0 {
            Err(Error::setting("methods.qffl.q", "a number from 0 to 20", self.q))
        } else {
            Ok(())
        }
    }
}

pub(super) fn client<T: Real>(_: &MethodContext<'_, T>, _: &LocalData<T>) -> LossReporter {
    LossReporter { loss: 0.0 }
}

/// A client that reports the loss of the received model.
pub(super) struct LossReporter {
    loss: f64,
}

default_hooks!(LossReporter: PreparationHooks, PersonalModel, RuleState);

impl<T: Real> TrainingHooks<T> for LossReporter {
    fn inspects_start(&self) -> bool {
        true
    }

    fn begin(&mut self, context: &ClientContext<'_, T>, _: Option<&Message<T>>) -> Result<()> {
        self.loss = context.training_loss();
        Ok(())
    }

    fn finish(&mut self, _: &ClientContext<'_, T>, _: &Params<T>) -> Result<Upload<T>> {
        Ok(Upload::with(Message::numbers(vec![self.loss])))
    }
}

pub(super) fn server<T: Real>(context: &MethodContext<'_, T>) -> Stepping<T> {
    let setup = context.setup;
    let config = setup.methods.qffl.clone();
    let published = match config.server_step {
        ServerStep::Auto => setup.optimizer.optimizer == OptimizerKind::Sgd,
        step => step == ServerStep::Lipschitz,
    };
    Stepping {
        config,
        published,
        rate: setup.optimizer.learning_rate,
        classes: context.classes,
        global: Model::new(0, context.initial.clone()),
        next: context.initial.clone(),
    }
}

/// A larger loss means divergence, and its powers would soon be infinite.
const LARGEST_LOSS: f64 = 1e6;

/// A model and the loss of the received one, which wins influence. A uniform guess among C classes
/// has loss ln C.
pub(super) fn loss_form(classes: usize) -> Form {
    let guess = libm::log(classes.max(2) as f64);
    Form::model().with(Part::new("training loss", 1, 0.0..=LARGEST_LOSS).bounded_by_others(guess))
}

/// A server that takes a step along the updates.
pub(super) struct Stepping<T> {
    config: Config,
    /// Whether the step is the published one.
    published: bool,
    rate: f64,
    /// Number of classes C.
    classes: usize,
    global: Model<T>,
    next: Params<T>,
}

impl<T: Real> ServerRule<T> for Stepping<T> {
    fn start(&self, _: usize) -> Option<&Model<T>> {
        Some(&self.global)
    }

    fn form(&self, _: &SenderFacts<'_, T>) -> Form {
        loss_form(self.classes)
    }

    fn aggregate(
        &mut self,
        updates: &[Contribution<'_, T>],
        round: &Round<'_, T>,
    ) -> Result<Option<Combination>> {
        let base: Vec<f64> =
            updates.iter().map(|u| if self.config.by_size { u.size } else { 1.0 }).collect();
        // Weights are normalised, which changes nothing: a common factor of ΣΔ and Σh cancels.
        let trusted = Combination::new(updates, &base, round.boost)?;
        let lipschitz = 1.0 / self.rate;
        let (mut pulls, mut denominator) = (Vec::new(), 0.0);
        for (update, weight) in updates.iter().zip(trusted.mean_weights()) {
            let loss = update.message.numbers[0].max(FLOOR);
            let pull = weight * lipschitz * libm::pow(loss, self.config.q);
            let square = lipschitz * lipschitz * update.norm * update.norm;
            denominator += pull;
            if self.published {
                denominator +=
                    weight * self.config.q * libm::pow(loss, self.config.q - 1.0) * square;
            }
            pulls.push(pull);
        }
        pulls.iter_mut().for_each(|pull| *pull /= denominator);
        step(self.global.edit(), &mut self.next, updates, &pulls);
        Ok(Some(Combination::of_weights(pulls)))
    }

    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("global", &mut self.global)
    }

    fn models(&self) -> Vec<&Params<T>> {
        vec![&self.global]
    }
}

/// global ← global + Σₖ pullₖ (θₖ − global), using `next` as a buffer.
pub(super) fn step<T: Real>(
    global: &mut Params<T>,
    next: &mut Params<T>,
    updates: &[Contribution<'_, T>],
    pulls: &[f64],
) {
    let rest = 1.0 - pulls.iter().sum::<f64>();
    let weights: Vec<f64> = std::iter::once(rest).chain(pulls.iter().copied()).collect();
    let models: Vec<&Params<T>> =
        std::iter::once(&*global).chain(updates.iter().map(Contribution::params)).collect();
    next.set_weighted_sum(&models, |_| weights.clone());
    std::mem::swap(global, next);
}
