//! Telling an update that was sent before.
//!
//! Training one client for a round may take a millisecond, so that a look at every number would be dear. A print covers some
//! hundred numbers of every tensor: who changes the others alone could change any one number and be as little a replay.

use super::{Envelope, Reason};
use boostfgl_nn::{Keep, Ledger, Matrix, Params, Real};

/// About so many numbers of a tensor are looked at.
const LOOKED_AT: usize = 256;

/// What an accepted update looked like, and how far it was from what the client had been given.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Print {
    round: usize,
    norm: f64,
    sent: u64,
}

impl Keep for Print {
    fn keep(&mut self, ledger: &mut Ledger<'_>) -> boostfgl_nn::Result<()> {
        ledger.keep("round", &mut self.round)?;
        ledger.keep("norm", &mut self.norm)?;
        ledger.keep("sent", &mut self.sent)
    }
}

impl Print {
    pub(super) fn of<T: Real>(one: &Envelope<'_, T>) -> Self {
        Self { round: one.round, norm: one.norm, sent: hash(one) }
    }

    /// Whether this is `before` once more, now that the client was given something else: the same model is then at another
    /// distance. Who is given the same again may well answer the same, and who did not move has nothing else to send.
    pub(super) fn replays<T: Real>(&self, before: &Self, one: &Envelope<'_, T>) -> Option<Reason> {
        let again = self.sent == before.sent && self.norm != before.norm;
        (again && one.norm > 0.0 && one.sends()).then_some(Reason::Replay { round: before.round })
    }
}

impl<T: Real> Envelope<'_, T> {
    /// Whether there is anything in it that could be combined.
    pub(super) fn sends(&self) -> bool {
        self.model.is_some() || !self.message.tensors.is_empty() || !self.message.entries.is_empty()
    }
}

/// A 64-bit hash of what is looked at. It is not cryptographic: who finds a collision on purpose gets their own update refused
/// and nothing else.
fn hash<T: Real>(one: &Envelope<'_, T>) -> u64 {
    let mut state = 0u64;
    let mut mix = |bits: u64| state = (state.rotate_left(5) ^ bits).wrapping_mul(0x517c_c1b7_2722_0a95);
    let tensors = one.model.into_iter().flat_map(Params::tensors).chain(&one.message.tensors);
    for numbers in tensors.map(Matrix::data) {
        mix(numbers.len() as u64);
        numbers.iter().step_by((numbers.len() / LOOKED_AT).max(1)).for_each(|x| mix(x.f64().to_bits()));
    }
    let entries = &one.message.entries;
    for (place, x) in entries.iter().step_by((entries.len() / LOOKED_AT).max(1)) {
        mix(u64::from(*place));
        mix(x.f64().to_bits());
    }
    state
}
