//! What arrives from a client, and what one can tell of it without the others.

use super::{Form, Reason};
use crate::boost::Summary;
use crate::wire::Message;
use boostfgl_nn::{Params, Real, TensorShape};

/// What arrives from a client in a round. Everything but `from`, `seconds` and, where the model is
/// sent, the norms is what the client says.
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
    /// How far what is combined moved from what the client started from; measured by the server
    /// where the model is sent.
    pub norm: f64,
    /// The same for each tensor.
    pub tensor_norms: &'a [f64],
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
    /// The form that an update must have.
    pub form: &'a dyn Fn(&Envelope<'_, T>) -> Form,
    /// From what to what each tensor of what is combined can have moved, where the message shows it
    /// in place of a model.
    pub moved: &'a dyn Fn(&Envelope<'_, T>) -> Option<Vec<Moved>>,
    /// Whether everybody must say whom its model serves.
    pub summaries: bool,
}

/// The least and the most that something can have moved.
pub type Moved = (f64, f64);

/// What a client computes and what the server does may differ by rounding.
const ROUNDING: f64 = 1e-3;

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
    deadline
        .filter(|&allowed| one.seconds > allowed)
        .map(|allowed| Reason::Late { allowed, took: one.seconds })
}

impl<T: Real> Envelope<'_, T> {
    /// What is wrong with the form of the content: nothing can be computed with such an update.
    pub(super) fn misformed(&self, expected: &Expected<'_, T>) -> Option<Reason> {
        let misshapen = self.model.and_then(|model| misshapen(model, expected.shapes));
        misshapen.or_else(|| (expected.form)(self).misfit(self.model.is_some(), self.message))
    }

    /// What is wrong with the content by itself.
    pub(super) fn content(&self, expected: &Expected<'_, T>) -> Option<Reason> {
        if let Some(reason) = self.model.and_then(|model| misshapen(model, expected.shapes)) {
            return Some(reason);
        }
        let not_finite = |what| Some(Reason::NotFinite { what });
        if !(self.norm.is_finite() && self.norm >= 0.0) {
            // From a finite start the distance is finite exactly if the model is, and it has been
            // measured already.
            return not_finite(if self.model.is_some() { "model" } else { "update norm" });
        }
        if !self.message.is_finite() {
            return not_finite("message");
        }
        if let Some(reason) = (expected.form)(self).misfit(self.model.is_some(), self.message) {
            return Some(reason);
        }
        if let Some(reason) = (expected.moved)(self).and_then(|moved| self.misjudged(&moved)) {
            return Some(reason);
        }
        let (enrolled, found) = (expected.enrolled[self.from], self.size);
        if !(found >= 1.0 && found <= enrolled && found.fract() == 0.0) {
            return Some(Reason::Size { enrolled, found });
        }
        match self.summary {
            Some(summary) => implausible(summary),
            None if expected.summaries => {
                let (expected, found) =
                    ("a fairness gap beside the update".to_owned(), "none".to_owned());
                Some(Reason::Message { expected, found })
            }
            None => None,
        }
    }

    /// Whether it claims to have moved by other lengths than its message shows.
    fn misjudged(&self, moved: &[Moved]) -> Option<Reason> {
        let all =
            |end: fn(&Moved) -> f64| libm::sqrt(moved.iter().map(|one| end(one) * end(one)).sum());
        let claims = self.tensor_norms.iter().copied().chain([self.norm]);
        let shown = moved.iter().copied().chain([(all(|one| one.0), all(|one| one.1))]);
        let fits = |(claim, (least, most)): &(f64, Moved)| {
            (least * (1.0 - ROUNDING)..=most * (1.0 + ROUNDING)).contains(claim)
        };
        let expected =
            |(least, most): Moved| format!("an update that moved by {least:.3e} to {most:.3e}");
        if self.tensor_norms.len() != moved.len() {
            let (expected, found) = (
                format!("{} lengths of an update", moved.len()),
                self.tensor_norms.len().to_string(),
            );
            return Some(Reason::Message { expected, found });
        }
        let (claim, shown) = claims.zip(shown).find(|one| !fits(one))?;
        Some(Reason::Message {
            expected: expected(shown),
            found: format!("one that says {claim:.3e}"),
        })
    }
}

fn misshapen<T: Real>(model: &Params<T>, shapes: &[TensorShape]) -> Option<Reason> {
    let wanted: Vec<(usize, usize)> =
        shapes.iter().map(|shape| (shape.rows, shape.columns)).collect();
    let sent: Vec<(usize, usize)> =
        model.tensors().iter().map(|t| (t.rows(), t.columns())).collect();
    let told = |shapes: &[(usize, usize)]| -> String {
        let each: Vec<String> =
            shapes.iter().map(|(rows, columns)| format!("{rows}×{columns}")).collect();
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
