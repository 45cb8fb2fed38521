//! Bounds on the length of updates and messages, from those of the round and of earlier rounds.
//!
//! The scale is a median, which fewer than half of the participants cannot move. With at least
//! three updates in the round it is the larger of the medians of the round and of earlier rounds:
//! when all grow, all are accepted. With fewer, an update would be its own measure. Earlier rounds
//! then decide, with the bound squared, and before there are any the model that the client started
//! from. An update that is no longer than that model is never too long. Otherwise clients that do
//! not move would make every update that moves too long.
//!
//! A message whose tensors have the model's shapes (a control, a gradient) gets the same bound. It
//! has no start to be compared with, but is never too long while it is no longer than the server's
//! message, or than the median of some earlier round. Messages of other kinds differ more between
//! honest clients, so that only extreme ones are refused.

use super::form::ClaimedNumber;
use super::{Envelope, Expected, Reason};
use boostfgl_nn::{Params, Real, StateVisitor, Stateful};
use boostfgl_protocol::Message;

/// How many rounds are stored.
const ROUNDS: usize = 5;
/// The least number of values whose median is used.
const ENOUGH: usize = 3;
/// A model that is shorter than this says nothing about how far training moves it.
const LEAST_START: f64 = 1.0;

/// Lengths of accepted updates and messages and accepted claims, of the last rounds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Lengths {
    updates: Accepted,
    messages: Accepted,
    claims: Accepted,
}

/// Values that were accepted in the last rounds, the oldest first, and the largest median of any
/// round.
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
    /// Refuses what is too long among what has not been refused, and stores the rest.
    pub(super) fn refuse_long<T: Real>(
        &mut self,
        factor: f64,
        arrived: &[Envelope<'_, T>],
        expected: &Expected<'_, T>,
        verdicts: &mut [Option<Reason>],
    ) {
        let found = open_lengths(arrived, verdicts, |update| {
            (update.combined && update.sends()).then_some(update.norm)
        });
        let bound = self.updates.bound(&present(&found), factor, factor * factor);
        refuse("an update", arrived, &found, verdicts, |update, found| match bound {
            // Measuring the start reads every parameter: only done when the bound is exceeded.
            Some(bound) if found <= bound => None,
            Some(bound) => Some(bound.max(start_length(expected, update.from))),
            None => Some(factor * factor * start_length(expected, update.from).max(LEAST_START)),
        });
        self.updates.store(&found, verdicts);
        self.refuse_long_messages(factor, arrived, expected, verdicts);
    }

    fn refuse_long_messages<T: Real>(
        &mut self,
        factor: f64,
        arrived: &[Envelope<'_, T>],
        expected: &Expected<'_, T>,
        verdicts: &mut [Option<Reason>],
    ) {
        // Messages of zeros are left out: they would pull the median to 0, and with it the bound.
        let found = open_lengths(arrived, verdicts, |update| {
            message_length(update.message).filter(|length| *length > 0.0)
        });
        // An update that was refused for its form is no evidence of the form of the others.
        let mut open = arrived.iter().zip(&*verdicts).filter(|(_, verdict)| verdict.is_none());
        let like_models = open.any(|(update, _)| has_model_shapes(update, expected));
        let lengths = present(&found);
        let (bound, least) = if like_models {
            (self.messages.bound(&lengths, factor, factor * factor), self.messages.largest)
        } else {
            (self.messages.bound(&lengths, factor.powi(3), factor.powi(3)), 0.0)
        };
        refuse("a message", arrived, &found, verdicts, |update, found| {
            let floor = given_message_length(expected, update.from).max(factor * least);
            bound.filter(|bound| found > *bound).map(|bound| bound.max(floor))
        });
        self.messages.store(&found, verdicts);
    }

    /// Refuses claims that are far above their usual value and above those of the other clients.
    pub(super) fn refuse_implausible(
        &mut self,
        factor: f64,
        claims: &[Option<ClaimedNumber>],
        verdicts: &mut [Option<Reason>],
    ) {
        let open =
            verdicts.iter().zip(claims).map(|(verdict, claim)| claim.filter(|_| verdict.is_none()));
        let found: Vec<Option<f64>> = open.map(|claim| claim.map(|claim| claim.found)).collect();
        let now = present(&found);
        let earlier = self.claims.rounds.concat();
        // Of two claims the smaller is the reference: the larger one must not be compared with
        // itself.
        let of_round = if now.len() < ENOUGH {
            now.iter().copied().reduce(f64::min)
        } else {
            Some(median(&now))
        };
        let of_earlier = if earlier.len() < ENOUGH { 0.0 } else { median(&earlier) };
        let scale = of_round.unwrap_or(0.0).max(of_earlier);
        for (verdict, claim) in verdicts.iter_mut().zip(claims) {
            let Some(ClaimedNumber { what, usual, found }) = claim.filter(|_| verdict.is_none())
            else {
                continue;
            };
            let bound = factor * scale.max(usual);
            *verdict = (found > bound).then_some(Reason::Implausible { what, bound, found });
        }
        self.claims.store(&found, verdicts);
    }
}

impl Accepted {
    /// The largest length that is accepted, if there is something to compare with: `factor` times
    /// the usual length, or `alone` times with fewer than three updates in the round.
    fn bound(&self, now: &[f64], factor: f64, alone: f64) -> Option<f64> {
        match (usual(now), usual(&self.rounds.concat())) {
            (Some(now), earlier) => Some(factor * earlier.map_or(now, |earlier| now.max(earlier))),
            (None, Some(earlier)) => Some(alone * earlier),
            (None, None) => None,
        }
    }

    /// Stores what was not refused.
    fn store(&mut self, found: &[Option<f64>], verdicts: &[Option<Reason>]) {
        let accepted = found.iter().zip(verdicts).filter(|(_, verdict)| verdict.is_none());
        let accepted: Vec<f64> = accepted.filter_map(|(length, _)| *length).collect();
        if accepted.is_empty() {
            return;
        }
        // Gradients shrink during training. With the largest median as a floor, a client that joins
        // late may send one as long as those of the first rounds.
        if accepted.len() >= ENOUGH {
            self.largest = self.largest.max(median(&accepted));
        }
        self.rounds.push(accepted);
        self.rounds.drain(..self.rounds.len().saturating_sub(ROUNDS));
    }
}

/// The lengths of all updates that have one and have not been refused.
fn open_lengths<'a, T: Real>(
    arrived: &[Envelope<'a, T>],
    verdicts: &[Option<Reason>],
    length: impl Fn(&Envelope<'a, T>) -> Option<f64>,
) -> Vec<Option<f64>> {
    arrived
        .iter()
        .zip(verdicts)
        .map(|(update, verdict)| length(update).filter(|_| verdict.is_none()))
        .collect()
}

fn present(found: &[Option<f64>]) -> Vec<f64> {
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
    for ((update, verdict), found) in arrived.iter().zip(verdicts).zip(found) {
        let Some(found) = *found else { continue };
        if let Some(bound) = bound(update, found).filter(|bound| found > *bound) {
            *verdict = Some(Reason::TooLong { what, bound, found });
        }
    }
}

/// `factor` times the median, if there are enough lengths and the median is above 0.
pub(crate) fn far_above(lengths: &[f64], factor: f64) -> Option<f64> {
    usual(lengths).map(|usual| factor * usual).filter(|bound| *bound > 0.0)
}

/// The median, if there are enough lengths.
fn usual(lengths: &[f64]) -> Option<f64> {
    (lengths.len() >= ENOUGH).then(|| median(lengths))
}

/// The middle length; of an even number, the larger of the middle two.
fn median(lengths: &[f64]) -> f64 {
    let mut sorted = lengths.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// Whether the tensors of a message have the shapes of the model's.
fn has_model_shapes<T: Real>(update: &Envelope<'_, T>, expected: &Expected<'_, T>) -> bool {
    let sent = update.message.tensors.iter().map(|tensor| (tensor.rows(), tensor.columns()));
    sent.eq(expected.shapes.iter().map(|shape| (shape.rows, shape.columns)))
}

/// The length of a message's tensors and entries; `None` if it has none.
pub(crate) fn message_length<T: Real>(message: &Message<T>) -> Option<f64> {
    let any = !message.tensors.is_empty() || !message.entries.is_empty();
    let tensors = message.tensors.iter().map(|tensor| squares(tensor.data()));
    let entries = message.entries.iter().map(|(_, x)| x.f64() * x.f64()).sum::<f64>();
    any.then(|| libm::sqrt(tensors.sum::<f64>() + entries))
}

/// The length of what a client started the round from: the model, or what stands in its place.
fn start_length<T: Real>(expected: &Expected<'_, T>, client: usize) -> f64 {
    let tensors = expected.given[client].0.into_iter().flat_map(Params::tensors);
    let model = libm::sqrt(tensors.map(|tensor| squares(tensor.data())).sum());
    model.max(given_message_length(expected, client))
}

/// The length of the tensors that the server sent to a client with its model.
fn given_message_length<T: Real>(expected: &Expected<'_, T>, client: usize) -> f64 {
    let tensors = expected.given[client].1.into_iter().flat_map(|message| &message.tensors);
    libm::sqrt(tensors.map(|tensor| squares(tensor.data())).sum())
}

/// Σ x², in a fixed number of independent sums, so that the compiler can vectorise it.
fn squares<T: Real>(numbers: &[T]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let whole = numbers.chunks_exact(LANES);
    whole.remainder().iter().zip(&mut sums).for_each(|(x, sum)| *sum += x.f64() * x.f64());
    whole
        .for_each(|some| some.iter().zip(&mut sums).for_each(|(x, sum)| *sum += x.f64() * x.f64()));
    sums.iter().sum()
}
