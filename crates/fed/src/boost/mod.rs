//! The paper's three boosts. Each is independent and stacks on any method.
//!
//! | boost | where | what | strength 0 |
//! |---|---|---|---|
//! | [`node`] | client, loss | weight αᵥ = 1 + λₙ d̄ᵥ on each training node | αᵥ = 1 |
//! | [`topology`] | client, propagation | edge weights β from difficulty and heterophily | the plain operator |
//! | [`model`] | server, aggregation | trust τₖ multiplies the client's weight | τₖ = 1 |
//!
//! With every strength 0 the base method comes out bit for bit.

pub mod difficulty;
pub mod model;
pub mod node;
pub mod topology;

pub use difficulty::Difficulty;
pub use model::{ModelBoost, Summary, TrustForm, TrustScope};
pub use node::NodeBoost;
pub use topology::TopologyBoost;

use crate::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of the three boosts.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Boost {
    /// Node boosting (client, loss).
    Node,
    /// Topology boosting (client, propagation).
    Topology,
    /// Model boosting (server, aggregation).
    Model,
}

impl Boost {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Node, Self::Topology, Self::Model];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Topology => "topology",
            Self::Model => "model",
        }
    }

    /// Reads `all`, `none` or a comma-separated list of names.
    ///
    /// # Errors
    /// If a name is unknown; the nearest is suggested.
    ///
    /// ```
    /// use boostfgl_fed::boost::Boost;
    /// assert_eq!(Boost::parse("node,model").unwrap(), [Boost::Node, Boost::Model]);
    /// assert!(Boost::parse("nodes").unwrap_err().to_string().contains("did you mean `node`?"));
    /// ```
    pub fn parse(list: &str) -> Result<Vec<Self>> {
        match list.trim() {
            "all" => return Ok(Self::ALL.to_vec()),
            "none" | "" => return Ok(Vec::new()),
            _ => {}
        }
        let mut boosts =
            list.split(',').map(|name| Self::from_name(name.trim())).collect::<Result<Vec<_>>>()?;
        boosts.sort_unstable();
        boosts.dedup();
        Ok(boosts)
    }

    fn from_name(name: &str) -> Result<Self> {
        let known = || Self::ALL.iter().map(|b| b.name()).chain(["all", "none"]);
        Self::ALL
            .into_iter()
            .find(|b| b.name() == name)
            .ok_or_else(|| Error::unknown("boost", name, known()))
    }
}

/// Settings of all boosts (`[boost]`). Which of them are on is decided apart, by the method and
/// `--boost`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BoostConfig {
    /// Node boosting.
    pub node: node::Config,
    /// Topology boosting.
    pub topology: topology::Config,
    /// Model boosting.
    pub model: model::Config,
}

impl BoostConfig {
    /// Checks every range.
    ///
    /// # Errors
    /// Names the first key that is out of range.
    pub fn check(&self) -> Result<()> {
        self.node.check()?;
        self.topology.check()?;
        self.model.check()
    }
}
