//! Clients that do harm, for tests and experiments (`[attack]`).
//!
//! An attack happens between a client's training and the server's screen: what the client would have sent is replaced by a
//! forgery. Label flips happen before, to the training labels. The kinds come in two groups: bad updates that screening
//! refuses (`nan`, `inf`, `scale`, `wrong-shape`, `wrong-round`, `replay`, `wrong-size`, `duplicate`, `wrong-gap`), and
//! poison that looks like an update, which robust rules are for (`label-flip`, `sign-flip`, `alie`, `free-rider`,
//! `trust-liar`).
//!
//! Models are forged where a method sends them. Where it sends a message instead, `nan`, `inf`, `scale` and `sign-flip`
//! forge its tensors and entries, and the other kinds leave them as they are.

mod forge;
#[cfg(test)]
mod tests;

pub(crate) use forge::{Attack, Forged, Sent};

use crate::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who attacks, and how (`[attack]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// none, nan, inf, scale, sign-flip, label-flip, alie, free-rider, trust-liar, wrong-shape, wrong-round, replay, wrong-size,
    /// duplicate or wrong-gap: what the attackers do.
    pub kind: Kind,
    /// How many clients attack: the last ones, unless `which` names them. At least 1.
    pub clients: usize,
    /// The clients that attack, by number, in place of the last ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub which: Option<Vec<usize>>,
    /// Attack in the first so many rounds only; in all by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<usize>,
    /// How strong: the factor of scale (default 1e6), the length of a flipped update as a multiple of the true one
    /// (sign-flip, default 1), or z of alie (default: from the numbers of clients and attackers). Above 0.
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
    /// Nobody attacks.
    #[default]
    None,
    /// A number of every tensor is NaN.
    Nan,
    /// A number of every tensor is infinite.
    Inf,
    /// The update is multiplied by a large factor.
    Scale,
    /// The update points the other way.
    SignFlip,
    /// Trained on wrong labels: class y becomes y + 1, the last one 0.
    LabelFlip,
    /// "A little is enough" (Baruch et al., NeurIPS 2019): the others' mean, less z of their standard deviations at every
    /// coordinate. The attackers know what the others send.
    Alie,
    /// Sends back the model that it received.
    FreeRider,
    /// Trains on wrong labels and says that its gap is 0 and, where the server cannot measure it, that it hardly moved: under
    /// model boosting nobody is trusted more.
    TrustLiar,
    /// The first tensor has a column too many.
    WrongShape,
    /// Says that its update is for the round before.
    WrongRound,
    /// Sends its first update in every round.
    Replay,
    /// Says that it is a million times larger than it is.
    WrongSize,
    /// Sends its update twice.
    Duplicate,
    /// Says that its fairness gap is −1.
    WrongGap,
}

impl Kind {
    /// Whether the attackers' training labels are wrong.
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
        crate::config::at_least_one("attack.clients", self.clients)?;
        match self.strength {
            Some(strength) if !(strength.is_finite() && strength > 0.0) => {
                Err(Error::setting("attack.strength", "a number above 0", strength))
            }
            _ => Ok(()),
        }
    }

    /// The clients that attack, of so many, increasing; none if there is no attack.
    ///
    /// # Errors
    /// If there are not so many clients, or one that is named does not exist.
    pub fn attackers(&self, clients: usize) -> Result<Vec<usize>> {
        if self.kind == Kind::None {
            return Ok(Vec::new());
        }
        let Some(which) = &self.which else {
            if self.clients > clients {
                return Err(Error::setting("attack.clients", format!("at most the {clients} clients"), self.clients));
            }
            return Ok((clients - self.clients..clients).collect());
        };
        if let Some(&stranger) = which.iter().find(|&&k| k >= clients) {
            return Err(Error::setting(
                "attack.which",
                format!("numbers below the {clients} of the clients"),
                stranger,
            ));
        }
        let mut attackers = which.clone();
        attackers.sort_unstable();
        attackers.dedup();
        Ok(attackers)
    }
}

/// Whether a configuration says what it would without this section, which is then left out of files.
pub fn is_default(config: &Config) -> bool {
    *config == Config::default()
}
