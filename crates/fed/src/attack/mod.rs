//! Simulated malicious clients, for tests and experiments (`[attack]`).
//!
//! An attack happens between a client's training and the server's screen: what the client would
//! have sent is replaced by a forgery. Label flips change the training labels before training. There
//! are two groups of attacks: bad updates that screening refuses (`nan`, `inf`, `scale`,
//! `wrong-shape`, `wrong-message`, `wrong-round`, `replay`, `wrong-size`, `duplicate`, `wrong-gap`),
//! and poisoned updates that look honest, which robust rules are for (`label-flip`, `sign-flip`,
//! `alie`, `free-rider`, `trust-liar`).
//!
//! Models are forged where a method sends them. `nan`, `inf`, `scale` and `sign-flip` also forge the
//! tensors and entries of messages; the other poisoning attacks leave messages as they are.

mod forge;
#[cfg(test)]
mod tests;

pub(crate) use forge::{Attack, Forged, HonestUpdate};

use crate::config::{above_zero, at_least_one};
use crate::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which clients attack, and how (`[attack]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// none, nan, inf, scale, sign-flip, label-flip, alie, free-rider, trust-liar, wrong-shape,
    /// wrong-message, wrong-round, replay, wrong-size, duplicate or wrong-gap: what the attackers
    /// do.
    pub kind: Kind,
    /// The number of clients that attack: the last ones, unless `which` names them. At least 1.
    pub clients: usize,
    /// The clients that attack, by number, in place of the last ones; at least one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub which: Option<Vec<usize>>,
    /// Attack only in this number of first rounds, at least 1; in all by default. Not with
    /// label-flip and trust-liar, whose labels are wrong from the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<usize>,
    /// Strength: the factor of scale (default 1e6), the length of a flipped update as a multiple
    /// of the true one (sign-flip, default 1), or z of alie (default: from the numbers of clients
    /// and attackers). Above 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strength: Option<f64>,
}

impl Default for Config {
    fn default() -> Self {
        Self { kind: Kind::None, clients: 1, which: None, rounds: None, strength: None }
    }
}

/// What an attacker does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// No attack.
    #[default]
    None,
    /// One number of everything that it sends is NaN.
    Nan,
    /// One number of everything that it sends is infinite.
    Inf,
    /// The update is multiplied by a large factor.
    Scale,
    /// The update is reversed.
    SignFlip,
    /// Trained on wrong labels: class y becomes y + 1, the last one 0.
    LabelFlip,
    /// "A little is enough" (Baruch et al., NeurIPS 2019): the others' mean, less z of their
    /// standard deviations at every coordinate. The attackers have access to the honest updates.
    Alie,
    /// Returns the model that it received.
    FreeRider,
    /// Trains on wrong labels and claims a fairness gap of 0, which gives the largest trust under
    /// model boosting.
    TrustLiar,
    /// The first tensor has one column too many, or there is a tensor where none belongs.
    WrongShape,
    /// Sends a message that violates the method's form: in turn one number too many, one too few,
    /// one tensor too many, an entry at a place that does not exist, a number out of its range, and
    /// the claim not to have moved, where the message shows that it did.
    WrongMessage,
    /// Claims that its update is for the previous round.
    WrongRound,
    /// Sends its first update again in every round, with the same claims.
    Replay,
    /// Claims to be a million times larger than it is or, every other round where the method counts
    /// training nodes by class or group, as many nodes of each as of all.
    WrongSize,
    /// Sends its update twice.
    Duplicate,
    /// Claims a fairness gap of −1.
    WrongGap,
}

impl Kind {
    /// Whether the attackers train on wrong labels.
    pub(crate) fn mislabels(self) -> bool {
        matches!(self, Self::LabelFlip | Self::TrustLiar)
    }
}

impl Config {
    /// Checks every range that does not depend on the data.
    ///
    /// # Errors
    /// Names the first key that is out of range.
    pub fn check(&self) -> Result<()> {
        at_least_one("attack.clients", self.clients)?;
        if self.kind != Kind::None && self.which.as_ref().is_some_and(Vec::is_empty) {
            let (expected, found) =
                ("the numbers of the clients that attack".into(), "none".into());
            return Err(Error::Setting { key: "attack.which", expected, found });
        }
        if let Some(rounds) = self.rounds {
            at_least_one("attack.rounds", rounds)?;
            if self.kind.mislabels() {
                let expected = "no number of rounds with label-flip and trust-liar, whose labels \
                    are wrong before the first";
                return Err(Error::setting("attack.rounds", expected, rounds));
            }
        }
        self.strength.map_or(Ok(()), |strength| above_zero("attack.strength", strength))
    }

    /// Checks that the attackers are among the `clients` clients of the run.
    ///
    /// # Errors
    /// If there are fewer clients than attackers, or one that is named does not exist.
    pub fn check_clients(&self, clients: usize) -> Result<()> {
        let unknown = self.which.iter().flatten().find(|&&k| k >= clients);
        match (&self.which, unknown) {
            _ if self.kind == Kind::None => Ok(()),
            (None, _) if self.clients > clients => Err(Error::setting(
                "attack.clients",
                format!("at most the {clients} clients"),
                self.clients,
            )),
            (_, Some(&unknown)) => Err(Error::setting(
                "attack.which",
                format!("client numbers below {clients}"),
                unknown,
            )),
            _ => Ok(()),
        }
    }

    /// The clients that attack, increasing, out of `clients`; none if there is no attack.
    ///
    /// # Errors
    /// If there are fewer clients than attackers, or one that is named does not exist.
    pub fn attackers(&self, clients: usize) -> Result<Vec<usize>> {
        self.check_clients(clients)?;
        if self.kind == Kind::None {
            return Ok(Vec::new());
        }
        let Some(which) = &self.which else {
            return Ok((clients - self.clients..clients).collect());
        };
        let mut attackers = which.clone();
        attackers.sort_unstable();
        attackers.dedup();
        Ok(attackers)
    }
}

/// Whether every key has its default, so that the section is left out of files.
pub fn is_default(config: &Config) -> bool {
    *config == Config::default()
}
