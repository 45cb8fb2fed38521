//! Screening: every update is looked at before it may touch a model.
//!
//! What arrives from a client is an [`Envelope`]: who and which round it says it is from, a model,
//! a message, a size and a fairness summary, all of them claims. [`Screen::judge`] refuses what
//! cannot be true and what no honest client would send, each with a [`Reason`]; the round goes on
//! with the others, down to a quorum.
//!
//! Looked at are, in this order: the sender (it takes part, it is who it says, it sent nothing
//! else), the round, the deadline, shapes, finiteness, the form of the message ([`Form`]), lengths
//! that it claims against those that it shows, the size (whole, at least 1, at most what was
//! enrolled), the gap (0 to 1), replays of earlier updates, what it says of itself against what the
//! others say, and its length against those of the round and of the rounds before. The type of the
//! numbers is `T` by construction; whoever reads updates off a wire has to refuse another one. The
//! sender, shapes and the form are looked at whatever the configuration says: without them there is
//! nothing that could be computed.
//!
//! Screening does not change an update, so that a round in which nothing is refused has the digits
//! of one without it. It is no defence against an attacker who stays within the bounds: that is
//! what robust rules are for ([`crate::Rule`]). Of a method's own message it knows the form, the
//! ranges of its numbers and its length, not whether it is true.

mod envelope;
mod fingerprint;
mod form;
mod length;
mod reason;
#[cfg(test)]
mod tests;

pub use envelope::{Envelope, Expected, Given, Moved};
pub use form::{Form, Part};
pub(crate) use length::{far_above, message_length};
pub use reason::{Reason, Refusal};

use crate::{Error, Result};
use boostfgl_nn::{Real, StateVisitor, Stateful};
use fingerprint::Fingerprint;
use length::Lengths;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What updates have to be like to be used (`[screen]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Whether numbers are checked before they may touch a model (finite, sizes and claims
    /// plausible, not too long, not sent before). Off, one bad update ends or ruins the run; it is
    /// there to measure what screening is worth. Who may send what, and until when, is always
    /// checked.
    pub enabled: bool,
    /// Updates longer than this many times the median length of the round's, and longer than the
    /// model itself, are refused, and losses this many times above the median; above 1.
    pub norm_bound: f64,
    /// Share of a round's participants whose updates must be usable, in (0, 1]; with fewer the run
    /// ends.
    pub quorum: f64,
    /// Seconds after which a client's update is too late; none by default. The one key that makes a
    /// result depend on how fast the machine is.
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

    /// How many of so many participants must be usable.
    pub fn needed(&self, participants: usize) -> usize {
        // A share that is whole up to rounding stays so.
        ((self.quorum * participants as f64 - 1e-9).ceil().max(1.0)) as usize
    }
}

/// Whether a configuration says what it would without this section, which is then left out of
/// files.
pub fn is_default(config: &Config) -> bool {
    *config == Config::default()
}

/// How many of a client's updates are remembered: a replay of one from before that is not told from
/// a new one, and is as old as its model.
const REMEMBERED: usize = 4096;

/// What the server remembers of updates, to judge the next ones by. All of it, in plain fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Screen {
    config: Config,
    /// Lengths of accepted updates and of their messages.
    lengths: Lengths,
    /// What each client's last accepted updates looked like.
    accepted: Vec<Vec<Fingerprint>>,
}

impl Stateful for Screen {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("lengths", &mut self.lengths)?;
        let accepted = self.accepted.iter_mut().enumerate();
        accepted
            .into_iter()
            .try_for_each(|(k, prints)| visitor.each(&k.to_string(), prints, Fingerprint::default))
    }
}

impl Screen {
    /// A screen for so many clients that has seen nothing.
    pub fn new(config: &Config, clients: usize) -> Self {
        Self {
            config: config.clone(),
            lengths: Lengths::default(),
            accepted: vec![Vec::new(); clients],
        }
    }

    /// Judges what arrived in a round: one verdict per envelope, `None` for those that may be used.
    /// Those are remembered.
    pub fn judge<T: Real>(
        &mut self,
        arrived: &[Envelope<'_, T>],
        expected: &Expected<'_, T>,
    ) -> Vec<Option<Reason>> {
        let deadline = self.config.deadline_seconds;
        if !self.config.enabled {
            let formal = |at: usize| envelope::formal(arrived, at, expected, deadline);
            return (0..arrived.len())
                .map(|at| formal(at).or_else(|| arrived[at].misformed(expected)))
                .collect();
        }
        let mut verdicts: Vec<Option<Reason>> = (0..arrived.len())
            .map(|at| {
                envelope::formal(arrived, at, expected, deadline)
                    .or_else(|| arrived[at].content(expected))
            })
            .collect();
        let print = |one: &Envelope<'_, T>| Fingerprint::of(one, &expected.given[one.from]);
        let prints: Vec<Option<Fingerprint>> =
            arrived.iter().zip(&verdicts).map(|(one, v)| v.is_none().then(|| print(one))).collect();
        for ((one, print), verdict) in arrived.iter().zip(&prints).zip(&mut verdicts) {
            let Some(print) = print else { continue };
            *verdict =
                self.accepted[one.client].iter().find_map(|before| print.replays(before, one));
        }
        let claim = |(one, verdict): (&Envelope<'_, T>, &Option<Reason>)| match verdict {
            None => (expected.form)(one).claim(&one.message.numbers),
            Some(_) => None,
        };
        let claims: Vec<_> = arrived.iter().zip(&verdicts).map(claim).collect();
        self.lengths.judge_claims(self.config.norm_bound, &claims, &mut verdicts);
        self.lengths.judge(self.config.norm_bound, arrived, expected, &mut verdicts);
        for ((one, print), verdict) in arrived.iter().zip(prints).zip(&verdicts) {
            if let (Some(print), None) = (print, verdict) {
                let accepted = &mut self.accepted[one.client];
                accepted.push(print);
                accepted.drain(..accepted.len().saturating_sub(REMEMBERED));
            }
        }
        verdicts
    }
}
