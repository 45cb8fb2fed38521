//! What arrives from a client, and the checks that need no other client's update.

use super::{Form, Reason};
use crate::boost::Summary;
use boostfgl_nn::{Params, Real, TensorShape};
use boostfgl_protocol::Message;

/// What arrives from a client in a round. Everything except `from`, `seconds` and, where the model
/// is sent, the norms is the client's claim.
#[derive(Clone, Copy, Debug)]
pub struct Envelope<'a, T> {
    /// The client that sent it.
    pub from: usize,
    /// The round that it claims to be for, from 1.
    pub round: usize,
    /// The model, if the method sends it.
    pub model: Option<&'a Params<T>>,
    /// The message of the method.
    pub message: &'a Message<T>,
    /// How far what is combined moved from the start of the round; measured by the server where the
    /// model is sent.
    pub norm: f64,
    /// The same for each tensor.
    pub tensor_norms: &'a [f64],
    /// Whether `norm` is the length of something that is combined.
    pub combined: bool,
    /// The claimed size.
    pub size: f64,
    /// The claimed fairness summary.
    pub summary: Option<Summary>,
    /// Seconds until it arrived.
    pub seconds: f64,
}

/// A model and a message, each if there is one.
pub type Given<'a, T> = (Option<&'a Params<T>>, Option<&'a Message<T>>);

/// What the server expects of a round before anything arrives.
pub struct Expected<'a, T> {
    /// The round, from 1.
    pub round: usize,
    /// The shapes of the model.
    pub shapes: &'a [TensorShape],
    /// The size of each client at enrolment.
    pub enrolled: &'a [f64],
    /// What each client was given at the start of the round: a model and a message.
    pub given: Vec<Given<'a, T>>,
    /// The form that an update must have.
    pub form: &'a dyn Fn(&Envelope<'_, T>) -> Form,
    /// How far each tensor of what is combined can have moved, where the message shows it in place
    /// of a model.
    pub moved: &'a dyn Fn(&Envelope<'_, T>) -> Option<Vec<DistanceRange>>,
    /// Whether every client must send a fairness summary.
    pub summaries: bool,
}

/// The least and the most that something can have moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DistanceRange {
    /// The least distance.
    pub least: f64,
    /// The largest distance.
    pub most: f64,
}

impl DistanceRange {
    /// A distance that is known exactly.
    pub fn exact(distance: f64) -> Self {
        Self { least: distance, most: distance }
    }

    /// The distance of several tensors together, from the distances of each.
    pub fn total(ranges: &[Self]) -> Self {
        let least = libm::sqrt(ranges.iter().map(|range| range.least * range.least).sum());
        let most = libm::sqrt(ranges.iter().map(|range| range.most * range.most).sum());
        Self { least, most }
    }

    /// Whether a claimed distance lies in the range, up to rounding.
    fn allows(&self, claim: f64) -> bool {
        (self.least * (1.0 - ROUNDING)..=self.most * (1.0 + ROUNDING)).contains(&claim)
    }
}

/// The server's and a client's results of the same computation may differ by rounding.
const ROUNDING: f64 = 1e-3;

/// What is wrong with sender, round or time of arrival of the update at `position`.
pub(super) fn protocol_violation<T>(
    arrived: &[Envelope<'_, T>],
    position: usize,
    expected: &Expected<'_, T>,
    deadline: Option<f64>,
) -> Option<Reason> {
    let update = &arrived[position];
    // The first of several counts, whether it was accepted or not. Otherwise a client could try
    // until one passes.
    if arrived[..position].iter().any(|earlier| earlier.from == update.from) {
        return Some(Reason::Duplicate);
    }
    if update.round != expected.round {
        return Some(Reason::WrongRound { expected: expected.round, found: update.round });
    }
    deadline
        .filter(|&allowed| update.seconds > allowed)
        .map(|allowed| Reason::Late { allowed, took: update.seconds })
}

impl<T: Real> Envelope<'_, T> {
    /// What is wrong with the form of the content: nothing can be computed with such an update.
    pub(super) fn malformed(&self, expected: &Expected<'_, T>) -> Option<Reason> {
        let misshapen = self.model.and_then(|model| misshapen(model, expected.shapes));
        misshapen
            .or_else(|| (expected.form)(self).misfit(self.model.is_some(), self.message))
            .or_else(|| self.wrong_count(expected))
    }

    /// Whether it has another number of distances than the model has tensors. Trust is computed
    /// tensor by tensor, so that each needs one.
    fn wrong_count(&self, expected: &Expected<'_, T>) -> Option<Reason> {
        let wanted = match (expected.moved)(self) {
            Some(shown) => shown.len(),
            None if self.model.is_some() && expected.summaries => expected.shapes.len(),
            None => return None,
        };
        let found = self.tensor_norms.len();
        (found != wanted).then(|| {
            let expected = format!("{wanted} lengths of an update");
            Reason::Message { expected, found: found.to_string() }
        })
    }

    /// What is wrong with the content, without comparing it with other updates.
    pub(super) fn invalid_content(&self, expected: &Expected<'_, T>) -> Option<Reason> {
        if let Some(reason) = self.model.and_then(|model| misshapen(model, expected.shapes)) {
            return Some(reason);
        }
        if !(self.norm.is_finite() && self.norm >= 0.0) {
            // From a finite start the distance is finite exactly if the model is. It has been
            // measured already, so that the model need not be read again.
            let what = if self.model.is_some() { "model" } else { "update norm" };
            return Some(Reason::NotFinite { what });
        }
        if !self.message.is_finite() {
            return Some(Reason::NotFinite { what: "message" });
        }
        if let Some(reason) = (expected.form)(self).misfit(self.model.is_some(), self.message) {
            return Some(reason);
        }
        if let Some(reason) = self.wrong_count(expected) {
            return Some(reason);
        }
        if let Some(reason) = (expected.moved)(self).and_then(|shown| self.false_distance(&shown)) {
            return Some(reason);
        }
        let (enrolled, found) = (expected.enrolled[self.from], self.size);
        if !(found >= 1.0 && found <= enrolled && found.fract() == 0.0) {
            return Some(Reason::Size { enrolled, found });
        }
        match self.summary {
            Some(summary) => invalid_summary(summary),
            None if expected.summaries => {
                let (expected, found) =
                    ("a fairness gap with the update".to_owned(), "none".to_owned());
                Some(Reason::Message { expected, found })
            }
            None => None,
        }
    }

    /// Whether it claims to have moved by other distances than its message shows; there are as many
    /// of both.
    fn false_distance(&self, shown: &[DistanceRange]) -> Option<Reason> {
        let claims = self.tensor_norms.iter().copied().chain([self.norm]);
        let ranges = shown.iter().copied().chain([DistanceRange::total(shown)]);
        let (claim, DistanceRange { least, most }) =
            claims.zip(ranges).find(|(claim, range)| !range.allows(*claim))?;
        Some(Reason::Message {
            expected: format!("an update that moved by {least:.3e} to {most:.3e}"),
            found: format!("a claimed distance of {claim:.3e}"),
        })
    }
}

fn misshapen<T: Real>(model: &Params<T>, shapes: &[TensorShape]) -> Option<Reason> {
    let wanted: Vec<(usize, usize)> =
        shapes.iter().map(|shape| (shape.rows, shape.columns)).collect();
    let sent: Vec<(usize, usize)> =
        model.tensors().iter().map(|tensor| (tensor.rows(), tensor.columns())).collect();
    (wanted != sent)
        .then(|| Reason::Shape { expected: shape_list(&wanted), found: shape_list(&sent) })
}

/// Shapes as text: `2×3, 1×3`.
pub(super) fn shape_list(shapes: &[(usize, usize)]) -> String {
    let each: Vec<String> =
        shapes.iter().map(|(rows, columns)| format!("{rows}×{columns}")).collect();
    each.join(", ")
}

fn invalid_summary(summary: Summary) -> Option<Reason> {
    let Summary { gap, minority_difficulty: difficulty } = summary;
    if !(0.0..=1.0).contains(&gap) {
        return Some(Reason::Summary { what: "fairness gap", expected: "from 0 to 1", found: gap });
    }
    let plausible = difficulty.is_finite() && difficulty >= 0.0;
    let (what, expected) = ("difficulty of the minority", "of at least 0");
    (!plausible).then_some(Reason::Summary { what, expected, found: difficulty })
}
