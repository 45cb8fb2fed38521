//! The form of a method's updates, so that every other one can be refused.

use super::Reason;
use super::envelope::shape_list;
use boostfgl_nn::Real;
use boostfgl_protocol::Message;
use std::ops::RangeInclusive;

/// The form of an update: whether it contains a model, and what its message holds. A server may
/// read an update of its form without checking lengths again.
///
/// ```
/// use boostfgl_fed::screen::{Form, Part};
/// use boostfgl_fed::Message;
///
/// let form = Form::model().with(Part::new("training loss", 1, 0.0..=f64::MAX));
/// let sent = Message::<f64>::numbers(vec![-3.0]);
/// let reason = form.misfit(true, &sent).map(|reason| reason.to_string());
/// assert_eq!(reason.as_deref(), Some("expected a training loss of at least 0, found -3"));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Form {
    model: bool,
    tensors: Vec<(usize, usize)>,
    parts: Vec<Part>,
    relations: Vec<Relation>,
    /// Entries lie below this place.
    places: usize,
    /// The largest number of entries.
    most: usize,
}

/// A relation between numbers of a message. It holds if one of them was left out.
#[derive(Clone, Debug, PartialEq)]
enum Relation {
    Sum { what: &'static str, places: Vec<usize>, range: RangeInclusive<f64> },
    Order { what: &'static str, less: usize, more: usize },
}

impl Relation {
    fn misfit(&self, numbers: &[f64]) -> Option<Reason> {
        let (expected, found) = match self {
            Self::Sum { what, places, range } => {
                // `None` if a number was left out: an optional part that is not sent.
                let sum: f64 =
                    places.iter().map(|&place| numbers.get(place)).sum::<Option<f64>>()?;
                if range.contains(&sum) {
                    return None;
                }
                let from = if range.start() < range.end() {
                    format!("from {} to ", range.start())
                } else {
                    String::new()
                };
                (format!("{what} whose sum is {from}{}", range.end()), sum.to_string())
            }
            Self::Order { what, less, more } => {
                let (less, more) = (numbers.get(*less)?, numbers.get(*more)?);
                if less <= more {
                    return None;
                }
                (format!("{what} {more}"), less.to_string())
            }
        };
        Some(Reason::Message { expected, found })
    }
}

/// A number that wins a client influence, to be compared with those of the other clients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ClaimedNumber {
    pub(super) what: &'static str,
    /// Its value for an untrained model, which is never too large.
    pub(super) usual: f64,
    pub(super) found: f64,
}

/// Some numbers of a message that mean the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    what: &'static str,
    count: usize,
    range: RangeInclusive<f64>,
    whole: bool,
    optional: bool,
    usual: Option<f64>,
}

impl Part {
    /// `count` numbers in a range.
    pub fn new(what: &'static str, count: usize, range: RangeInclusive<f64>) -> Self {
        Self { what, count, range, whole: false, optional: false, usual: None }
    }

    /// `count` whole numbers in a range.
    pub fn whole(what: &'static str, count: usize, range: RangeInclusive<f64>) -> Self {
        Self { whole: true, ..Self::new(what, count, range) }
    }

    /// The same numbers, which may also be left out all together: what is sent only once.
    #[must_use]
    pub fn optional_if(self, optional: bool) -> Self {
        Self { optional, ..self }
    }

    /// The same numbers, which win influence by being large: none may be far above both `usual` and
    /// those of the other clients.
    #[must_use]
    pub fn bounded_by_others(self, usual: f64) -> Self {
        Self { usual: Some(usual), ..self }
    }

    fn misfit(&self, numbers: &[f64]) -> Option<Reason> {
        let found = numbers.iter().find(|x| !self.allows(**x))?;
        let (whole, what) = (if self.whole { "whole " } else { "" }, self.what);
        let expected = match (*self.range.start(), *self.range.end()) {
            (f64::MIN, f64::MAX) => format!("a {whole}{what}"),
            (least, f64::MAX) => format!("a {whole}{what} of at least {least}"),
            (least, most) => format!("a {whole}{what} from {least} to {most}"),
        };
        Some(Reason::Message { expected, found: found.to_string() })
    }

    /// Whether one number is in the range and, if it must be, whole.
    fn allows(&self, x: f64) -> bool {
        self.range.contains(&x) && !(self.whole && x.fract() != 0.0)
    }
}

impl Form {
    /// A model, and a message that holds nothing yet.
    pub fn model() -> Self {
        Self { model: true, ..Self::default() }
    }

    /// A message that holds nothing yet, without a model.
    pub fn message() -> Self {
        Self::default()
    }

    /// With tensors of these shapes.
    #[must_use]
    pub fn tensors(self, tensors: Vec<(usize, usize)>) -> Self {
        Self { tensors, ..self }
    }

    /// With these numbers after those that it has. Only the last may be optional.
    #[must_use]
    pub fn with(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    /// With numbers at these places whose sum lies in a range.
    #[must_use]
    pub fn adding_up(
        mut self,
        what: &'static str,
        places: impl IntoIterator<Item = usize>,
        range: RangeInclusive<f64>,
    ) -> Self {
        self.relations.push(Relation::Sum { what, places: places.into_iter().collect(), range });
        self
    }

    /// With a number at place `less` that is at most the one at place `more`.
    #[must_use]
    pub fn ordered(mut self, what: &'static str, less: usize, more: usize) -> Self {
        self.relations.push(Relation::Order { what, less, more });
        self
    }

    /// With at most `most` entries, at increasing places below `places`.
    #[must_use]
    pub fn entries(self, most: usize, places: usize) -> Self {
        Self { most, places, ..self }
    }

    /// Why an update is not of this form, if it is not. Finiteness is another check.
    pub fn misfit<T: Real>(&self, model: bool, message: &Message<T>) -> Option<Reason> {
        if model != self.model {
            let (expected, found) = (presence(self.model), presence(model));
            return Some(Reason::Message { expected, found });
        }
        let tensors: Vec<(usize, usize)> =
            message.tensors.iter().map(|tensor| (tensor.rows(), tensor.columns())).collect();
        if tensors != self.tensors {
            let (expected, found) = (described(&self.tensors), described(&tensors));
            return Some(Reason::Message { expected, found });
        }
        self.numbers_misfit(&message.numbers).or_else(|| self.entries_misfit(&message.entries))
    }

    fn numbers_misfit(&self, numbers: &[f64]) -> Option<Reason> {
        let all: usize = self.parts.iter().map(|part| part.count).sum();
        let needed: usize =
            self.parts.iter().filter(|part| !part.optional).map(|part| part.count).sum();
        if numbers.len() != all && numbers.len() != needed {
            let also = if needed < all { format!("{needed} or ") } else { String::new() };
            let (expected, found) =
                (format!("a message of {also}{all} numbers"), numbers.len().to_string());
            return Some(Reason::Message { expected, found });
        }
        let misfit = self.split(numbers).find_map(|(part, these)| part.misfit(these));
        misfit.or_else(|| self.relations.iter().find_map(|relation| relation.misfit(numbers)))
    }

    /// Every part with its numbers; none for a part that was left out.
    fn split<'a>(&'a self, numbers: &'a [f64]) -> impl Iterator<Item = (&'a Part, &'a [f64])> {
        let mut rest = numbers;
        self.parts.iter().map(move |part| {
            let (these, after) = rest.split_at(part.count.min(rest.len()));
            rest = after;
            (part, these)
        })
    }

    /// Whether a message with these numbers counts training nodes by class or group: some of its
    /// numbers must add up to one given sum.
    pub(crate) fn counts_nodes(&self, numbers: &[f64]) -> bool {
        self.relations.iter().any(|relation| match relation {
            Relation::Sum { places, range, .. } => {
                // A part that was left out has no numbers that could be false.
                let present = places.iter().all(|&place| place < numbers.len());
                present && places.len() > 1 && range.start() == range.end()
            }
            Relation::Order { .. } => false,
        })
    }

    /// The number of a message of this form that wins influence: the largest, if there are several.
    pub(super) fn claim(&self, numbers: &[f64]) -> Option<ClaimedNumber> {
        let claims =
            self.split(numbers).filter_map(|(part, these)| Some((part.what, part.usual?, these)));
        let each = claims.flat_map(|(what, usual, these)| {
            these.iter().map(move |&found| ClaimedNumber { what, usual, found })
        });
        each.max_by(|a, b| a.found.total_cmp(&b.found))
    }

    fn entries_misfit<T: Real>(&self, entries: &[(u32, T)]) -> Option<Reason> {
        if entries.len() > self.most {
            let (expected, found) =
                (format!("at most {} entries", self.most), entries.len().to_string());
            return Some(Reason::Message { expected, found });
        }
        let last = entries.last().map_or(0, |(place, _)| *place as usize);
        // No early exit: it would keep the compiler from vectorising the comparison.
        let increasing =
            entries.windows(2).fold(true, |increasing, pair| increasing & (pair[0].0 < pair[1].0));
        if increasing && (entries.is_empty() || last < self.places) {
            return None;
        }
        let found =
            if increasing { format!("place {last}") } else { "places out of order".to_owned() };
        Some(Reason::Message {
            expected: format!("entries at increasing places below {}", self.places),
            found,
        })
    }
}

/// Whether there is a model, as text.
fn presence(model: bool) -> String {
    if model { "a model" } else { "no model" }.to_owned()
}

/// The shapes of a message's tensors, as text.
fn described(shapes: &[(usize, usize)]) -> String {
    if shapes.is_empty() {
        return "a message without tensors".to_owned();
    }
    format!("a message with tensors of {}", shape_list(shapes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use boostfgl_nn::Matrix;

    fn misfit(form: &Form, model: bool, message: &Message<f64>) -> Option<String> {
        form.misfit(model, message).map(|reason| reason.to_string())
    }

    fn expected(expected: &str, found: &str) -> Option<String> {
        Some(format!("expected {expected}, found {found}"))
    }

    #[test]
    fn a_model_is_required_or_refused_by_the_form() {
        let (with, without, nothing) = (Form::model(), Form::message(), Message::default());
        assert_eq!(
            [misfit(&with, true, &nothing), misfit(&without, false, &nothing)],
            [None, None]
        );
        assert_eq!(misfit(&with, false, &nothing), expected("a model", "no model"));
        assert_eq!(misfit(&without, true, &nothing), expected("no model", "a model"));
    }

    #[test]
    fn tensors_of_other_shapes_are_refused() {
        let form = Form::message().tensors(vec![(2, 3), (1, 3)]);
        let sent = |shapes: &[(usize, usize)]| {
            Message::tensors(shapes.iter().map(|s| Matrix::zeros(s.0, s.1)).collect())
        };
        assert_eq!(misfit(&form, false, &sent(&[(2, 3), (1, 3)])), None);
        let wanted = "a message with tensors of 2×3, 1×3";
        assert_eq!(
            misfit(&form, false, &sent(&[(3, 2), (1, 3)])),
            expected(wanted, "a message with tensors of 3×2, 1×3")
        );
        assert_eq!(
            misfit(&form, false, &sent(&[(2, 3)])),
            expected(wanted, "a message with tensors of 2×3")
        );
        assert_eq!(misfit(&form, false, &sent(&[])), expected(wanted, "a message without tensors"));
    }

    #[test]
    fn numbers_out_of_range_or_of_another_count_are_refused() {
        let once = Part::whole("count", 2, 0.0..=9.0);
        let form = |known| {
            Form::message()
                .with(Part::new("loss", 1, 0.0..=f64::MAX))
                .with(once.clone().optional_if(known))
        };
        let sent = |numbers: &[f64]| Message::numbers(numbers.to_vec());
        assert_eq!(misfit(&form(false), false, &sent(&[0.5, 9.0, 0.0])), None);
        assert_eq!(
            misfit(&form(false), false, &sent(&[0.5])),
            expected("a message of 3 numbers", "1")
        );
        assert_eq!(misfit(&form(true), false, &sent(&[0.5])), None);
        assert_eq!(
            misfit(&form(true), false, &sent(&[0.5, 1.0])),
            expected("a message of 1 or 3 numbers", "2")
        );
        assert_eq!(
            misfit(&form(true), false, &sent(&[-0.5])),
            expected("a loss of at least 0", "-0.5")
        );
        assert_eq!(
            misfit(&form(true), false, &sent(&[1.0, 2.0, 9.5])),
            expected("a whole count from 0 to 9", "9.5")
        );
        assert_eq!(
            misfit(&form(true), false, &sent(&[1.0, 10.0, 0.0])),
            expected("a whole count from 0 to 9", "10")
        );
        assert_eq!(
            misfit(&form(true), false, &sent(&[1.0, 1.0, 0.5])),
            expected("a whole count from 0 to 9", "0.5")
        );
        let any = Form::message().with(Part::new("coordinate", 1, f64::MIN..=f64::MAX));
        assert_eq!(misfit(&any, false, &sent(&[-1e300])), None);
        assert_eq!(misfit(&any, false, &sent(&[f64::NAN])), expected("a coordinate", "NaN"));
    }

    /// Hits and nodes of two groups that are nine together.
    #[test]
    fn counts_must_add_up_and_hits_must_not_exceed_nodes() {
        let counts = Part::whole("count", 4, 0.0..=9.0);
        let form = Form::message().with(counts).adding_up("groups of nodes", [1, 3], 9.0..=9.0);
        let form = form.ordered("at most as many hits as nodes,", 0, 1).ordered(
            "at most as many hits as nodes,",
            2,
            3,
        );
        let sent = |numbers: [f64; 4]| Message::numbers(numbers.to_vec());
        assert_eq!(misfit(&form, false, &sent([2.0, 2.0, 0.0, 7.0])), None);
        assert_eq!(
            misfit(&form, false, &sent([2.0, 9.0, 0.0, 9.0])),
            expected("groups of nodes whose sum is 9", "18")
        );
        let hits = expected("at most as many hits as nodes, 2", "9");
        assert_eq!(misfit(&form, false, &sent([9.0, 2.0, 0.0, 7.0])), hits);
        assert_eq!(misfit(&form, false, &sent([0.0, 7.0, 9.0, 2.0])), hits);
        let at_most = Form::message().with(Part::new("number", 2, 0.0..=9.0).optional_if(true));
        let at_most = at_most.adding_up("numbers", 0..2, 0.0..=9.0);
        assert_eq!(
            misfit(&at_most, false, &Message::numbers(vec![])),
            None,
            "what is left out is not added up"
        );
        assert_eq!(
            misfit(&at_most, false, &Message::numbers(vec![5.0, 4.5])),
            expected("numbers whose sum is from 0 to 9", "9.5")
        );
    }

    #[test]
    fn counts_are_recognised_by_their_sum() {
        let counts = Form::message().with(Part::whole("count", 3, 0.0..=9.0));
        assert!(!counts.counts_nodes(&[2.0, 3.0, 4.0]), "nothing has to add up");
        let bounded = counts.clone().adding_up("counts", 0..3, 0.0..=9.0);
        assert!(!bounded.counts_nodes(&[2.0, 3.0, 4.0]), "only a bound");
        let exact = counts.adding_up("counts", 0..3, 9.0..=9.0);
        assert!(exact.counts_nodes(&[2.0, 3.0, 4.0]) && !exact.counts_nodes(&[]));
    }

    #[test]
    fn a_claim_is_the_largest_number_that_wins_influence() {
        let form = Form::message().with(Part::new("moment", 1, 0.0..=99.0));
        let sent = [50.0, 1.0, 3.0];
        assert_eq!(form.claim(&sent), None);
        let form = form.with(Part::new("loss", 2, 0.0..=9.0).bounded_by_others(0.7));
        assert_eq!(form.claim(&sent), Some(ClaimedNumber { what: "loss", usual: 0.7, found: 3.0 }));
        assert_eq!(form.claim(&[]), None);
    }

    #[test]
    fn entries_out_of_order_or_in_excess_are_refused() {
        let form = Form::message().entries(3, 10);
        let sent = |places: &[u32]| Message {
            entries: places.iter().map(|&p| (p, 1.0)).collect(),
            ..Message::default()
        };
        assert_eq!(
            [misfit(&form, false, &sent(&[])), misfit(&form, false, &sent(&[0, 5, 9]))],
            [None, None]
        );
        assert_eq!(misfit(&form, false, &sent(&[0, 1, 2, 3])), expected("at most 3 entries", "4"));
        let wanted = "entries at increasing places below 10";
        assert_eq!(misfit(&form, false, &sent(&[0, 10])), expected(wanted, "place 10"));
        assert_eq!(misfit(&form, false, &sent(&[4, 4])), expected(wanted, "places out of order"));
        assert_eq!(misfit(&form, false, &sent(&[4, 3])), expected(wanted, "places out of order"));
        assert_eq!(
            misfit(&Form::message(), false, &sent(&[0])),
            expected("at most 0 entries", "1")
        );
    }
}
