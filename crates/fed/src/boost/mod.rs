//! Boosts: plug-ins that stack on any method. One file each, one line in the table `boosts!`.
//!
//! | boost | where | what | strength 0 |
//! |---|---|---|---|
//! | [`node`] | client, loss | weight αᵥ = 1 + λₙ d̄ᵥ on each training node | αᵥ = 1 |
//! | [`topology`] | client, propagation | edge weights β by difficulty and heterophily | plain |
//! | [`model`] | server, aggregation | trust τₖ multiplies the client's weight | τₖ = 1 |
//!
//! With every strength 0 the base method comes out bit for bit.
//!
//! A file `boost/NAME.rs` holds
//! * `INFO`, a [`BoostInfo`]: the name, one line of meaning, and the places where the boost acts;
//! * a documented `Config` with `check`, whose keys are `boost.NAME.KEY`;
//! * `Plugin`, a [`BoostPlugin`] that makes a [`ClientBoost`], a [`ServerBoost`], or both.
//!
//! A program outside this crate adds a boost by value:
//! [`Registry::with_boost`](crate::Registry::with_boost).

mod client_boost;
pub mod difficulty;
pub mod model;
pub mod node;
mod plugin;
mod server_boost;
pub mod topology;

pub use client_boost::{ClientBoost, ScoredNodes, TrainedNodes};
pub use difficulty::Difficulty;
pub use model::{ModelBoost, Summary, TrustForm, TrustScope};
pub use node::NodeBoost;
pub use plugin::{BoostContext, BoostInfo, BoostPlugin, Place};
pub(crate) use server_boost::Stacked;
pub use server_boost::{Evidence, ServerBoost, ServerBoosts};
pub use topology::TopologyBoost;

use crate::{Error, Result};
use boostfgl_nn::Real;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Makes the enum, the settings and the registry of built-in boosts from one list, so that they
/// cannot disagree.
macro_rules! boosts {
    ($($(#[$doc:meta])* $variant:ident => $module:ident),* $(,)?) => {
        /// One of the built-in boosts.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(rename_all = "kebab-case")]
        pub enum Boost {
            $($(#[$doc])* $variant,)*
        }

        impl Boost {
            /// All of them, in the order in which they act.
            pub const ALL: [Self; [$(Self::$variant),*].len()] = [$(Self::$variant),*];

            /// What the boost is.
            pub fn info(self) -> &'static BoostInfo {
                match self {
                    $(Self::$variant => &$module::INFO,)*
                }
            }

            /// What makes the two sides of the boost.
            pub(crate) fn plugin<T: Real>(self) -> Arc<dyn BoostPlugin<T>> {
                match self {
                    $(Self::$variant => Arc::new($module::Plugin),)*
                }
            }
        }

        /// Settings of all boosts (`[boost]`). Which of them are on is decided apart, by the
        /// method and `--boost`.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct BoostConfig {
            $(
                #[doc = concat!(stringify!($variant), " boosting.")]
                pub $module: $module::Config,
            )*
        }

        impl BoostConfig {
            /// Checks every range.
            ///
            /// # Errors
            /// Names the first key that is out of range.
            pub fn check(&self) -> Result<()> {
                $(self.$module.check()?;)*
                Ok(())
            }
        }
    };
}

boosts! {
    /// Node boosting (client, loss).
    Node => node,
    /// Topology boosting (client, propagation).
    Topology => topology,
    /// Model boosting (server, aggregation).
    Model => model,
}

impl Boost {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        self.info().name
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
        Self::ALL.into_iter().find(|b| b.name() == name).ok_or_else(|| {
            let known = Self::ALL.iter().map(|b| b.name()).chain(["all", "none"]);
            Error::unknown("boost", name, known)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The command line, files and `[boost.NAME]` use one name.
    #[test]
    fn every_boost_has_one_name_everywhere() {
        let config = serde_json::to_value(BoostConfig::default()).unwrap();
        let sections: Vec<&str> = config.as_object().unwrap().keys().map(String::as_str).collect();
        let mut names: Vec<&str> = Boost::ALL.iter().map(|boost| boost.name()).collect();
        for boost in Boost::ALL {
            assert_eq!(serde_json::to_value(boost).unwrap(), boost.name());
        }
        names.sort_unstable();
        let mut sorted = sections.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, names);
    }
}
