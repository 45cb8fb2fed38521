//! The keys of a federated run, each with its default, its meaning and its range.
//!
//! These structs are the single source of the TOML keys, of `config show` and of the documentation.

use crate::{Error, Result};
pub use boostfgl_nn::Reduction;
use boostfgl_protocol::Enrolment;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The protocol of the rounds (`[fed]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Protocol {
    /// Communication rounds T, 1 to 1000000000.
    pub rounds: usize,
    /// Local epochs E per round; an epoch is one full-batch step. 1 to 1000000000.
    pub epochs: usize,
    /// Share of the clients that take part in a round, in (0, 1]; at least one client does.
    pub participation: f64,
    /// What a client's weight in the average counts: all its nodes, or its labelled (training)
    /// nodes.
    pub client_weight: ClientWeight,
    /// Which round is reported: the last, or the one with the best validation accuracy.
    pub report: ReportedRound,
    /// Evaluate every this many rounds (the last round always is). At least 1.
    pub eval_every: usize,
    /// How per-node losses become one: mean over training nodes, plain sum, or mean weighted by the
    /// node weights.
    pub loss: Reduction,
}

/// How messages cross between the server and its clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// As values in one process, without copies.
    #[default]
    InProcess,
    /// Encoded and decoded in both directions, as between machines.
    Loopback,
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
            loss: Reduction::Mean,
        }
    }
}

impl Protocol {
    /// Checks every range.
    ///
    /// # Errors
    /// Names the first key that is out of range.
    pub fn check(&self) -> Result<()> {
        steps("fed.rounds", 1, self.rounds)?;
        steps("fed.epochs", 1, self.epochs)?;
        at_least_one("fed.eval_every", self.eval_every)?;
        share("fed.participation", self.participation)
    }
}

impl Protocol {
    /// How many of `able` clients take part in a round.
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

impl ClientWeight {
    /// The size of a client by what it enrolled with.
    pub(crate) fn of(self, enrolment: &Enrolment) -> f64 {
        match self {
            Self::Nodes => enrolment.nodes as f64,
            Self::Labelled => enrolment.training as f64,
        }
    }
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

/// The supervised loss of the network (`[loss]`). Modules that methods train next to it keep their
/// own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Loss {
    /// none, or balanced: every training node weighs n/(C·n_c), the inverse share of its class among
    /// the client's training nodes. For rare classes.
    pub class_weight: ClassWeight,
    /// γ of the focal loss (1 − p)^γ·CE, from 0 (the default, plain cross-entropy) to 10: nodes that
    /// are right already count less.
    pub focal: f64,
}

/// How much the classes count in the loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClassWeight {
    /// All nodes the same.
    #[default]
    None,
    /// All classes of a client the same.
    Balanced,
}

impl Loss {
    /// Checks every range.
    ///
    /// # Errors
    /// Names the key that is out of range.
    pub fn check(&self) -> Result<()> {
        if (0.0..=10.0).contains(&self.focal) {
            return Ok(());
        }
        Err(Error::setting("loss.focal", "a number from 0 to 10", self.focal))
    }

    /// The loss of training nodes with these labels.
    pub(crate) fn of<T: boostfgl_nn::Real>(
        &self,
        labels: Vec<u32>,
        reduction: Reduction,
    ) -> boostfgl_nn::WeightedLoss<T> {
        let loss = boostfgl_nn::WeightedLoss::new(labels, reduction).focal(self.focal);
        match self.class_weight {
            ClassWeight::None => loss,
            ClassWeight::Balanced => loss.balanced(),
        }
    }
}

/// The network (`[model]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Model {
    /// Architecture; `boostfgl methods` lists them.
    pub backbone: String,
    /// Hidden width, 1 to 1000000.
    pub hidden: usize,
    /// Number of layers, 1 to 8.
    pub layers: usize,
    /// Dropout probability on hidden layers while training, in [0, 1).
    pub dropout: f64,
    /// Standard deviation of Gaussian noise on what every layer aggregates, as a multiple of its
    /// root mean square, in training, scoring and evaluation: 0 (the default, none) to 100. It
    /// simulates differential privacy and is not: nothing is clipped, no budget is accounted for.
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
        width("model.hidden", self.hidden)?;
        if !(1..=MOST_LAYERS).contains(&self.layers) {
            return Err(Error::setting("model.layers", format!("1 to {MOST_LAYERS}"), self.layers));
        }
        if !(0.0..1.0).contains(&self.dropout) {
            return Err(Error::setting("model.dropout", "at least 0 and below 1", self.dropout));
        }
        if !(0.0..=100.0).contains(&self.message_noise) {
            return Err(Error::setting(
                "model.message_noise",
                "a number from 0 to 100",
                self.message_noise,
            ));
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
        above_zero("optimizer.learning_rate", self.learning_rate)?;
        not_negative("optimizer.weight_decay", self.weight_decay)?;
        if !(0.0..1.0).contains(&self.momentum) {
            return Err(Error::setting(
                "optimizer.momentum",
                "at least 0 and below 1",
                self.momentum,
            ));
        }
        Ok(())
    }

    /// A fresh optimiser with these settings.
    pub fn build<T: boostfgl_nn::Real>(&self) -> Box<dyn boostfgl_nn::optim::Optimizer<T>> {
        use boostfgl_nn::optim::{Adam, AdamConfig, Sgd, SgdConfig};
        let (rate, weight_decay, momentum) = (self.learning_rate, self.weight_decay, self.momentum);
        match self.optimizer {
            OptimizerKind::Adam => {
                Box::new(Adam::new(AdamConfig { rate, weight_decay, ..AdamConfig::default() }))
            }
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

/// Whether a key that was added later is left out of files: at its default they stay as they were.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// The widest layer, and the largest number of nodes that a method generates. Products of a few
/// such numbers do not overflow, and a run that needs this much is refused for its memory first.
pub const WIDEST: usize = 1_000_000;

/// The largest number of layers: more than any network of this kind gains from.
pub const MOST_LAYERS: usize = 8;

/// The largest number of rounds, epochs or steps. Even the shortest would take weeks, and sums and
/// products of such numbers fit 64 bits.
pub const LONGEST: usize = 1_000_000_000;

pub(crate) fn at_least_one(key: &'static str, value: usize) -> Result<()> {
    if value == 0 { Err(Error::setting(key, "at least 1", value)) } else { Ok(()) }
}

/// Checks a width or a number of generated nodes: from 1 to [`WIDEST`].
pub(crate) fn width(key: &'static str, value: usize) -> Result<()> {
    at_least_one(key, value)?;
    at_most(key, WIDEST, value)
}

/// Checks a number of rounds, epochs or steps: from `least` to [`LONGEST`].
pub(crate) fn steps(key: &'static str, least: usize, value: usize) -> Result<()> {
    if value < least {
        return Err(Error::setting(key, format!("at least {least}"), value));
    }
    at_most(key, LONGEST, value)
}

pub(crate) fn at_most(key: &'static str, most: usize, value: usize) -> Result<()> {
    if value > most { Err(Error::setting(key, format!("at most {most}"), value)) } else { Ok(()) }
}

pub(crate) fn not_negative(key: &'static str, value: f64) -> Result<()> {
    if !value.is_finite() || value < 0.0 {
        return Err(Error::setting(key, "a number of at least 0", value));
    }
    single(key, value)
}

/// Checks a share: above 0 and at most 1.
pub(crate) fn share(key: &'static str, value: f64) -> Result<()> {
    if value > 0.0 && value <= 1.0 {
        return Ok(());
    }
    Err(Error::setting(key, "a number above 0 and at most 1", value))
}

pub(crate) fn above_zero(key: &'static str, value: f64) -> Result<()> {
    if !value.is_finite() || value <= 0.0 {
        return Err(Error::setting(key, "a number above 0", value));
    }
    single(key, value)
}

/// Checks that the number fits single precision, in which training computes.
pub(crate) fn single(key: &'static str, value: f64) -> Result<()> {
    if (value as f32).is_finite() {
        return Ok(());
    }
    // `Display` would print up to 300 digits.
    let (expected, found) =
        ("a number that single precision can hold, at most 3.4e38".into(), format!("{value:?}"));
    Err(Error::Setting { key, expected, found })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::MethodConfigs;

    /// Every key that sets a size, at a value that fits no machine.
    #[test]
    fn sizes_have_upper_bounds() {
        type Change = fn(&mut MethodConfigs, usize);
        let keys: [(&str, Change); 15] = [
            ("methods.adafgl.hidden", |m, n| m.adafgl.hidden = n),
            ("methods.adafgl.steps", |m, n| m.adafgl.steps = n),
            ("methods.adafgl.personal_epochs", |m, n| m.adafgl.personal_epochs = n),
            ("methods.fedsage-plus.hidden", |m, n| m.fedsage_plus.hidden = n),
            ("methods.fedsage-plus.latent", |m, n| m.fedsage_plus.latent = n),
            ("methods.fedsage-plus.narrow", |m, n| m.fedsage_plus.narrow = n),
            ("methods.fedsage-plus.wide", |m, n| m.fedsage_plus.wide = n),
            ("methods.fedsage-plus.max_neighbours", |m, n| m.fedsage_plus.max_neighbours = n),
            ("methods.fedtad.pseudo_nodes", |m, n| m.fedtad.pseudo_nodes = n),
            ("methods.fedtad.noise", |m, n| m.fedtad.noise = n),
            ("methods.fedtad.neighbours", |m, n| m.fedtad.neighbours = n),
            ("methods.fedpub.proxy_blocks", |m, n| m.fedpub.proxy_blocks = n),
            ("methods.fedpub.proxy_nodes", |m, n| m.fedpub.proxy_nodes = n),
            ("methods.fedspray.width", |m, n| m.fedspray.width = n),
            ("methods.fairfgl.history", |m, n| m.fairfgl.history = n),
        ];
        for (key, change) in keys {
            for size in [1_000_000_000_000, 1 << 62] {
                let mut methods = MethodConfigs::default();
                change(&mut methods, size);
                let refused = methods.check().unwrap_err().to_string();
                assert!(refused.starts_with(&format!("{key}: expected at most ")), "{refused}");
                assert!(refused.ends_with(&format!("found {size}")), "{refused}");
            }
        }
        let refused = Model { hidden: 1_000_000_000_000, ..Model::default() }.check().unwrap_err();
        assert_eq!(
            refused.to_string(),
            "model.hidden: expected at most 1000000, found 1000000000000"
        );
        let refused = Protocol { rounds: 1 << 62, ..Protocol::default() }.check().unwrap_err();
        assert_eq!(
            refused.to_string(),
            "fed.rounds: expected at most 1000000000, found 4611686018427387904"
        );
        assert!(Model { hidden: WIDEST, ..Model::default() }.check().is_ok());
    }

    #[test]
    fn a_proxy_graph_is_bounded_as_a_whole() {
        let mut methods = MethodConfigs::default();
        (methods.fedpub.proxy_blocks, methods.fedpub.proxy_nodes) = (1000, 1000);
        assert!(methods.check().is_ok());
        methods.fedpub.proxy_nodes = 1001;
        assert_eq!(
            methods.check().unwrap_err().to_string(),
            "methods.fedpub.proxy_nodes: expected at most 1000000 nodes in all 1000 blocks, found \
             1001"
        );
        // One block of as many nodes would take months to draw.
        (methods.fedpub.proxy_blocks, methods.fedpub.proxy_nodes) = (1, 100_000);
        assert_eq!(
            methods.check().unwrap_err().to_string(),
            "methods.fedpub.proxy_nodes: expected at most 1000000000 pairs of nodes within all 1 \
             blocks, found 100000"
        );
    }

    #[test]
    fn rates_are_finite_in_single_precision() {
        let message = |rate| {
            let optimizer = Optimizer { learning_rate: rate, ..Optimizer::default() };
            optimizer.check().err().map(|error| error.to_string()).unwrap_or_default()
        };
        let expected = "optimizer.learning_rate: expected a number that single precision can \
            hold, at most 3.4e38, found";
        assert_eq!(message(1e300), format!("{expected} 1e300"));
        assert_eq!(
            message(f64::INFINITY),
            "optimizer.learning_rate: expected a number above 0, found inf"
        );
        assert_eq!(
            message(f64::NAN),
            "optimizer.learning_rate: expected a number above 0, found NaN"
        );
        assert_eq!((message(1e38), message(1e-300)), (String::new(), String::new()));
        let refused = Optimizer { weight_decay: 1e39, ..Optimizer::default() }.check().unwrap_err();
        assert!(
            refused
                .to_string()
                .starts_with("optimizer.weight_decay: expected a number that single"),
            "{refused}"
        );
    }
}
