//! Clients that do harm, for tests and experiments (`[attack]`).
//!
//! An attack happens between a client's training and the server's screen: what the client would
//! have sent is replaced by a forgery. Label flips happen before, to the training labels. The kinds
//! come in two groups: bad updates that screening refuses (`nan`, `inf`, `scale`, `wrong-shape`,
//! `wrong-message`, `wrong-round`, `replay`, `wrong-size`, `duplicate`, `wrong-gap`), and poison
//! that looks like an update, which robust rules are for (`label-flip`, `sign-flip`, `alie`,
//! `free-rider`, `trust-liar`).
//!
//! Models are forged where a method sends them; `nan`, `inf`, `scale` and `sign-flip` forge the
//! tensors and entries of its messages as well, and the poison among the other kinds leaves
//! messages as they are.

mod forge;
#[cfg(test)]
mod tests;

pub(crate) use forge::{Attack, Forged, Sent};

use crate::config::{above_zero, at_least_one};
use crate::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who attacks, and how (`[attack]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// none, nan, inf, scale, sign-flip, label-flip, alie, free-rider, trust-liar, wrong-shape,
    /// wrong-message, wrong-round, replay, wrong-size, duplicate or wrong-gap: what the attackers
    /// do.
    pub kind: Kind,
    /// How many clients attack: the last ones, unless `which` names them. At least 1.
    pub clients: usize,
    /// The clients that attack, by number, in place of the last ones; at least one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub which: Option<Vec<usize>>,
    /// Attack in the first so many rounds only, at least 1; in all by default. Not with label-flip
    /// and trust-liar, whose labels are wrong from the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<usize>,
    /// How strong: the factor of scale (default 1e6), the length of a flipped update as a multiple
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
    /// Nobody attacks.
    #[default]
    None,
    /// A number of everything that it sends is NaN.
    Nan,
    /// A number of everything that it sends is infinite.
    Inf,
    /// The update is multiplied by a large factor.
    Scale,
    /// The update points the other way.
    SignFlip,
    /// Trained on wrong labels: class y becomes y + 1, the last one 0.
    LabelFlip,
    /// "A little is enough" (Baruch et al., NeurIPS 2019): the others' mean, less z of their
    /// standard deviations at every coordinate. The attackers know what the others send.
    Alie,
    /// Sends back the model that it received.
    FreeRider,
    /// Trains on wrong labels and says that its gap is 0: under model boosting nobody is trusted
    /// more.
    TrustLiar,
    /// The first tensor has a column too many, or there is one where none belongs.
    WrongShape,
    /// Says beside its model what no client of the method says: by turns a number too many, one too
    /// few, a tensor too many, an entry of nothing, a number out of its range, and that it did not
    /// move, where its message shows that it did.
    WrongMessage,
    /// Says that its update is for the round before.
    WrongRound,
    /// Sends its first update in every round, and says as much of it as then.
    Replay,
    /// Says that it is a million times larger than it is or, every other round where it counts its
    /// training nodes by class or group, that there are as many of each as of all.
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

    /// Checks that there are such clients among so many.
    ///
    /// # Errors
    /// If there are not so many clients, or one that is named does not exist.
    pub fn check_clients(&self, clients: usize) -> Result<()> {
        let stranger = self.which.iter().flatten().find(|&&k| k >= clients);
        match (&self.which, stranger) {
            _ if self.kind == Kind::None => Ok(()),
            (None, _) if self.clients > clients => Err(Error::setting(
                "attack.clients",
                format!("at most the {clients} clients"),
                self.clients,
            )),
            (_, Some(&stranger)) => Err(Error::setting(
                "attack.which",
                format!("numbers below the {clients} of the clients"),
                stranger,
            )),
            _ => Ok(()),
        }
    }

    /// The clients that attack, of so many, increasing; none if there is no attack.
    ///
    /// # Errors
    /// If there are not so many clients, or one that is named does not exist.
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

/// Whether a configuration says what it would without this section, which is then left out of
/// files.
pub fn is_default(config: &Config) -> bool {
    *config == Config::default()
}
