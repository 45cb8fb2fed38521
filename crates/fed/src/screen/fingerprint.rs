//! Telling an update that was sent before.
//!
//! Training one client for a round may take a millisecond, so that a look at every number would be
//! dear. A print covers some hundred numbers of every tensor: who changes the others alone could
//! change any one number and be as little a replay.

use super::{Envelope, Given, Reason};
use crate::wire::Message;
use boostfgl_nn::{Matrix, Params, Real, StateVisitor, Stateful};

/// About so many numbers of a tensor are looked at.
const LOOKED_AT: usize = 256;

/// What an accepted update looked like, and what the client had been given when it sent it. Neither
/// is the client's word.
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
    pub(super) fn of<T: Real>(one: &Envelope<'_, T>, given: &Given<'_, T>) -> Self {
        Self {
            round: one.round,
            given: hash(given.0, given.1),
            sent: hash(one.model, Some(one.message)),
        }
    }

    /// Whether this is `before` once more, though the client was given something else. Who is given
    /// the same again may well answer the same, and who did not move, or whose hidden units are all
    /// dead, has nothing else to send.
    pub(super) fn replays<T: Real>(&self, before: &Self, one: &Envelope<'_, T>) -> Option<Reason> {
        let again = self.sent == before.sent && self.given != before.given;
        (again && one.says_something()).then_some(Reason::Replay { round: before.round })
    }
}

impl<T: Real> Envelope<'_, T> {
    /// Whether there is anything in it that could be combined.
    pub(super) fn sends(&self) -> bool {
        self.model.is_some() || !self.message.tensors.is_empty() || !self.message.entries.is_empty()
    }

    /// Whether it is more than what the client was given, or than zeros. The distance of a model
    /// the server has measured.
    fn says_something(&self) -> bool {
        let any = |numbers: &[T]| numbers.iter().any(|x| *x != T::ZERO);
        let message = self.message;
        let moved = self.model.is_some() && self.norm > 0.0;
        moved
            || message.tensors.iter().any(|t| any(t.data()))
            || message.entries.iter().any(|(_, x)| *x != T::ZERO)
    }
}

/// A 64-bit hash of what is looked at. It is not cryptographic: who finds a collision on purpose
/// gets their own update refused and nothing else.
fn hash<T: Real>(model: Option<&Params<T>>, message: Option<&Message<T>>) -> u64 {
    let mut state = 0u64;
    let mut mix =
        |bits: u64| state = (state.rotate_left(5) ^ bits).wrapping_mul(0x517c_c1b7_2722_0a95);
    let told = message.into_iter().flat_map(|message| &message.tensors);
    for numbers in model.into_iter().flat_map(Params::tensors).chain(told).map(Matrix::data) {
        mix(numbers.len() as u64);
        numbers
            .iter()
            .step_by((numbers.len() / LOOKED_AT).max(1))
            .for_each(|x| mix(x.f64().to_bits()));
    }
    let entries = message.map_or(&[][..], |message| &message.entries);
    for (place, x) in entries.iter().step_by((entries.len() / LOOKED_AT).max(1)) {
        mix(u64::from(*place));
        mix(x.f64().to_bits());
    }
    state
}
