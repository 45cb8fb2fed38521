//! How far the rates of groups are apart.

use serde::{Deserialize, Serialize};

use super::{GroupRates, Share};

/// The largest and the smallest rate of several groups.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Disparity {
    /// Largest − smallest; `None` for fewer than two groups, since one has nothing to differ from.
    pub difference: Option<f64>,
    /// Smallest / largest; `None` also if the largest is 0.
    pub ratio: Option<f64>,
    /// The group with the smallest rate, the first of equals.
    pub lowest: Option<String>,
    /// The group with the largest rate, the first of equals.
    pub highest: Option<String>,
}

/// Equalised odds: both error rates at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EqualisedOdds {
    /// The larger of the differences of true and false positive rates; `None` if one is not known.
    pub difference: Option<f64>,
    /// The smaller of their ratios; `None` if one is not known.
    pub ratio: Option<f64>,
}

/// A group that does not enter a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The group.
    pub group: String,
    /// The rate that it is left out of.
    pub rate: String,
    /// Why, such as `no positive test node`.
    pub reason: String,
}

/// How unequally the groups of an attribute are treated.
///
/// With `min_group` 0 these are Fairlearn's `demographic_parity_difference`, `…_ratio`,
/// `equalized_odds_difference` and `…_ratio` with their defaults (`between_groups`, `worst_case`),
/// with one departure: a group that counts no node for a rate is left out of that rate, with the
/// reason, where Fairlearn takes its rate to be 0.
///
/// ```
/// use boostfgl_fairness::protected::{BinaryCounts, Disparities, GroupRates};
///
/// let group = |name: &str, counts: BinaryCounts| GroupRates::new(name, &counts, 0, None);
/// let a = BinaryCounts { true_positives: 2, true_negatives: 2, ..BinaryCounts::default() };
/// let b = BinaryCounts { false_negatives: 1, false_positives: 1, true_negatives: 3, ..a };
/// let found = Disparities::new(&[group("a", a), group("b", b)], 0);
/// assert_eq!(found.demographic_parity.difference, Some(0.5 - 3.0 / 7.0));
/// assert_eq!(found.equalised_odds.difference, Some(1.0 - 2.0 / 3.0));
///
/// let none = BinaryCounts { true_negatives: 5, ..BinaryCounts::default() };
/// let found = Disparities::new(&[group("a", a), group("c", none)], 0);
/// assert_eq!(found.equalised_odds.difference, None);
/// assert_eq!(found.left_out[0].reason, "no positive test node");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Disparities {
    /// Of the selection rate.
    pub demographic_parity: Disparity,
    /// Of the true positive rate, also called equal opportunity.
    pub true_positive_rate: Disparity,
    /// Of the false positive rate.
    pub false_positive_rate: Disparity,
    /// Of both.
    pub equalised_odds: EqualisedOdds,
    /// The groups that are not compared, with the reason; left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

/// A rate that is compared: its name, the nodes it counts in words, and its value.
type Compared = (&'static str, &'static str, fn(&GroupRates) -> Share);

/// The compared rates.
const COMPARED: [Compared; 3] = [
    ("selection_rate", "", |group| group.selection_rate),
    ("true_positive_rate", "positive ", |group| group.true_positive_rate),
    ("false_positive_rate", "negative ", |group| group.false_positive_rate),
];

impl Disparity {
    /// The disparity of groups with these rates.
    pub fn of<'a>(rates: impl IntoIterator<Item = (&'a str, f64)>) -> Self {
        let rates: Vec<(&str, f64)> = rates.into_iter().collect();
        if rates.len() < 2 {
            return Self::default();
        }
        let lowest = rates.iter().copied().reduce(|a, b| if b.1 < a.1 { b } else { a });
        let highest = rates.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a });
        let (Some(lowest), Some(highest)) = (lowest, highest) else { return Self::default() };
        Self {
            difference: Some(highest.1 - lowest.1),
            ratio: (highest.1 > 0.0).then(|| lowest.1 / highest.1),
            lowest: Some(lowest.0.to_owned()),
            highest: Some(highest.0.to_owned()),
        }
    }
}

impl Disparities {
    /// The disparities of these groups. A group that counts fewer than `min_group` nodes for a
    /// rate, or none, is left out of it.
    pub fn new(groups: &[GroupRates], min_group: u64) -> Self {
        let mut left_out = Vec::new();
        let [demographic_parity, true_positive_rate, false_positive_rate] =
            COMPARED.map(|compared| disparity(groups, compared, min_group, &mut left_out));
        let odds = [&true_positive_rate, &false_positive_rate];
        let differences = odds[0].difference.zip(odds[1].difference);
        let ratios = odds[0].ratio.zip(odds[1].ratio);
        Self {
            equalised_odds: EqualisedOdds {
                difference: differences.map(|(a, b)| a.max(b)),
                ratio: ratios.map(|(a, b)| a.min(b)),
            },
            demographic_parity,
            true_positive_rate,
            false_positive_rate,
            left_out,
        }
    }
}

/// The disparity of one rate; groups that are not compared are added to `left_out`.
fn disparity(
    groups: &[GroupRates],
    (name, counted, rate): Compared,
    min_group: u64,
    left_out: &mut Vec<LeftOut>,
) -> Disparity {
    let mut rates = Vec::with_capacity(groups.len());
    for group in groups {
        let Share { value, cases, .. } = rate(group);
        match value {
            Some(value) if cases >= min_group => rates.push((group.group.as_str(), value)),
            _ => left_out.push(LeftOut {
                group: group.group.clone(),
                rate: name.to_owned(),
                reason: reason(cases, counted, min_group),
            }),
        }
    }
    Disparity::of(rates)
}

/// Why a group with this number of counted nodes is not compared.
fn reason(cases: u64, counted: &str, min_group: u64) -> String {
    match cases {
        0 => format!("no {counted}test node"),
        1 => format!("1 {counted}test node, fewer than {min_group}"),
        more => format!("{more} {counted}test nodes, fewer than {min_group}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protected::BinaryCounts;

    fn group(name: &str, counts: BinaryCounts) -> GroupRates {
        GroupRates::new(name, &counts, 0, None)
    }

    #[test]
    fn small_groups_are_left_out_of_the_rates_they_are_small_for() {
        let large = BinaryCounts { true_positives: 10, true_negatives: 10, ..Default::default() };
        let few = BinaryCounts { true_positives: 1, true_negatives: 10, ..Default::default() };
        let found = Disparities::new(&[group("a", large), group("b", few)], 10);
        assert_eq!(found.demographic_parity.lowest.as_deref(), Some("b"));
        assert_eq!(found.false_positive_rate.difference, Some(0.0));
        assert_eq!(found.false_positive_rate.ratio, None, "no group has a false positive");
        assert_eq!(found.true_positive_rate, Disparity::default());
        assert_eq!(found.equalised_odds, EqualisedOdds::default());
        let reasons: Vec<_> = found.left_out.iter().map(|out| (&*out.rate, &*out.reason)).collect();
        assert_eq!(reasons, [("true_positive_rate", "1 positive test node, fewer than 10")]);
    }

    #[test]
    fn one_group_differs_from_none() {
        assert_eq!(Disparity::of([("a", 0.5)]), Disparity::default());
        assert_eq!(Disparities::new(&[], 0), Disparities::default());
        let equal = Disparity::of([("a", 0.5), ("b", 0.5)]);
        assert_eq!((equal.difference, equal.ratio), (Some(0.0), Some(1.0)));
        assert_eq!((equal.lowest, equal.highest), (Some("a".into()), Some("a".into())));
    }
}
