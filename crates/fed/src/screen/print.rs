//! Telling an update that was sent before.

use super::{Envelope, Expected, Reason};
use crate::wire::Message;
use boostfgl_nn::{Keep, Ledger, Params, Real};

/// What an accepted update looked like, and what the client had been given when it made it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Print {
    round: usize,
    given: u64,
    sent: u64,
}

impl Keep for Print {
    fn keep(&mut self, ledger: &mut Ledger<'_>) -> boostfgl_nn::Result<()> {
        ledger.keep("round", &mut self.round)?;
        ledger.keep("given", &mut self.given)?;
        ledger.keep("sent", &mut self.sent)
    }
}

impl Print {
    /// `given` is [`Print::given`] of the client.
    pub(super) fn of<T: Real>(one: &Envelope<'_, T>, given: u64) -> Self {
        Self { round: one.round, given, sent: hash(one.model, Some(one.message)) }
    }

    /// The hash of what each client was given; clients that were given the same have the same.
    pub(super) fn given<T: Real>(expected: &Expected<'_, T>) -> Vec<u64> {
        let same = |a: &(Option<&Params<T>>, Option<&Message<T>>), b: &(Option<&Params<T>>, Option<&Message<T>>)| {
            a.0.map(std::ptr::from_ref) == b.0.map(std::ptr::from_ref)
                && a.1.map(std::ptr::from_ref) == b.1.map(std::ptr::from_ref)
        };
        let mut hashes: Vec<u64> = Vec::with_capacity(expected.given.len());
        for (k, given) in expected.given.iter().enumerate() {
            let earlier = expected.given[..k].iter().position(|other| same(other, given));
            hashes.push(earlier.map_or_else(|| hash(given.0, given.1), |earlier| hashes[earlier]));
        }
        hashes
    }

    /// Whether this is `before` once more. Who is given the same again may well answer the same, and who did not move has
    /// nothing else to send.
    pub(super) fn replays<T: Real>(&self, before: &Self, one: &Envelope<'_, T>) -> Option<Reason> {
        let again = self.sent == before.sent && self.given != before.given;
        (again && one.norm > 0.0 && one.sends()).then_some(Reason::Replay { round: before.round })
    }
}

impl<T: Real> Envelope<'_, T> {
    /// Whether there is anything in it that could be combined.
    pub(super) fn sends(&self) -> bool {
        self.model.is_some() || !self.message.tensors.is_empty() || !self.message.entries.is_empty()
    }
}

/// A 64-bit hash of the bits. It is fast and not cryptographic: who finds a collision on purpose gets their own update
/// refused and nothing else.
fn hash<T: Real>(model: Option<&Params<T>>, message: Option<&Message<T>>) -> u64 {
    let mut lanes = Lanes::default();
    let tensors = model.into_iter().flat_map(Params::tensors);
    tensors.chain(message.iter().flat_map(|m| &m.tensors)).for_each(|t| lanes.take(t.words()));
    for (place, x) in message.iter().flat_map(|m| &m.entries) {
        lanes.mix(0, u64::from(*place));
        lanes.mix(1, x.f64().to_bits());
    }
    lanes.finish()
}

/// As many as keep a processor busy.
const LANES: usize = 8;

#[derive(Default)]
struct Lanes([u64; LANES]);

impl Lanes {
    fn mix(&mut self, lane: usize, bits: u64) {
        self.0[lane] = (self.0[lane].rotate_left(5) ^ bits).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn take(&mut self, words: &[u64]) {
        let whole = words.chunks_exact(LANES);
        whole.remainder().iter().enumerate().for_each(|(lane, x)| self.mix(lane, *x));
        for some in whole {
            for (lane, x) in some.iter().enumerate() {
                self.mix(lane, *x);
            }
        }
        self.mix(0, words.len() as u64);
    }

    fn finish(mut self) -> u64 {
        for lane in 1..LANES {
            self.mix(0, self.0[lane]);
        }
        self.0[0]
    }
}
