//! How long an update may be: judged by those of the round and of the rounds before.
//!
//! The scale is a median, which fewer than half of the participants cannot move. With at least three updates in the round
//! it is the larger of the medians of the round and of the rounds before: when all grow, all may. With fewer, one of them
//! alone would be its own measure, so that the rounds before decide, with the bound squared. An update that is no longer
//! than the model it started from is never too long: clients that stand still do not condemn one that moves.

use super::{Envelope, Expected, Reason};
use boostfgl_nn::{Keep, Ledger, Params, Real};

/// How many rounds are remembered.
const ROUNDS: usize = 5;
/// With fewer updates a median says nothing.
const ENOUGH: usize = 3;

/// The lengths of what was accepted in the last rounds, the oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Lengths {
    updates: Vec<Vec<f64>>,
    messages: Vec<Vec<f64>>,
}

impl Keep for Lengths {
    fn keep(&mut self, ledger: &mut Ledger<'_>) -> boostfgl_nn::Result<()> {
        ledger.each("updates", &mut self.updates, Vec::new)?;
        ledger.each("messages", &mut self.messages, Vec::new)
    }
}

impl Lengths {
    /// Refuses what is too long among what has not been refused, and remembers the rest.
    pub(super) fn judge<T: Real>(
        &mut self,
        factor: f64,
        arrived: &[Envelope<'_, T>],
        expected: &Expected<'_, T>,
        verdicts: &mut [Option<Reason>],
    ) {
        let floor =
            |one: &Envelope<'_, T>| model_length(expected, one.from).max(message_length_given(expected, one.from));
        let update = |one: &Envelope<'_, T>| (one.combined && one.sends()).then_some(one.norm);
        pass(&mut self.updates, "an update", factor, arrived, update, floor, verdicts);
        // Messages are of many kinds and honest ones may differ widely: only what is far off is refused.
        let floor = |one: &Envelope<'_, T>| message_length_given(expected, one.from);
        let message = |one: &Envelope<'_, T>| length(one).filter(|length| *length > 0.0);
        pass(&mut self.messages, "a message", factor * factor * factor, arrived, message, floor, verdicts);
    }
}

fn pass<'a, T: Real>(
    before: &mut Vec<Vec<f64>>,
    what: &'static str,
    factor: f64,
    arrived: &[Envelope<'a, T>],
    length: impl Fn(&Envelope<'a, T>) -> Option<f64>,
    floor: impl Fn(&Envelope<'a, T>) -> f64,
    verdicts: &mut [Option<Reason>],
) {
    let judged: Vec<Option<f64>> =
        arrived.iter().zip(&*verdicts).map(|(one, verdict)| length(one).filter(|_| verdict.is_none())).collect();
    let now: Vec<f64> = judged.iter().copied().flatten().collect();
    let bound = bound(&now, &before.concat(), factor);
    for ((one, verdict), found) in arrived.iter().zip(verdicts.iter_mut()).zip(&judged) {
        let (Some(bound), Some(found)) = (bound, *found) else { continue };
        if found > bound {
            let bound = bound.max(floor(one));
            *verdict = (found > bound).then_some(Reason::TooLong { what, bound, found });
        }
    }
    let kept: Vec<f64> = judged
        .iter()
        .zip(verdicts)
        .filter(|(_, verdict)| verdict.is_none())
        .filter_map(|(length, _)| *length)
        .collect();
    if !kept.is_empty() {
        before.push(kept);
        before.drain(..before.len().saturating_sub(ROUNDS));
    }
}

/// The longest that is used; `None` if there is nothing to compare with.
fn bound(now: &[f64], before: &[f64], factor: f64) -> Option<f64> {
    let of = |lengths: &[f64]| (lengths.len() >= ENOUGH).then(|| median(lengths));
    match (of(now), of(before)) {
        (Some(now), before) => Some(factor * before.map_or(now, |before| now.max(before))),
        (None, Some(before)) => Some(factor * factor * before),
        (None, None) => None,
    }
}

/// The middle one; of an even number, the larger of the middle two.
fn median(lengths: &[f64]) -> f64 {
    let mut sorted = lengths.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// The length of a message's tensors and entries; `None` if it has none.
fn length<T: Real>(one: &Envelope<'_, T>) -> Option<f64> {
    let message = one.message;
    let any = !message.tensors.is_empty() || !message.entries.is_empty();
    let tensors = message.tensors.iter().map(|tensor| squares(tensor.data()));
    let entries = message.entries.iter().map(|(_, x)| x.f64() * x.f64()).sum::<f64>();
    any.then(|| libm::sqrt(tensors.sum::<f64>() + entries))
}

fn model_length<T: Real>(expected: &Expected<'_, T>, client: usize) -> f64 {
    let model = expected.given[client].0;
    libm::sqrt(model.into_iter().flat_map(Params::tensors).map(|tensor| squares(tensor.data())).sum())
}

fn message_length_given<T: Real>(expected: &Expected<'_, T>, client: usize) -> f64 {
    let message = expected.given[client].1;
    libm::sqrt(message.iter().flat_map(|m| &m.tensors).map(|tensor| squares(tensor.data())).sum())
}

/// Σ x², in lanes of a fixed number, so that a processor can take several at once.
fn squares<T: Real>(numbers: &[T]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let whole = numbers.chunks_exact(LANES);
    whole.remainder().iter().zip(&mut sums).for_each(|(x, sum)| *sum += x.f64() * x.f64());
    whole.for_each(|some| some.iter().zip(&mut sums).for_each(|(x, sum)| *sum += x.f64() * x.f64()));
    sums.iter().sum()
}
