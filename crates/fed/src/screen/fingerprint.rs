//! Fingerprints of accepted updates, to detect replays.
//!
//! Training one client for a round may take a millisecond, so that hashing every number would cost
//! too much. A fingerprint covers some hundred numbers of every tensor. An attacker that changes
//! only the others evades it, and could evade a full hash by changing any one number.

use super::{Envelope, Given, Reason};
use boostfgl_nn::{Matrix, Params, Real, StateVisitor, Stateful};
use boostfgl_protocol::Message;

/// About this many numbers of a tensor are hashed.
const SAMPLED: usize = 256;

/// Hashes of an accepted update and of the server's model and message that the client trained from.
/// Neither depends on the client's claims.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Fingerprint {
    round: usize,
    given: u64,
    sent: u64,
}

impl Stateful for Fingerprint {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("round", &mut self.round)?;
        visitor.visit("given", &mut self.given)?;
        visitor.visit("sent", &mut self.sent)
    }
}

impl Fingerprint {
    pub(super) fn of<T: Real>(update: &Envelope<'_, T>, given: &Given<'_, T>) -> Self {
        Self {
            round: update.round,
            given: hash(given.0, given.1),
            sent: hash(update.model, Some(update.message)),
        }
    }

    /// Whether `update`, whose fingerprint this is, repeats `earlier` although the client was given
    /// something else.
    pub(super) fn replays<T: Real>(
        &self,
        earlier: &Self,
        update: &Envelope<'_, T>,
    ) -> Option<Reason> {
        // The same input may honestly give the same update. So may any input if training did not
        // change the model, or if all hidden units are dead.
        let repeated = self.sent == earlier.sent && self.given != earlier.given;
        (repeated && update.is_informative()).then_some(Reason::Replay { round: earlier.round })
    }
}

impl<T: Real> Envelope<'_, T> {
    /// Whether it contains anything that could be combined.
    pub(super) fn sends(&self) -> bool {
        self.model.is_some() || !self.message.tensors.is_empty() || !self.message.entries.is_empty()
    }

    /// Whether it differs from what the client was given, or from zeros. The distance of a model
    /// was measured by the server.
    fn is_informative(&self) -> bool {
        let message = self.message;
        let moved = self.model.is_some() && self.norm > 0.0;
        moved
            || message.tensors.iter().any(|tensor| tensor.data().iter().any(|x| *x != T::ZERO))
            || message.entries.iter().any(|(_, x)| *x != T::ZERO)
    }
}

/// A 64-bit hash of the sampled numbers. It need not be cryptographic: a client that finds a
/// collision on purpose only gets its own update refused.
fn hash<T: Real>(model: Option<&Params<T>>, message: Option<&Message<T>>) -> u64 {
    let mut state = 0;
    let of_message = message.into_iter().flat_map(|message| &message.tensors);
    let tensors = model.into_iter().flat_map(Params::tensors).chain(of_message);
    for numbers in tensors.map(Matrix::data) {
        // The length is hashed, too: otherwise a tensor of zeros would equal a longer one.
        state = mix(state, numbers.len() as u64);
        for x in numbers.iter().step_by((numbers.len() / SAMPLED).max(1)) {
            state = mix(state, x.f64().to_bits());
        }
    }
    let entries = message.map_or(&[][..], |message| &message.entries);
    for (place, x) in entries.iter().step_by((entries.len() / SAMPLED).max(1)) {
        state = mix(state, u64::from(*place));
        state = mix(state, x.f64().to_bits());
    }
    state
}

/// The hash after 64 more bits (FxHash).
#[inline]
fn mix(state: u64, bits: u64) -> u64 {
    (state.rotate_left(5) ^ bits).wrapping_mul(0x517c_c1b7_2722_0a95)
}
