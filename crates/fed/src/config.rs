//! The keys of a federated run, each with its default, its meaning and its range.
//!
//! These structs are the single source of the TOML keys, of `config show` and of the documentation.

use crate::{Error, Result};
use boostfgl_nn::Reduction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The protocol of the rounds (`[fed]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Protocol {
    /// Communication rounds T, at least 1.
    pub rounds: usize,
    /// Local epochs E per round; an epoch is one full-batch step. At least 1.
    pub epochs: usize,
    /// Share of the clients that take part in a round, in (0, 1]; at least one client does.
    pub participation: f64,
    /// What a client's weight in the average counts: all its nodes, or its labelled (training) nodes.
    pub client_weight: ClientWeight,
    /// Which round is reported: the last, or the one with the best validation accuracy.
    pub report: ReportedRound,
    /// Evaluate every this many rounds (the last round always is). At least 1.
    pub eval_every: usize,
    /// How per-node losses become one: mean over training nodes, plain sum, or mean weighted by the node weights.
    pub loss: LossReduction,
}

impl Default for Protocol {
    fn default() -> Self {
        Self {
            rounds: 50,
            epochs: 1,
            participation: 1.0,
            client_weight: ClientWeight::Nodes,
            report: ReportedRound::Last,
            eval_every: 1,
            loss: LossReduction::Mean,
        }
    }
}

impl Protocol {
    /// Checks every range.
    ///
    /// # Errors
    /// Names the first key that is out of range.
    pub fn check(&self) -> Result<()> {
        at_least_one("fed.rounds", self.rounds)?;
        at_least_one("fed.epochs", self.epochs)?;
        at_least_one("fed.eval_every", self.eval_every)?;
        if !(self.participation > 0.0 && self.participation <= 1.0) {
            return Err(Error::setting("fed.participation", "a number above 0 and at most 1", self.participation));
        }
        Ok(())
    }
}

impl Protocol {
    /// How many of so many able clients take part in a round.
    pub fn taking_part(&self, able: usize) -> usize {
        (self.participation * able as f64).round().max(1.0) as usize
    }
}

/// What counts as a client's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClientWeight {
    /// All local nodes.
    Nodes,
    /// Local training nodes.
    Labelled,
}

/// Which round is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReportedRound {
    /// The last one.
    Last,
    /// The one with the best accuracy on the validation nodes (the earliest of equals).
    BestVal,
}

/// How per-node losses become one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossReduction {
    /// Divided by the number of training nodes.
    Mean,
    /// Not divided.
    Sum,
    /// Divided by the sum of the node weights.
    WeightedMean,
}

impl From<LossReduction> for Reduction {
    fn from(reduction: LossReduction) -> Self {
        match reduction {
            LossReduction::Mean => Self::Mean,
            LossReduction::Sum => Self::Sum,
            LossReduction::WeightedMean => Self::WeightedMean,
        }
    }
}

/// The network (`[model]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Model {
    /// Architecture; `boostfgl methods` lists them.
    pub backbone: String,
    /// Hidden width, at least 1.
    pub hidden: usize,
    /// Number of layers, 1 to 8.
    pub layers: usize,
    /// Dropout probability on hidden layers while training, in [0, 1).
    pub dropout: f64,
    /// Standard deviation of Gaussian noise on what every layer aggregates, as a multiple of its root mean square, in
    /// training, scoring and evaluation: 0 (the default, none) to 100. It simulates differential privacy and is not:
    /// nothing is clipped, no budget is accounted for.
    #[serde(skip_serializing_if = "is_zero")]
    pub message_noise: f64,
}

impl Default for Model {
    fn default() -> Self {
        Self { backbone: "gcn".into(), hidden: 256, layers: 2, dropout: 0.5, message_noise: 0.0 }
    }
}

impl Model {
    /// Checks every range.
    ///
    /// # Errors
    /// Names the first key that is out of range.
    pub fn check(&self) -> Result<()> {
        at_least_one("model.hidden", self.hidden)?;
        if !(1..=8).contains(&self.layers) {
            return Err(Error::setting("model.layers", "1 to 8", self.layers));
        }
        if !(0.0..1.0).contains(&self.dropout) {
            return Err(Error::setting("model.dropout", "at least 0 and below 1", self.dropout));
        }
        if !(0.0..=100.0).contains(&self.message_noise) {
            return Err(Error::setting("model.message_noise", "a number from 0 to 100", self.message_noise));
        }
        Ok(())
    }
}

/// The local optimiser (`[optimizer]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Optimizer {
    /// adam or sgd.
    pub optimizer: OptimizerKind,
    /// Learning rate, above 0.
    pub learning_rate: f64,
    /// Weight decay, added to the gradient; at least 0.
    pub weight_decay: f64,
    /// Momentum of sgd, in [0, 1).
    pub momentum: f64,
    /// Whether a client keeps its optimiser's moments from round to round, or starts afresh.
    pub optimizer_state: OptimizerState,
}

impl Default for Optimizer {
    fn default() -> Self {
        Self {
            optimizer: OptimizerKind::Adam,
            learning_rate: 1e-2,
            weight_decay: 5e-4,
            momentum: 0.0,
            optimizer_state: OptimizerState::Keep,
        }
    }
}

impl Optimizer {
    /// Checks every range.
    ///
    /// # Errors
    /// Names the first key that is out of range.
    pub fn check(&self) -> Result<()> {
        if !(self.learning_rate.is_finite() && self.learning_rate > 0.0) {
            return Err(Error::setting("optimizer.learning_rate", "a number above 0", self.learning_rate));
        }
        not_negative("optimizer.weight_decay", self.weight_decay)?;
        if !(0.0..1.0).contains(&self.momentum) {
            return Err(Error::setting("optimizer.momentum", "at least 0 and below 1", self.momentum));
        }
        Ok(())
    }

    /// A fresh optimiser with these settings.
    pub fn build<T: boostfgl_nn::Real>(&self) -> Box<dyn boostfgl_nn::optim::Optimizer<T>> {
        use boostfgl_nn::optim::{Adam, AdamConfig, Sgd, SgdConfig};
        let (rate, weight_decay, momentum) = (self.learning_rate, self.weight_decay, self.momentum);
        match self.optimizer {
            OptimizerKind::Adam => Box::new(Adam::new(AdamConfig { rate, weight_decay, ..AdamConfig::default() })),
            OptimizerKind::Sgd => Box::new(Sgd::new(SgdConfig { rate, weight_decay, momentum })),
        }
    }
}

/// The local optimiser's rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OptimizerKind {
    /// Adam with β = (0.9, 0.999), ε = 1e-8.
    Adam,
    /// Gradient descent with momentum.
    Sgd,
}

/// What happens to moments between rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OptimizerState {
    /// They stay with the client.
    Keep,
    /// Every round starts with none.
    Reset,
}

/// Whether a key that came later may be left out of files, which then read as they did before.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

pub(crate) fn at_least_one(key: &'static str, value: usize) -> Result<()> {
    if value == 0 { Err(Error::setting(key, "at least 1", value)) } else { Ok(()) }
}

pub(crate) fn not_negative(key: &'static str, value: f64) -> Result<()> {
    if value.is_finite() && value >= 0.0 { Ok(()) } else { Err(Error::setting(key, "a number of at least 0", value)) }
}
