//! Server-side model boosting: trust-gated aggregation (Eqs. trust and agg).
//!
//! A client with update norm r = ‖Δθ‖₂ and fairness gap g gets the trust τ = 1/((1 + λₛ r)(1 + γ
//! g)) (the paper's pseudo code, which its proof uses) or τ = exp(−λₛ r − γ g) (its Eq. trust).
//! Trust multiplies the client's weight; weights are then normalised.

use super::{
    BoostConfig, BoostContext, BoostInfo, BoostPlugin, ClientBoost, Evidence, Place, ServerBoost,
    TrainedNodes,
};
use crate::config::{not_negative, share};
use crate::local_data::LocalData;
use crate::{Error, Result};
use boostfgl_graph::groups::minority_classes;
use boostfgl_nn::Real;
pub use boostfgl_protocol::Summary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The description that `boostfgl methods` prints, and the places where the boost acts.
pub const INFO: BoostInfo = BoostInfo {
    name: "model",
    meaning: "server: a client's weight is multiplied by its trust",
    acts: &[Place::Summary, Place::Aggregation],
};

/// Model boosting as a plug-in.
pub(super) struct Plugin;

impl<T: Real> BoostPlugin<T> for Plugin {
    fn info(&self) -> BoostInfo {
        INFO
    }

    fn needs_class_counts(&self, config: &BoostConfig) -> bool {
        config.model.gap_minority == GapMinority::Global
    }

    fn client(&self, context: &BoostContext<'_, T>) -> Option<Box<dyn ClientBoost<T>>> {
        Some(Box::new(GapSummary {
            minority: gap_minority(&context.config.model, context.data, context.class_counts),
        }))
    }

    fn server(&self, config: &BoostConfig) -> Option<Box<dyn ServerBoost<T>>> {
        Some(Box::new(ModelBoost::new(&config.model)))
    }
}

/// Settings of model boosting (`[boost.model]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Strength λs against large updates, at least 0.
    pub lambda_s: f64,
    /// Strength γ against a large gap between majority and minority, at least 0.
    pub gamma: f64,
    /// Form of the trust: rational (pseudo code) or exponential (Eq. trust).
    pub trust: TrustForm,
    /// Whether trust multiplies the client's size (pseudo code) or stands alone (Eq. agg).
    pub trust_times_size: bool,
    /// One trust for the whole model, or one per tensor from that tensor's update norm.
    pub trust_scope: TrustScope,
    /// Which classes are minority in a client's gap: by its own training labels, or by those of all
    /// clients together.
    pub gap_minority: GapMinority,
    /// Minority classes in a client's gap: the smallest classes that together hold at least this
    /// share of the training labels, above 0 and at most 1; the largest class never is one.
    /// Evaluation has a rule of its own, groups.minority.
    pub minority_ratio: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            lambda_s: 0.5,
            gamma: 0.5,
            trust: TrustForm::Rational,
            trust_times_size: true,
            trust_scope: TrustScope::Model,
            gap_minority: GapMinority::Local,
            minority_ratio: 0.5,
        }
    }
}

impl Config {
    pub(crate) fn check(&self) -> Result<()> {
        not_negative("boost.model.lambda_s", self.lambda_s)?;
        not_negative("boost.model.gamma", self.gamma)?;
        share("boost.model.minority_ratio", self.minority_ratio)
    }
}

/// The form of the trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrustForm {
    /// 1 / ((1 + λₛ r)(1 + γ g)).
    Rational,
    /// exp(−λₛ r − γ g).
    Exponential,
}

/// What one trust value covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrustScope {
    /// The whole model.
    Model,
    /// One tensor.
    Tensor,
}

/// Whose training labels decide which classes are minority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GapMinority {
    /// The client's own.
    Local,
    /// All clients' together, which means that class counts are shared once.
    Global,
}

/// Trust-gated weights.
#[derive(Clone, Debug)]
pub struct ModelBoost {
    config: Config,
}

impl ModelBoost {
    /// Model boosting with these settings.
    pub fn new(config: &Config) -> Self {
        Self { config: config.clone() }
    }

    /// What one trust value covers.
    pub fn scope(&self) -> TrustScope {
        self.config.trust_scope
    }

    /// The trust of a client with update norm `norm` and fairness gap `gap`, in (0, 1].
    ///
    /// # Errors
    /// If a number is negative or not finite.
    pub fn trust(&self, norm: f64, gap: f64) -> Result<f64> {
        let Config { lambda_s, gamma, .. } = self.config;
        for (key, value) in [("update norm", norm), ("fairness gap", gap)] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::setting(key, "a finite number of at least 0", value));
            }
        }
        Ok(match self.config.trust {
            TrustForm::Rational => 1.0 / (1.0 + lambda_s * norm) * (1.0 / (1.0 + gamma * gap)),
            TrustForm::Exponential => Real::exp(-lambda_s * norm - gamma * gap),
        })
    }

    /// The trust of clients with these norms and gaps up to a common factor, chosen so that the
    /// largest of several exponentials is 1: each of them alone may be too small for a float, their
    /// ratios are not.
    ///
    /// # Errors
    /// As [`ModelBoost::trust`].
    pub fn relative_trust(&self, norms: &[f64], gaps: &[f64]) -> Result<Vec<f64>> {
        let trust =
            norms.iter().zip(gaps).map(|(&r, &g)| self.trust(r, g)).collect::<Result<Vec<_>>>()?;
        if self.config.trust == TrustForm::Rational {
            return Ok(trust);
        }
        let Config { lambda_s, gamma, .. } = self.config;
        let exponents: Vec<f64> =
            norms.iter().zip(gaps).map(|(&r, &g)| -lambda_s * r - gamma * g).collect();
        let largest = exponents.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Ok(exponents.iter().map(|&x| Real::exp(x - largest)).collect())
    }

    /// The weight before normalisation, from the method's own weight and the trust.
    pub fn weigh(&self, base: f64, trust: f64) -> f64 {
        if self.config.trust_times_size { base * trust } else { trust }
    }
}

impl<T: Real> ServerBoost<T> for ModelBoost {
    fn client_weights(
        &self,
        evidence: &Evidence<'_, T>,
        tensor: Option<usize>,
        base: &[f64],
    ) -> Result<Vec<f64>> {
        let tensor = tensor.filter(|_| self.scope() == TrustScope::Tensor);
        let trust = self.relative_trust(&evidence.norms(tensor), &gaps(evidence)?)?;
        Ok(base.iter().zip(&trust).map(|(&base, &trust)| self.weigh(base, trust)).collect())
    }

    fn differs_per_tensor(&self) -> bool {
        self.scope() == TrustScope::Tensor
    }

    fn client_trust(&self, evidence: &Evidence<'_, T>) -> Result<Option<Vec<f64>>> {
        let (norms, gaps) = (evidence.norms(None), gaps(evidence)?);
        let trust = norms.iter().zip(&gaps).map(|(&norm, &gap)| self.trust(norm, gap));
        trust.collect::<Result<Vec<f64>>>().map(Some)
    }
}

/// The fairness gap of every client.
fn gaps<T: Real>(evidence: &Evidence<'_, T>) -> Result<Vec<f64>> {
    evidence
        .gaps()
        .ok_or_else(|| Error::setting("fairness gap of a client", "one from every client", "none"))
}

/// The client's side of model boosting: the gap that the server's trust depends on.
struct GapSummary {
    /// Per class, whether it is a minority class; `None` for a class without a counted node.
    minority: Vec<Option<bool>>,
}

impl<T: Real> ClientBoost<T> for GapSummary {
    /// Gap between majority and minority on training nodes.
    fn summary(&self, nodes: &TrainedNodes<'_, T>) -> Option<Summary> {
        // [majority, minority] counts of hits and nodes, and the minority's difficulty.
        let (mut hits, mut total, mut difficulty) = ([0usize; 2], [0usize; 2], 0.0);
        for (i, &v) in nodes.data.training().iter().enumerate() {
            let Some(label) = nodes.data.training_label(v as usize) else { continue };
            let Some(minority) = self.minority[label as usize] else { continue };
            let group = usize::from(minority);
            total[group] += 1;
            hits[group] += usize::from(nodes.predicted_class(i) == label);
            if minority {
                difficulty += nodes.difficulty[v as usize].f64();
            }
        }
        let accuracy = [0, 1].map(|group| hits[group] as f64 / total[group] as f64);
        let gap = if total.contains(&0) { 0.0 } else { (accuracy[0] - accuracy[1]).max(0.0) };
        let minority_difficulty = if total[1] == 0 { 0.0 } else { difficulty / total[1] as f64 };
        Some(Summary { gap, minority_difficulty })
    }
}

/// Which classes count as minority in the client's gap.
fn gap_minority<T: Real>(
    config: &Config,
    data: &LocalData<T>,
    class_counts: &[usize],
) -> Vec<Option<bool>> {
    match config.gap_minority {
        GapMinority::Global => minority_classes(class_counts, config.minority_ratio),
        GapMinority::Local => minority_classes(&data.training_counts(), config.minority_ratio),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Theorem 3's second half: ‖wₘ Δθₘ‖ ≤ 1 / (λₛ Σ τ) when weights are the normalised trust
        /// alone.
        #[test]
        fn influence_of_a_client_is_bounded(
            clients in prop::collection::vec((0.0f64..50.0, 0.0f64..1.0), 1..8),
            lambda_s in 0.05f64..3.0,
            gamma in 0.0f64..3.0,
            exponential in any::<bool>(),
        ) {
            let trust = if exponential { TrustForm::Exponential } else { TrustForm::Rational };
            let config =
                Config { lambda_s, gamma, trust, trust_times_size: false, ..Config::default() };
            let boost = ModelBoost::new(&config);
            let weigh = |&(r, g): &(f64, f64)| boost.weigh(7.0, boost.trust(r, g).unwrap());
            let taus: Vec<f64> = clients.iter().map(weigh).collect();
            let sum: f64 = taus.iter().sum();
            for ((norm, _), tau) in clients.iter().zip(&taus) {
                prop_assert!((0.0..=1.0).contains(tau));
                prop_assert!(tau / sum * norm <= 1.0 / (lambda_s * sum) * (1.0 + 1e-12));
            }
        }

        /// Trust falls with the norm and with the gap, and is 1 for strengths 0.
        #[test]
        fn trust_is_monotone(
            r in 0.0f64..9.0,
            g in 0.0f64..1.0,
            more in 0.0f64..3.0,
            exponential in any::<bool>(),
        ) {
            let trust = if exponential { TrustForm::Exponential } else { TrustForm::Rational };
            let boost = ModelBoost::new(&Config { trust, ..Config::default() });
            let trust_of = |r: f64, g: f64| boost.trust(r, g).unwrap();
            prop_assert!(trust_of(r + more, g) <= trust_of(r, g));
            prop_assert!(trust_of(r, g + more) <= trust_of(r, g));
            let none = Config { trust, lambda_s: 0.0, gamma: 0.0, ..Config::default() };
            let off = ModelBoost::new(&none);
            prop_assert_eq!(off.trust(r, g).unwrap(), 1.0);
        }
    }

    #[test]
    fn norms_and_gaps_must_be_finite_and_not_negative() {
        let boost = ModelBoost::new(&Config::default());
        assert!(boost.trust(f64::NAN, 0.0).is_err());
        assert!(boost.trust(1.0, -0.5).is_err());
    }
}
