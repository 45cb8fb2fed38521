//! The rule by which every table, report and document calls a difference shown, leaning or not
//! found.

use serde::{Deserialize, Serialize};

use super::{Interval, mean_interval, signed_rank, smallest_p};

/// The level of significance: a test agrees if its p is below it.
pub const LEVEL: f64 = 0.05;

/// With fewer pairs than this there is no outcome but [`Certainty::TooFew`]: the bootstrap interval
/// of three differences misses the mean in one of four cases.
pub const LEAST_PAIRS: usize = 5;

/// How sure it is from paired differences that a method differs from a base.
///
/// | pairs | 95 % interval | p (adjusted where several are tested) | word |
/// |---|---|---|---|
/// | fewer than [`LEAST_PAIRS`] | any | any | too few pairs |
/// | enough | without 0 | below [`LEVEL`], same direction | ahead, behind |
/// | enough | without 0 | [`LEVEL`] or above, or none | leans ahead, leans behind |
/// | enough | with 0 in it | any | no difference found |
///
/// Five pairs can lean and never be ahead, since the smallest p of the signed-rank test is then
/// 0.0625 ([`Limit`]).
///
/// ```
/// use boostfgl_fairness::statistics::{Certainty, Interval};
///
/// let above = Some(Interval { lo: 0.2, hi: 1.4 });
/// assert_eq!(Certainty::assess(8, above, Some(0.008)).word(), "ahead");
/// assert_eq!(Certainty::assess(5, above, Some(0.0625)).word(), "leans ahead");
/// assert_eq!(Certainty::assess(3, above, Some(0.25)).word(), "too few pairs");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// Interval and test agree that the method has more.
    Ahead,
    /// The interval lies above 0; the test does not agree, or there is none.
    LeansAhead,
    /// Interval and test agree that the method has less.
    Behind,
    /// The interval lies below 0; the test does not agree, or there is none.
    LeansBehind,
    /// The interval has 0 in it.
    NoDifference,
    /// There are too few pairs for any of this.
    TooFew,
}

impl Certainty {
    /// Every outcome, in the order in which sentences list them.
    pub const ALL: [Self; 6] = [
        Self::Ahead,
        Self::LeansAhead,
        Self::Behind,
        Self::LeansBehind,
        Self::NoDifference,
        Self::TooFew,
    ];

    /// The outcome for paired `differences`. `p` is that of their signed-rank test, adjusted where
    /// several methods are tested; a test that points the other way than the interval does not
    /// agree with it, however small p is.
    pub fn of(differences: &[f64], p: Option<f64>) -> Self {
        let interval = mean_interval(differences);
        let upwards = interval.is_some_and(|interval| interval.lo > 0.0);
        let agrees =
            signed_rank(differences).is_some_and(|test| (test.positive > test.negative) == upwards);
        Self::assess(differences.len(), interval, p.filter(|_| agrees))
    }

    /// The outcome for a number of pairs, the 95 % interval of the mean of their differences, and
    /// p.
    pub fn assess(pairs: usize, interval: Option<Interval>, p: Option<f64>) -> Self {
        let tested = p.is_some_and(|p| p < LEVEL);
        match interval {
            _ if pairs < LEAST_PAIRS => Self::TooFew,
            Some(interval) if interval.lo > 0.0 && tested => Self::Ahead,
            Some(interval) if interval.lo > 0.0 => Self::LeansAhead,
            Some(interval) if interval.hi < 0.0 && tested => Self::Behind,
            Some(interval) if interval.hi < 0.0 => Self::LeansBehind,
            _ => Self::NoDifference,
        }
    }

    /// The word for it, the same everywhere.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ahead => "ahead",
            Self::LeansAhead => "leans ahead",
            Self::Behind => "behind",
            Self::LeansBehind => "leans behind",
            Self::NoDifference => "no difference found",
            Self::TooFew => "too few pairs",
        }
    }

    /// Whether interval and test agree on a difference.
    pub fn is_shown(self) -> bool {
        matches!(self, Self::Ahead | Self::Behind)
    }
}

/// The smallest p that a number of pairs can reach in a family of tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The number of pairs.
    pub pairs: usize,
    /// The number of methods that are tested against the base.
    pub tests: usize,
}

impl Limit {
    /// The smallest p that is possible after Holm's adjustment.
    pub fn smallest_p(self) -> f64 {
        (self.tests.max(1) as f64 * smallest_p(self.pairs)).min(1.0)
    }

    /// A sentence that no difference can be shown, if none can; `unit` is what a pair is, such as
    /// `seed`.
    ///
    /// ```
    /// use boostfgl_fairness::statistics::Limit;
    ///
    /// let five = Limit { pairs: 5, tests: 1 }.sentence("seed").unwrap();
    /// assert_eq!(five, "Five seeds cannot show a difference: the smallest p they allow is 0.062.");
    /// assert_eq!(Limit { pairs: 6, tests: 1 }.sentence("seed"), None);
    /// ```
    pub fn sentence(self, unit: &str) -> Option<String> {
        if self.smallest_p() < LEVEL {
            return None;
        }
        let (ending, they) = if self.pairs == 1 { ("", "it allows") } else { ("s", "they allow") };
        let alone = format!("the smallest p {they} is {}", three_decimals(smallest_p(self.pairs)));
        let adjusted = match self.tests {
            0 | 1 => String::new(),
            tests => format!(
                ", and {} after Holm's adjustment over {tests} tests",
                three_decimals(self.smallest_p())
            ),
        };
        Some(format!(
            "{} {unit}{ending} cannot show a difference: {alone}{adjusted}.",
            capital(self.pairs)
        ))
    }
}

/// p with at most three decimals, without trailing zeros.
fn three_decimals(p: f64) -> String {
    format!("{p:.3}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A number at the start of a sentence.
fn capital(number: usize) -> String {
    const WORDS: [&str; 13] = [
        "No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten",
        "Eleven", "Twelve",
    ];
    WORDS.get(number).map_or_else(|| number.to_string(), |word| (*word).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(pairs: usize, [lo, hi]: [f64; 2], p: f64) -> &'static str {
        Certainty::assess(pairs, Some(Interval { lo, hi }), Some(p)).word()
    }

    #[test]
    fn a_word_is_as_sure_as_interval_and_test_together() {
        let (above, below, around) = ([0.1, 2.0], [-2.0, -0.1], [-0.1, 2.0]);
        for (pairs, interval, p, expected) in [
            (8, above, 0.008, "ahead"),
            (8, below, 0.049, "behind"),
            // The test does not agree: p is at the level, or above.
            (8, above, 0.05, "leans ahead"),
            (8, below, 0.25, "leans behind"),
            (10, above, 1.0, "leans ahead"),
            // The interval does not agree.
            (10, around, 0.01, "no difference found"),
            (10, [0.0, 2.0], 0.01, "no difference found"),
            (10, [-2.0, 0.0], 0.01, "no difference found"),
            (10, around, 0.6, "no difference found"),
            // Six pairs are the fewest that can show a difference, five the fewest that can lean.
            (6, above, 0.03125, "ahead"),
            (5, above, 0.0625, "leans ahead"),
            (5, below, 0.0625, "leans behind"),
            (5, around, 0.3, "no difference found"),
            (4, above, 0.125, "too few pairs"),
            (3, above, 0.25, "too few pairs"),
            (2, around, 1.0, "too few pairs"),
        ] {
            assert_eq!(word(pairs, interval, p), expected, "{pairs} pairs, {interval:?}, p {p}");
        }
        assert_eq!(Certainty::assess(9, None, None), Certainty::NoDifference);
        assert_eq!(Certainty::assess(1, None, None), Certainty::TooFew);
        assert_eq!(
            Certainty::assess(9, Some(Interval { lo: 1.0, hi: 2.0 }), None),
            Certainty::LeansAhead
        );
    }

    #[test]
    fn differences_are_assessed_by_their_own_interval_and_test() {
        let assess = |differences: &[f64]| {
            Certainty::of(differences, signed_rank(differences).map(|test| test.p))
        };
        assert_eq!(assess(&[0.4, 1.0, 0.1, 0.7, 0.2]), Certainty::LeansAhead);
        assert_eq!(assess(&[0.4, 1.0, 0.1, 0.7, 0.2, 0.3]), Certainty::Ahead);
        assert_eq!(assess(&[-0.4, -1.0, -0.1, -0.7, -0.2, -0.3]), Certainty::Behind);
        assert_eq!(assess(&[0.4, -1.0, 0.1, -0.7, 0.2, 0.3]), Certainty::NoDifference);
        assert_eq!(assess(&[0.0; 9]), Certainty::NoDifference);
        assert_eq!(assess(&[]), Certainty::TooFew);
        // Adjusted for eight tests, six wins of six are a leaning.
        assert_eq!(
            Certainty::of(&[0.4, 1.0, 0.1, 0.7, 0.2, 0.3], Some(0.25)),
            Certainty::LeansAhead
        );
    }

    /// 4 large gains and 26 small losses: the mean is above 0, the ranks are significantly below.
    #[test]
    fn a_test_that_points_the_other_way_does_not_agree() {
        let differences: Vec<f64> = (0..30)
            .map(|i| if i < 4 { 1000.0 + f64::from(i) } else { -f64::from(i) / 100.0 })
            .collect();
        let test = signed_rank(&differences).unwrap();
        assert!(test.p < LEVEL && test.negative > test.positive, "{test:?}");
        assert!(mean_interval(&differences).unwrap().lo > 0.0);
        assert_eq!(Certainty::of(&differences, Some(test.p)), Certainty::LeansAhead);
    }

    #[test]
    fn too_few_pairs_for_any_difference_give_a_sentence() {
        let sentence = |pairs, tests| Limit { pairs, tests }.sentence("pair");
        assert_eq!(
            sentence(1, 1).unwrap(),
            "One pair cannot show a difference: the smallest p it allows is 1."
        );
        assert_eq!(
            sentence(6, 8).unwrap(),
            "Six pairs cannot show a difference: the smallest p they allow is 0.031, and 0.25 \
             after Holm's adjustment over 8 tests."
        );
        assert_eq!((sentence(6, 1), sentence(9, 8)), (None, None));
        assert!(sentence(5, 0).is_some());
    }
}
