//! What arrives from a client, and what one can tell of it without the others.

use super::Reason;
use crate::boost::Summary;
use crate::wire::Message;
use boostfgl_nn::{Params, Real, TensorShape};

/// What arrives from a client in a round. Everything but `from`, `seconds` and, where the model is sent, the norms is what
/// the client says.
#[derive(Clone, Copy, Debug)]
pub struct Envelope<'a, T> {
    /// Whose connection it came over.
    pub from: usize,
    /// Which client it says it is from.
    pub client: usize,
    /// Which round it says it is for, from 1.
    pub round: usize,
    /// The model, if the method sends it.
    pub model: Option<&'a Params<T>>,
    /// What it says beside the model.
    pub message: &'a Message<T>,
    /// How far what is combined moved from what the client started from; measured by the server where the model is sent.
    pub norm: f64,
    /// Whether `norm` is the length of something that is combined.
    pub combined: bool,
    /// The size it claims.
    pub size: f64,
    /// Whom its model serves, it says.
    pub summary: Option<Summary>,
    /// Seconds until it arrived.
    pub seconds: f64,
}

/// A model and a message, as far as there are any.
pub type Given<'a, T> = (Option<&'a Params<T>>, Option<&'a Message<T>>);

/// What the server knows of a round before anything arrives.
pub struct Expected<'a, T> {
    /// The round, from 1.
    pub round: usize,
    /// Who takes part.
    pub participants: &'a [usize],
    /// The shapes of the model.
    pub shapes: &'a [TensorShape],
    /// The size that each client was enrolled with.
    pub enrolled: &'a [f64],
    /// What each client was given at the start of the round: a model and a message.
    pub given: Vec<Given<'a, T>>,
}

/// Whether the sender is one who may send this now.
pub(super) fn formal<T>(
    arrived: &[Envelope<'_, T>],
    at: usize,
    expected: &Expected<'_, T>,
    deadline: Option<f64>,
) -> Option<Reason> {
    let one = &arrived[at];
    if !expected.participants.contains(&one.from) || one.from >= expected.enrolled.len() {
        return Some(Reason::NotInvited);
    }
    if one.client != one.from {
        return Some(Reason::Stranger { claimed: one.client });
    }
    // The first of several counts, whatever became of it.
    if arrived[..at].iter().any(|earlier| earlier.from == one.from) {
        return Some(Reason::Duplicate);
    }
    if one.round != expected.round {
        return Some(Reason::WrongRound { expected: expected.round, found: one.round });
    }
    deadline.filter(|&allowed| one.seconds > allowed).map(|allowed| Reason::Late { allowed, took: one.seconds })
}

impl<T: Real> Envelope<'_, T> {
    /// What is wrong with the content by itself.
    pub(super) fn content(&self, expected: &Expected<'_, T>) -> Option<Reason> {
        if let Some(reason) = self.model.and_then(|model| misshapen(model, expected.shapes)) {
            return Some(reason);
        }
        let not_finite = |what| Some(Reason::NotFinite { what });
        if !(self.norm.is_finite() && self.norm >= 0.0) {
            // From a finite start the distance is finite exactly if the model is, and it has been measured already.
            return not_finite(if self.model.is_some() { "model" } else { "update norm" });
        }
        if !self.message.is_finite() {
            return not_finite("message");
        }
        let (enrolled, found) = (expected.enrolled[self.from], self.size);
        if !(found >= 1.0 && found <= enrolled && found.fract() == 0.0) {
            return Some(Reason::Size { enrolled, found });
        }
        self.summary.and_then(implausible)
    }
}

fn misshapen<T: Real>(model: &Params<T>, shapes: &[TensorShape]) -> Option<Reason> {
    let wanted: Vec<(usize, usize)> = shapes.iter().map(|shape| (shape.rows, shape.columns)).collect();
    let sent: Vec<(usize, usize)> = model.tensors().iter().map(|t| (t.rows(), t.columns())).collect();
    let told = |shapes: &[(usize, usize)]| -> String {
        let each: Vec<String> = shapes.iter().map(|(rows, columns)| format!("{rows}×{columns}")).collect();
        each.join(", ")
    };
    (wanted != sent).then(|| Reason::Shape { expected: told(&wanted), found: told(&sent) })
}

fn implausible(summary: Summary) -> Option<Reason> {
    let Summary { gap, minority_difficulty: difficulty } = summary;
    if !(0.0..=1.0).contains(&gap) {
        return Some(Reason::Summary { what: "fairness gap", expected: "from 0 to 1", found: gap });
    }
    let plausible = difficulty.is_finite() && difficulty >= 0.0;
    let (what, expected) = ("difficulty of the minority", "of at least 0");
    (!plausible).then_some(Reason::Summary { what, expected, found: difficulty })
}
