//! The claims of the paper, and whether the measurements support them.
//!
//! A claim is about one or more cases, usually datasets. For each case there is one number per
//! seed, and the claim says on which side of a bound it lies. It *holds* on a case if the 95 %
//! bootstrap interval of the mean lies wholly on that side, *fails* if it lies wholly on the other,
//! and is *unclear* otherwise; with a single number per case there is no interval, and the number
//! decides. A claim *holds* if it holds on every case, *depends* if it holds on some, *does not
//! hold* if it holds on none and fails on some, and is *unclear* if it is so on every case. Where
//! the paper gives no bound ("stable", "often"), ours is part of the wording.
//!
//! The words are no surer than [`Certainty`] allows ([`Verdict::word`]): the word is *holds* or
//! *does not hold* only where the signed-rank test agrees with the intervals. Where it does not,
//! the claim *leans* to it; where there are too few numbers to test, it is *untested*.

mod aggregation;
mod gradients;
mod messages;
mod performance;
mod robustness;

use crate::{Results, Row};
use boostfgl_fairness::mean;
use boostfgl_fairness::statistics::{Certainty, Interval, holm, mean_interval, signed_rank};
use serde::Serialize;

/// A statement of the paper that an experiment can measure.
pub struct Claim {
    /// The experiment that measures it.
    pub experiment: &'static str,
    /// What is claimed, with the bound.
    pub text: &'static str,
    /// The section, figure or table of the paper that states it.
    pub paper: &'static str,
    /// On which side of which bound the numbers are claimed to lie.
    pub bound: Bound,
    /// The numbers, case by case.
    measure: fn(&Results) -> Vec<Case>,
}

/// A side of a number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// Larger than it.
    Above(f64),
    /// Smaller than it.
    Below(f64),
}

/// The numbers of one case, one per seed.
pub struct Case {
    /// Its name, usually a dataset.
    pub name: String,
    /// The numbers.
    pub numbers: Vec<f64>,
}

/// What was found on one case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// Its name.
    pub case: String,
    /// The mean of its numbers.
    pub mean: f64,
    /// Its 95 % bootstrap interval; `None` for a single number.
    pub interval: Option<Interval>,
    /// How many numbers there are.
    pub seeds: usize,
    /// What follows.
    pub ruling: Side,
    /// How sure that is: ahead means that numbers lie on the claimed side. Adjusted for the other
    /// cases of the claim.
    pub certainty: Certainty,
}

/// Where the numbers of a case lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// As claimed.
    Holds,
    /// On the other side.
    Fails,
    /// The interval has the bound in it.
    Unclear,
}

impl Side {
    /// One sign for tables.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Holds => "✓",
            Self::Fails => "✗",
            Self::Unclear => "?",
        }
    }

    /// The number of cases on this side.
    pub(crate) fn count(self, evidence: &[Evidence]) -> usize {
        evidence.iter().filter(|case| case.ruling == self).count()
    }
}

/// What becomes of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ruling {
    /// On every case.
    Holds,
    /// On some.
    Depends,
    /// On none, and the opposite on some.
    DoesNotHold,
    /// Nowhere one way or the other.
    Unclear,
}

impl Ruling {
    /// In words, no surer than the evidence is.
    fn word(self, evidence: &[Evidence]) -> &'static str {
        let mut holding = certainties(evidence, Side::Holds);
        let mut failing = certainties(evidence, Side::Fails);
        match self {
            Self::Holds if holding.clone().all(Certainty::is_shown) => "holds",
            Self::Holds if holding.any(|found| found == Certainty::TooFew) => "untested, yes",
            Self::Holds => "leans to hold",
            Self::Depends => "depends",
            // The claim holds on no case, so one case on which it is shown to fail is enough.
            Self::DoesNotHold if failing.clone().any(Certainty::is_shown) => "does not hold",
            Self::DoesNotHold if failing.all(|found| found == Certainty::TooFew) => "untested, no",
            Self::DoesNotHold => "leans against",
            Self::Unclear => "unclear",
        }
    }
}

/// How sure each of the cases is that lies on this side.
fn certainties(evidence: &[Evidence], side: Side) -> impl Iterator<Item = Certainty> + Clone {
    evidence.iter().filter(move |case| case.ruling == side).map(|case| case.certainty)
}

/// A claim and what was found.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// The experiment.
    pub experiment: &'static str,
    /// What is claimed.
    pub claim: &'static str,
    /// The section, figure or table of the paper that states it.
    pub paper: &'static str,
    /// What follows.
    pub ruling: Ruling,
    /// The word for it, which is no surer than interval and test together allow.
    pub word: &'static str,
    /// Case by case.
    pub evidence: Vec<Evidence>,
}

/// Every claim, in the order of the paper.
pub fn all() -> impl Iterator<Item = &'static Claim> {
    [
        performance::CLAIMS,
        gradients::CLAIMS,
        messages::CLAIMS,
        aggregation::CLAIMS,
        robustness::CLAIMS,
    ]
    .into_iter()
    .flatten()
}

/// The verdicts on all claims that these results can measure.
pub fn verdicts(results: &[Results]) -> Vec<Verdict> {
    all()
        .filter_map(|claim| {
            let measured = results.iter().find(|results| results.name == claim.experiment)?;
            claim.evaluate(measured)
        })
        .collect()
}

impl Claim {
    /// The verdict; `None` without any case.
    pub fn evaluate(&self, results: &Results) -> Option<Verdict> {
        let cases = (self.measure)(results);
        let margins: Vec<Vec<f64>> = cases
            .iter()
            .map(|case| case.numbers.iter().map(|number| self.bound.margin(*number)).collect())
            .collect();
        let p: Vec<Option<f64>> =
            margins.iter().map(|margins| signed_rank(margins).map(|test| test.p)).collect();
        // The cases of a claim are one family of tests.
        let tested = cases.iter().zip(margins.iter().zip(holm(&p)));
        let evidence: Vec<Evidence> = tested
            .filter_map(|(case, (margins, p))| self.bound.weigh(case, Certainty::of(margins, p)))
            .collect();
        let ruling = match (Side::Holds.count(&evidence), Side::Fails.count(&evidence)) {
            _ if evidence.is_empty() => return None,
            (0, 0) => Ruling::Unclear,
            (0, _) => Ruling::DoesNotHold,
            (all, _) if all == evidence.len() => Ruling::Holds,
            _ => Ruling::Depends,
        };
        let (experiment, claim, paper, word) =
            (self.experiment, self.text, self.paper, ruling.word(&evidence));
        Some(Verdict { experiment, claim, paper, ruling, word, evidence })
    }
}

impl Bound {
    /// The distance of a number from the bound, positive on the claimed side.
    fn margin(self, number: f64) -> f64 {
        match self {
            Self::Above(bound) => number - bound,
            Self::Below(bound) => bound - number,
        }
    }

    /// The side on which the interval of a case lies; `None` without numbers.
    fn weigh(self, case: &Case, certainty: Certainty) -> Option<Evidence> {
        let middle = mean(&case.numbers)?;
        let interval = mean_interval(&case.numbers);
        let Interval { lo, hi } = interval.unwrap_or(Interval { lo: middle, hi: middle });
        let ruling = match self {
            Self::Above(bound) if lo > bound => Side::Holds,
            Self::Below(bound) if hi < bound => Side::Holds,
            Self::Above(bound) if hi < bound => Side::Fails,
            Self::Below(bound) if lo > bound => Side::Fails,
            _ => Side::Unclear,
        };
        Some(Evidence {
            case: case.name.clone(),
            mean: middle,
            interval,
            seeds: case.numbers.len(),
            ruling,
            certainty,
        })
    }
}

/// The number `column` of a method, seed by seed, on each dataset.
fn of_method(results: &Results, method: &str, column: &str) -> Vec<Case> {
    by_dataset(results, |dataset| {
        rows_on(results, method, dataset).filter_map(|row| results.value(row, column)).collect()
    })
}

/// `column` of a method minus `base_column` of a base, paired by seed, on each dataset.
fn differences(
    results: &Results,
    (method, column): (&str, &str),
    (base, base_column): (&str, &str),
) -> Vec<Case> {
    by_dataset(results, |dataset| {
        rows_on(results, method, dataset)
            .filter_map(|row| {
                let other = counterpart(results, row, base)?;
                Some(results.value(row, column)? - results.value(other, base_column)?)
            })
            .collect()
    })
}

/// The row of another method on the same dataset, under the same seed and variant.
fn counterpart<'a>(results: &'a Results, row: &Row, method: &'a str) -> Option<&'a Row> {
    results.of_method(method).find(|other| {
        other.dataset == row.dataset && other.seed == row.seed && other.varied == row.varied
    })
}

/// One case for each dataset on which there are `numbers`.
fn by_dataset(results: &Results, numbers: impl Fn(&str) -> Vec<f64>) -> Vec<Case> {
    let datasets = results.distinct(|row| row.dataset.clone()).into_iter();
    nonempty(datasets.map(|name| Case { numbers: numbers(&name), name }))
}

/// The rows of a method on a dataset, in order.
fn rows_on<'a>(
    results: &'a Results,
    method: &'a str,
    dataset: &'a str,
) -> impl Iterator<Item = &'a Row> {
    results.of_method(method).filter(move |row| row.dataset == dataset)
}

/// The number `column` of a method on a dataset under a seed.
fn value(results: &Results, method: &str, dataset: &str, seed: u64, column: &str) -> Option<f64> {
    let row = rows_on(results, method, dataset).find(|row| row.seed == seed)?;
    results.value(row, column)
}

/// The cases that have numbers.
fn nonempty(cases: impl Iterator<Item = Case>) -> Vec<Case> {
    cases.filter(|case| !case.numbers.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NAMES, Origin};

    fn results(name: &str, rows: &[(&str, &str, u64, f64)]) -> Results {
        let row = |&(dataset, method, seed, value): &(&str, &str, u64, f64)| Row {
            dataset: dataset.into(),
            method: method.into(),
            seed,
            values: vec![Some(value)],
            ..Row::default()
        };
        Results {
            version: 1,
            name: name.into(),
            origin: Origin::default(),
            left_out: vec![],
            columns: vec!["x".into()],
            rows: rows.iter().map(row).collect(),
        }
    }

    fn claim(bound: Bound) -> Claim {
        let measure = |results: &Results| of_method(results, "fedavg", "x");
        Claim { experiment: "e", text: "t", paper: "p", bound, measure }
    }

    #[test]
    fn a_claim_holds_on_all_some_or_no_cases() {
        let one = |value| results("e", &[("a", "fedavg", 0, value), ("b", "fedavg", 0, 2.0)]);
        let ruling = |bound, value| claim(bound).evaluate(&one(value)).unwrap().ruling;
        assert_eq!(ruling(Bound::Above(1.0), 1.5), Ruling::Holds);
        assert_eq!(ruling(Bound::Above(1.0), 0.5), Ruling::Depends);
        assert_eq!(ruling(Bound::Below(1.0), 1.5), Ruling::DoesNotHold);
        assert!(claim(Bound::Above(0.0)).evaluate(&results("e", &[])).is_none());
    }

    #[test]
    fn a_verdict_is_no_surer_than_interval_and_test_together() {
        let word = |seeds: u64, bound: Bound| {
            let rows: Vec<_> =
                (0..seeds).map(|seed| ("a", "fedavg", seed, 2.0 + 0.1 * seed as f64)).collect();
            claim(bound).evaluate(&results("e", &rows)).unwrap().word
        };
        for (seeds, yes, no) in [
            (1, "untested, yes", "untested, no"),
            (4, "untested, yes", "untested, no"),
            (5, "leans to hold", "leans against"),
            (6, "holds", "does not hold"),
        ] {
            assert_eq!(
                (word(seeds, Bound::Above(1.0)), word(seeds, Bound::Below(1.0))),
                (yes, no),
                "{seeds} seeds"
            );
        }
        assert_eq!(word(9, Bound::Above(2.4)), "unclear");
        // Two cases are two tests: with six seeds each, the smallest p is then 0.0625.
        let two: Vec<_> = (0..6)
            .flat_map(|s| ["a", "b"].map(|name| (name, "fedavg", s, 2.0 + 0.1 * s as f64)))
            .collect();
        assert_eq!(
            claim(Bound::Above(1.0)).evaluate(&results("e", &two)).unwrap().word,
            "leans to hold"
        );
    }

    #[test]
    fn an_interval_around_the_bound_decides_nothing() {
        let spread = results(
            "e",
            &[("a", "fedavg", 0, -1.0), ("a", "fedavg", 1, 1.2), ("a", "fedavg", 2, 0.1)],
        );
        let verdict = claim(Bound::Above(0.0)).evaluate(&spread).unwrap();
        assert_eq!((verdict.evidence[0].ruling, verdict.ruling), (Side::Unclear, Ruling::Unclear));
        let tight = results(
            "e",
            &[("a", "fedavg", 0, -1.0), ("a", "fedavg", 1, -1.2), ("a", "fedavg", 2, -0.1)],
        );
        assert_eq!(
            claim(Bound::Above(0.0)).evaluate(&tight).unwrap().evidence[0].ruling,
            Side::Fails
        );
    }

    #[test]
    fn differences_are_paired_by_seed() {
        let rows = [
            ("a", "fedavg", 0, 1.0),
            ("a", "fedavg", 1, 5.0),
            ("a", "boostfgl", 1, 5.5),
            ("a", "boostfgl", 0, 1.25),
        ];
        let cases = differences(&results("e", &rows), ("boostfgl", "x"), ("fedavg", "x"));
        assert_eq!(cases.len(), 1);
        assert_eq!(cases[0].numbers, [0.5, 0.25]);
    }

    #[test]
    fn every_claim_has_an_experiment_and_accepts_empty_results() {
        for claim in all() {
            assert!(NAMES.contains(&claim.experiment), "{}", claim.text);
            assert!(claim.evaluate(&results(claim.experiment, &[])).is_none(), "{}", claim.text);
        }
    }
}
