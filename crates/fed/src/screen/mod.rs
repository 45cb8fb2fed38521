//! Screening: every update is checked before it may touch a model.
//!
//! What arrives from a client is an [`Envelope`]: the round, a model, a message, a size and a
//! fairness summary, all of them claims. [`Screen::examine`] refuses what cannot be true and what no
//! honest client would send, each with a [`Reason`]. The round continues with the other updates,
//! down to a quorum.
//!
//! The checks, in this order: duplicates, the round, the deadline, shapes, finiteness, the form of
//! the message ([`Form`]), claimed distances against those that the message shows, the size (whole,
//! at least 1, at most the size at enrolment), the gap (0 to 1), replays of earlier updates, claims
//! that win influence against those of the other clients, and the length against those of the round
//! and of earlier rounds. The type of the numbers is `T` by construction; code that reads updates
//! from a network has to refuse any other type. Duplicates, the round, the deadline, shapes and the
//! form are checked under every configuration: nothing could be computed without them.
//!
//! Screening does not change an update, so that a round in which nothing is refused has the same
//! bits as one without screening. It is no defence against an attacker that stays within the
//! bounds; robust rules are ([`crate::Rule`]). Of a method's message it checks the form, the ranges
//! of its numbers and its length, not whether it is true.

mod envelope;
mod fingerprint;
mod form;
mod length;
mod reason;
#[cfg(test)]
mod tests;

pub use envelope::{DistanceRange, Envelope, Expected, Given};
pub use form::{Form, Part};
pub(crate) use length::{far_above, message_length};
pub use reason::{Reason, Refusal};

use crate::{Error, Result};
use boostfgl_nn::{Real, StateVisitor, Stateful};
use envelope::protocol_violation;
use fingerprint::Fingerprint;
use length::Lengths;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which updates the server accepts (`[screen]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Whether numbers are checked before they may touch a model (finite, plausible sizes and
    /// claims, not too long, not a replay). Without it one bad update ends or ruins the run; the
    /// key exists to measure the benefit of screening. Round, deadline, shapes and forms are always
    /// checked.
    pub enabled: bool,
    /// Updates longer than this many times the median length of the round's, and longer than the
    /// model itself, are refused, and losses this many times above the median; above 1.
    pub norm_bound: f64,
    /// Share of a round's participants whose updates must be usable, in (0, 1]; with fewer the run
    /// ends.
    pub quorum: f64,
    /// Seconds after which a client's update is too late; none by default. The only key that makes
    /// a result depend on the speed of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_seconds: Option<f64>,
}

impl Default for Config {
    fn default() -> Self {
        Self { enabled: true, norm_bound: 10.0, quorum: 0.5, deadline_seconds: None }
    }
}

impl Config {
    /// Checks every range.
    ///
    /// # Errors
    /// Names the first key that is out of range.
    pub fn check(&self) -> Result<()> {
        if !(self.norm_bound.is_finite() && self.norm_bound > 1.0) {
            return Err(Error::setting("screen.norm_bound", "a number above 1", self.norm_bound));
        }
        if !(self.quorum > 0.0 && self.quorum <= 1.0) {
            return Err(Error::setting(
                "screen.quorum",
                "a number above 0 and at most 1",
                self.quorum,
            ));
        }
        match self.deadline_seconds {
            Some(seconds) if !(seconds.is_finite() && seconds > 0.0) => {
                Err(Error::setting("screen.deadline_seconds", "a number above 0", seconds))
            }
            _ => Ok(()),
        }
    }

    /// How many of the participants' updates must be usable.
    pub fn needed(&self, participants: usize) -> usize {
        // A share that is whole up to rounding must not be rounded up to the next number.
        ((self.quorum * participants as f64 - 1e-9).ceil().max(1.0)) as usize
    }
}

/// Whether every key has its default, so that the section is left out of files.
pub fn is_default(config: &Config) -> bool {
    *config == Config::default()
}

/// How many fingerprints are stored per client. A replay of an older update is not detected.
const STORED_FINGERPRINTS: usize = 4096;

/// The screen and what it stores of accepted updates, to compare later ones with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Screen {
    config: Config,
    /// Lengths of accepted updates and of their messages.
    lengths: Lengths,
    /// Fingerprints of each client's last accepted updates.
    accepted: Vec<Vec<Fingerprint>>,
}

impl Stateful for Screen {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("lengths", &mut self.lengths)?;
        let accepted = self.accepted.iter_mut().enumerate();
        accepted
            .into_iter()
            .try_for_each(|(k, stored)| visitor.each(&k.to_string(), stored, Fingerprint::default))
    }
}

impl Screen {
    /// A screen for this number of clients, before the first round.
    pub fn new(config: &Config, clients: usize) -> Self {
        Self {
            config: config.clone(),
            lengths: Lengths::default(),
            accepted: vec![Vec::new(); clients],
        }
    }

    /// Checks what arrived in a round: one verdict per envelope, `None` for those that may be used.
    /// Fingerprints and lengths of accepted updates are stored.
    pub fn examine<T: Real>(
        &mut self,
        arrived: &[Envelope<'_, T>],
        expected: &Expected<'_, T>,
    ) -> Vec<Option<Reason>> {
        let mut verdicts = self.examine_each(arrived, expected);
        if !self.config.enabled {
            return verdicts;
        }
        let fingerprints = self.refuse_replays(arrived, expected, &mut verdicts);
        // Claims come before lengths: an update that lies about its influence must not take part in
        // the median of lengths.
        let claims: Vec<_> = arrived
            .iter()
            .zip(&verdicts)
            .map(|(update, verdict)| match verdict {
                None => (expected.form)(update).claim(&update.message.numbers),
                Some(_) => None,
            })
            .collect();
        self.lengths.refuse_implausible(self.config.norm_bound, &claims, &mut verdicts);
        self.lengths.refuse_long(self.config.norm_bound, arrived, expected, &mut verdicts);
        for ((update, fingerprint), verdict) in arrived.iter().zip(fingerprints).zip(&verdicts) {
            if let (Some(fingerprint), None) = (fingerprint, verdict) {
                let accepted = &mut self.accepted[update.from];
                accepted.push(fingerprint);
                accepted.drain(..accepted.len().saturating_sub(STORED_FINGERPRINTS));
            }
        }
        verdicts
    }

    /// The checks that need no other client's update.
    fn examine_each<T: Real>(
        &self,
        arrived: &[Envelope<'_, T>],
        expected: &Expected<'_, T>,
    ) -> Vec<Option<Reason>> {
        let deadline = self.config.deadline_seconds;
        arrived
            .iter()
            .enumerate()
            .map(|(position, update)| {
                let violation = protocol_violation(arrived, position, expected, deadline);
                violation.or_else(|| match self.config.enabled {
                    true => update.invalid_content(expected),
                    false => update.malformed(expected),
                })
            })
            .collect()
    }

    /// Refuses replays among what has not been refused, and returns the fingerprints of all that
    /// was examined.
    fn refuse_replays<T: Real>(
        &self,
        arrived: &[Envelope<'_, T>],
        expected: &Expected<'_, T>,
        verdicts: &mut [Option<Reason>],
    ) -> Vec<Option<Fingerprint>> {
        arrived
            .iter()
            .zip(verdicts)
            .map(|(update, verdict)| {
                if verdict.is_some() {
                    return None;
                }
                let fingerprint = Fingerprint::of(update, &expected.given[update.from]);
                let mut stored = self.accepted[update.from].iter();
                *verdict = stored.find_map(|earlier| fingerprint.replays(earlier, update));
                Some(fingerprint)
            })
            .collect()
    }
}
