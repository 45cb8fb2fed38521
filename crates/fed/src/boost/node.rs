//! Client-side node boosting: hard nodes weigh more in the local loss (Eqs. node_weight,
//! node_loss).

use super::{BoostContext, BoostInfo, BoostPlugin, ClientBoost, Place, ScoredNodes};
use crate::config::not_negative;
use crate::{Error, Result};
use boostfgl_nn::Real;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The description that `boostfgl methods` prints, and the places where the boost acts.
pub const INFO: BoostInfo = BoostInfo {
    name: "node",
    meaning: "client: nodes that stay hard weigh more in the local loss",
    acts: &[Place::Loss],
};

/// Node boosting as a plug-in.
pub(super) struct Plugin;

impl<T: Real> BoostPlugin<T> for Plugin {
    fn info(&self) -> BoostInfo {
        INFO
    }

    fn client(&self, context: &BoostContext<'_, T>) -> Option<Box<dyn ClientBoost<T>>> {
        Some(Box::new(NodeBoost::new(&context.config.node)))
    }
}

/// Settings of node boosting (`[boost.node]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Strength λn of αᵥ = 1 + λn·d̄ᵥ, at least 0.
    pub lambda_n: f64,
    /// Rate μ of the difficulty's moving average, in (0, 1]; topology boosting uses the same
    /// difficulties.
    pub mu: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { lambda_n: 0.5, mu: 0.1 }
    }
}

impl Config {
    pub(crate) fn check(&self) -> Result<()> {
        not_negative("boost.node.lambda_n", self.lambda_n)?;
        if !(self.mu > 0.0 && self.mu <= 1.0) {
            return Err(Error::setting("boost.node.mu", "a number above 0 and at most 1", self.mu));
        }
        Ok(())
    }
}

/// Turns difficulties into node weights.
#[derive(Clone, Copy, Debug)]
pub struct NodeBoost {
    strength: f64,
}

impl NodeBoost {
    /// Node boosting with these settings.
    pub fn new(config: &Config) -> Self {
        Self { strength: config.lambda_n }
    }

    /// αᵥ = 1 + λₙ d̄ᵥ, in [1, 1 + λₙ].
    pub fn weight<T: Real>(&self, difficulty: T) -> T {
        T::ONE + T::of(self.strength) * difficulty
    }
}

impl<T: Real> ClientBoost<T> for NodeBoost {
    fn node_weights(&self, nodes: &ScoredNodes<'_, T>) -> Option<Vec<T>> {
        let training = nodes.data.training().iter();
        Some(training.map(|&v| self.weight(nodes.difficulty[v as usize])).collect())
    }
}
