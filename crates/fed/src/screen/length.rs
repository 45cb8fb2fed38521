//! How long an update may be: judged by those of the round and of the rounds before.
//!
//! The scale is a median, which fewer than half of the participants cannot move. With at least
//! three updates in the round it is the larger of the medians of the round and of the rounds
//! before: when all grow, all may. With fewer, one of them alone would be its own measure, so that
//! the rounds before decide, with the bound squared, and before there are any the model that the
//! client started from. An update that is no longer than that model is never too long: clients that
//! stand still do not condemn one that moves.
//!
//! A message whose tensors are like those of the model (a control, a gradient) is held to the same
//! bound; it has no start to be compared with, but is never too long while it is no longer than
//! what the server said, or than the median of some earlier round. Messages of other kinds differ
//! more among honest clients: only what is far off is refused.

use super::form::Claim;
use super::{Envelope, Expected, Reason};
use crate::wire::Message;
use boostfgl_nn::{Params, Real, StateVisitor, Stateful};

/// How many rounds are remembered.
const ROUNDS: usize = 5;
/// With fewer updates a median says nothing.
const ENOUGH: usize = 3;
/// A model that is shorter than this tells nothing of how far training moves it.
const LEAST_START: f64 = 1.0;

/// The lengths of what was accepted in the last rounds, and what clients claimed there.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Lengths {
    updates: Accepted,
    messages: Accepted,
    claims: Accepted,
}

/// What was accepted in the last rounds, the oldest first, and the largest median that any round
/// has had.
#[derive(Clone, Debug, Default, PartialEq)]
struct Accepted {
    rounds: Vec<Vec<f64>>,
    largest: f64,
}

impl Stateful for Accepted {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.each("rounds", &mut self.rounds, Vec::new)?;
        visitor.visit("largest", &mut self.largest)
    }
}

impl Stateful for Lengths {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("updates", &mut self.updates)?;
        visitor.visit("messages", &mut self.messages)?;
        visitor.visit("claims", &mut self.claims)
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
        let started_from = |one: &Envelope<'_, T>| {
            model_length(expected, one.from).max(message_length_given(expected, one.from))
        };
        let update = |one: &Envelope<'_, T>| (one.combined && one.sends()).then_some(one.norm);
        let found = judged(arrived, verdicts, update);
        let bound = self.updates.bound(&flat(&found), factor, factor * factor);
        let alone = |one: &Envelope<'_, T>| factor * factor * started_from(one).max(LEAST_START);
        refuse("an update", arrived, &found, verdicts, |one, found| match bound {
            // To measure the start costs a look at every parameter.
            Some(bound) if found <= bound => None,
            Some(bound) => Some(bound.max(started_from(one))),
            None => Some(alone(one)),
        });
        self.updates.remember(&found, verdicts);
        self.judge_messages(factor, arrived, expected, verdicts);
    }

    fn judge_messages<T: Real>(
        &mut self,
        factor: f64,
        arrived: &[Envelope<'_, T>],
        expected: &Expected<'_, T>,
        verdicts: &mut [Option<Reason>],
    ) {
        let found = judged(arrived, verdicts, |one| {
            message_length(one.message).filter(|length| *length > 0.0)
        });
        // What was refused for its form says nothing about the form of the others.
        let open = arrived.iter().zip(&*verdicts).filter(|(_, verdict)| verdict.is_none());
        let like_models = open.into_iter().any(|(one, _)| is_like_the_model(one, expected));
        let (bound, least) = match like_models {
            true => {
                (self.messages.bound(&flat(&found), factor, factor * factor), self.messages.largest)
            }
            false => (
                self.messages.bound(
                    &flat(&found),
                    factor * factor * factor,
                    factor * factor * factor,
                ),
                0.0,
            ),
        };
        let floor =
            |one: &Envelope<'_, T>| message_length_given(expected, one.from).max(factor * least);
        refuse("a message", arrived, &found, verdicts, |one, found| {
            bound.filter(|bound| found > *bound).map(|bound| bound.max(floor(one)))
        });
        self.messages.remember(&found, verdicts);
    }

    /// Refuses claims far above both what is usual and what the others say. Of two that differ the
    /// smaller is the measure.
    pub(super) fn judge_claims(
        &mut self,
        factor: f64,
        claims: &[Option<Claim>],
        verdicts: &mut [Option<Reason>],
    ) {
        let open =
            verdicts.iter().zip(claims).map(|(verdict, claim)| claim.filter(|_| verdict.is_none()));
        let found: Vec<Option<f64>> = open.map(|claim| claim.map(|claim| claim.found)).collect();
        let now = flat(&found);
        let before = self.claims.rounds.concat();
        let said = if now.len() < ENOUGH {
            now.iter().copied().reduce(f64::min)
        } else {
            Some(median(&now))
        };
        let scale =
            said.unwrap_or(0.0).max(if before.len() < ENOUGH { 0.0 } else { median(&before) });
        for (verdict, claim) in verdicts.iter_mut().zip(claims) {
            let Some(Claim { what, usual, found }) = claim.filter(|_| verdict.is_none()) else {
                continue;
            };
            let bound = factor * scale.max(usual);
            *verdict = (found > bound).then_some(Reason::Implausible { what, bound, found });
        }
        self.claims.remember(&found, verdicts);
    }
}

impl Accepted {
    /// The longest that is used, if there is something to compare with: `factor` times the usual
    /// length, or `alone` times with fewer than three updates in the round.
    fn bound(&self, now: &[f64], factor: f64, alone: f64) -> Option<f64> {
        let of = |lengths: &[f64]| (lengths.len() >= ENOUGH).then(|| median(lengths));
        match (of(now), of(&self.rounds.concat())) {
            (Some(now), before) => Some(factor * before.map_or(now, |before| now.max(before))),
            (None, Some(before)) => Some(alone * before),
            (None, None) => None,
        }
    }

    /// Remembers what was not refused.
    fn remember(&mut self, found: &[Option<f64>], verdicts: &[Option<Reason>]) {
        let kept = found.iter().zip(verdicts).filter(|(_, verdict)| verdict.is_none());
        let kept: Vec<f64> = kept.filter_map(|(length, _)| *length).collect();
        if kept.is_empty() {
            return;
        }
        if kept.len() >= ENOUGH {
            self.largest = self.largest.max(median(&kept));
        }
        self.rounds.push(kept);
        self.rounds.drain(..self.rounds.len().saturating_sub(ROUNDS));
    }
}

/// The length of everything that has one and has not been refused.
fn judged<'a, T: Real>(
    arrived: &[Envelope<'a, T>],
    verdicts: &[Option<Reason>],
    length: impl Fn(&Envelope<'a, T>) -> Option<f64>,
) -> Vec<Option<f64>> {
    arrived
        .iter()
        .zip(verdicts)
        .map(|(one, verdict)| length(one).filter(|_| verdict.is_none()))
        .collect()
}

fn flat(found: &[Option<f64>]) -> Vec<f64> {
    found.iter().copied().flatten().collect()
}

/// Refuses what is longer than its bound.
fn refuse<'a, T: Real>(
    what: &'static str,
    arrived: &[Envelope<'a, T>],
    found: &[Option<f64>],
    verdicts: &mut [Option<Reason>],
    bound: impl Fn(&Envelope<'a, T>, f64) -> Option<f64>,
) {
    for ((one, verdict), found) in arrived.iter().zip(verdicts).zip(found) {
        let Some(found) = *found else { continue };
        if let Some(bound) = bound(one, found).filter(|bound| found > *bound) {
            *verdict = Some(Reason::TooLong { what, bound, found });
        }
    }
}

/// `factor` times the median, if there are enough of them for one that is above 0.
pub(crate) fn far_above(lengths: &[f64], factor: f64) -> Option<f64> {
    (lengths.len() >= ENOUGH).then(|| factor * median(lengths)).filter(|bound| *bound > 0.0)
}

/// The middle one; of an even number, the larger of the middle two.
fn median(lengths: &[f64]) -> f64 {
    let mut sorted = lengths.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn is_like_the_model<T: Real>(one: &Envelope<'_, T>, expected: &Expected<'_, T>) -> bool {
    let sent = one.message.tensors.iter().map(|tensor| (tensor.rows(), tensor.columns()));
    sent.eq(expected.shapes.iter().map(|shape| (shape.rows, shape.columns)))
}

/// The length of a message's tensors and entries; `None` if it has none.
pub(crate) fn message_length<T: Real>(message: &Message<T>) -> Option<f64> {
    let any = !message.tensors.is_empty() || !message.entries.is_empty();
    let tensors = message.tensors.iter().map(|tensor| squares(tensor.data()));
    let entries = message.entries.iter().map(|(_, x)| x.f64() * x.f64()).sum::<f64>();
    any.then(|| libm::sqrt(tensors.sum::<f64>() + entries))
}

fn model_length<T: Real>(expected: &Expected<'_, T>, client: usize) -> f64 {
    let model = expected.given[client].0;
    libm::sqrt(
        model.into_iter().flat_map(Params::tensors).map(|tensor| squares(tensor.data())).sum(),
    )
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
    whole
        .for_each(|some| some.iter().zip(&mut sums).for_each(|(x, sum)| *sum += x.f64() * x.f64()));
    sums.iter().sum()
}
