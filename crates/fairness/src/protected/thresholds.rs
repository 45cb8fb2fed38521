//! Thresholds by group: a post-processing step that makes groups more equal, and its cost.
//!
//! The model selects a node if the positive class is its most probable one. Here every group gets a
//! threshold of its own instead: a node is selected if the probability of the positive class is at
//! least the threshold. Thresholds are chosen on validation nodes and evaluated on test nodes. All
//! groups aim at one rate, that of the model on all validation nodes together, so that about as many
//! nodes are selected as before.

use serde::{Deserialize, Serialize};

use super::audit::Audit;
use super::grouped::{Evaluated, Grouped, Scores};
use super::{Disparities, Share};
use crate::Result;
use crate::frame::Division;

/// A threshold that selects no node: probabilities end at 1.
pub const NEVER: f64 = 2.0;

/// What thresholds make equal between groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThresholdRule {
    /// There are none: the most probable class is predicted.
    #[default]
    None,
    /// The selection rate: demographic parity.
    EqualSelection,
    /// The true positive rate: equal opportunity (Hardt and others 2016).
    EqualOpportunity,
}

/// Thresholds of the groups of an attribute, and what they change on test nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThresholdScores {
    /// What is made equal.
    pub rule: ThresholdRule,
    /// The rate that all groups aim at; `None` if no validation node counts for it.
    pub target: Option<f64>,
    /// The threshold of each group.
    pub groups: Vec<GroupThreshold>,
    /// The model as it is.
    pub before: Treatment,
    /// The same with the thresholds.
    pub after: Treatment,
}

/// The threshold of one group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupThreshold {
    /// The group.
    pub group: String,
    /// The least probability of a selected node; 2 selects none. `None` if predictions stay as
    /// they are.
    pub threshold: Option<f64>,
    /// The rate that it gives on the validation nodes of the group.
    pub validation_rate: Option<f64>,
    /// Why predictions stay as they are; left out if there is a threshold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How all test nodes are treated, and how unequally groups are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Treatment {
    /// Nodes predicted right, over all classes.
    pub accuracy: Share,
    /// Selected nodes, of all.
    pub selection_rate: Share,
    /// Selected positive nodes, of all positive ones.
    pub true_positive_rate: Share,
    /// Positive nodes, of the selected ones.
    pub precision: Share,
    /// The demographic-parity difference.
    pub demographic_parity_difference: Option<f64>,
    /// The difference of true positive rates.
    pub true_positive_rate_difference: Option<f64>,
    /// The equalised-odds difference.
    pub equalised_odds_difference: Option<f64>,
}

impl ThresholdRule {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::EqualSelection => "equal-selection",
            Self::EqualOpportunity => "equal-opportunity",
        }
    }

    /// Whether a node of this kind counts for the rate that is made equal.
    fn counts(self, is_positive: bool) -> bool {
        self == Self::EqualSelection || is_positive
    }

    /// The nodes it counts, in words.
    fn counted(self) -> &'static str {
        if self == Self::EqualOpportunity { "positive validation node" } else { "validation node" }
    }
}

/// The highest threshold whose selection of `scores` comes nearest to the share `target`, and that
/// share. `None` without a score.
///
/// ```
/// use boostfgl_fairness::protected::thresholds::{NEVER, choose};
///
/// let scores = [0.9, 0.6, 0.6, 0.2];
/// assert_eq!(choose(&scores, 0.3), Some((0.9, 0.25)));
/// assert_eq!(choose(&scores, 0.6), Some((0.6, 0.75)));
/// assert_eq!(choose(&scores, 0.0), Some((NEVER, 0.0)));
/// assert_eq!(choose(&[], 0.5), None);
/// ```
pub fn choose(scores: &[f64], target: f64) -> Option<(f64, f64)> {
    let mut sorted = scores.to_vec();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let n = sorted.len() as f64;
    let (mut best, mut selected) = ((NEVER, 0.0), 0);
    for tied in sorted.chunk_by(|a, b| a == b) {
        selected += tied.len();
        let rate = selected as f64 / n;
        if (rate - target).abs() < (best.1 - target).abs() {
            best = (tied[0], rate);
        }
    }
    (!scores.is_empty()).then_some(best)
}

/// Where thresholds are chosen and evaluated.
pub(super) struct Place<'a> {
    pub(super) audit: &'a Audit<'a>,
    pub(super) division: &'a Division,
    pub(super) scores: Scores<'a>,
    /// The positive class.
    pub(super) class: usize,
}

impl Place<'_> {
    /// Chooses thresholds, and evaluates them on all test nodes.
    pub(super) fn evaluate(&self, all: &Grouped) -> Result<ThresholdScores> {
        let rule = self.audit.rule;
        let groups = self.audit.grouped(self.division, self.validation())?;
        let by_group: Vec<Vec<Evaluated>> =
            groups.iter().map(|group| self.counted(group)).collect();
        let nodes = by_group.iter().flatten();
        let selected = nodes.clone().filter(|(.., predicted)| self.is(*predicted)).count() as u64;
        let target = Share::new((selected, nodes.count() as u64)).value;
        let thresholds: Vec<GroupThreshold> = groups
            .iter()
            .zip(&by_group)
            .map(|(group, nodes)| self.threshold(&group.name, nodes, target))
            .collect();
        let treated: Vec<Evaluated> =
            all.nodes.iter().map(|node| self.treated(*node, &thresholds)).collect();
        let after = Grouped::new(all.name.clone(), treated, self.audit.facts.truth.classes())?;
        Ok(ThresholdScores {
            rule,
            target,
            groups: thresholds,
            before: self.treatment(all)?,
            after: self.treatment(&after)?,
        })
    }

    /// The nodes of a group that count for the rate that is made equal.
    fn counted(&self, group: &Grouped) -> Vec<Evaluated> {
        let nodes = group.nodes.iter().copied();
        nodes.filter(|(_, truth, _)| self.audit.rule.counts(self.is(*truth))).collect()
    }

    fn is(&self, class: u32) -> bool {
        class as usize == self.class
    }

    /// The validation nodes that have a label.
    fn validation(&self) -> impl Iterator<Item = Evaluated> + '_ {
        let facts = &self.audit.facts;
        self.audit.validation.iter().filter_map(|&node| {
            let v = node as usize;
            Some((node, facts.truth.get(v)?, facts.prediction[v]))
        })
    }

    /// The threshold of a group with these counted validation nodes.
    fn threshold(&self, group: &str, nodes: &[Evaluated], target: Option<f64>) -> GroupThreshold {
        let (least, counted) = (self.audit.min_group, self.audit.rule.counted());
        let scores: Vec<f64> =
            nodes.iter().map(|(node, ..)| self.scores.of(*node, self.class)).collect();
        let chosen = target.and_then(|target| choose(&scores, target));
        let chosen = chosen.filter(|_| nodes.len() as u64 >= least);
        let reason = match nodes.len() {
            _ if chosen.is_some() => None,
            0 => Some(format!("no {counted}")),
            1 => Some(format!("1 {counted}, fewer than {least}")),
            more => Some(format!("{more} {counted}s, fewer than {least}")),
        };
        GroupThreshold {
            group: group.to_owned(),
            threshold: chosen.map(|(threshold, _)| threshold),
            validation_rate: chosen.map(|(_, rate)| rate),
            reason,
        }
    }

    /// A node with the prediction that the threshold of its group gives.
    fn treated(&self, node: Evaluated, thresholds: &[GroupThreshold]) -> Evaluated {
        let group = self.division.of_node[node.0 as usize];
        let threshold = group.and_then(|group| thresholds[group as usize].threshold);
        let Some(threshold) = threshold else { return node };
        let prediction = if self.scores.of(node.0, self.class) >= threshold {
            self.class as u32
        } else {
            self.most_probable_other(node.0)
        };
        (node.0, node.1, prediction)
    }

    /// The most probable class but for the positive one, the first of equals.
    fn most_probable_other(&self, node: u32) -> u32 {
        let others = (0..).zip(self.scores.row(node)).filter(|(class, _)| !self.is(*class));
        let best = others.reduce(|a, b| if b.1 > a.1 { b } else { a });
        best.map_or(self.class as u32, |(class, _)| class)
    }

    /// How predictions treat all test nodes, and how unequally groups.
    fn treatment(&self, all: &Grouped) -> Result<Treatment> {
        let groups = self.audit.grouped(self.division, all.nodes.iter().copied())?;
        let found: Disparities = self.audit.disparities(&groups, self.class);
        let rates = all.rates(self.class, None);
        Ok(Treatment {
            accuracy: rates.accuracy,
            selection_rate: rates.selection_rate,
            true_positive_rate: rates.true_positive_rate,
            precision: rates.precision,
            demographic_parity_difference: found.demographic_parity.difference,
            true_positive_rate_difference: found.true_positive_rate.difference,
            equalised_odds_difference: found.equalised_odds.difference,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Facts;
    use boostfgl_graph::{GroupColumn, Labels};
    use proptest::prelude::*;

    /// Two groups whose scores have the same order, but in `b` all are half as large. Even nodes
    /// are for validation, odd ones for tests.
    fn halved(rule: ThresholdRule) -> ThresholdScores {
        let n = 80;
        let group: Vec<&str> = (0..n).map(|v| if v < n / 2 { "a" } else { "b" }).collect();
        let positive: Vec<f32> = (0..n)
            .map(|v| ((v % 40) as f32 + 0.5) / 40.0 / if v < n / 2 { 1.0 } else { 2.0 })
            .collect();
        let probabilities: Vec<f32> = positive.iter().flat_map(|p| [1.0 - p, *p]).collect();
        let labels: Vec<i64> = (0..n).map(|v| i64::from(v % 40 >= 20)).collect();
        let truth = Labels::from_integers(&labels, 2).unwrap();
        let prediction: Vec<u32> = positive.iter().map(|p| u32::from(*p > 0.5)).collect();
        let (test, validation): (Vec<u32>, Vec<u32>) = (0..n as u32).partition(|v| v % 2 == 1);
        let columns = [GroupColumn::from_texts("g", &group)];
        let facts = Facts {
            truth: &truth,
            prediction: &prediction,
            nodes: &test,
            client: &vec![0; n],
            minority: &vec![None; n],
            heterophilous: &vec![false; n],
            homophily_unknown: &vec![false; n],
            degree: &vec![1; n],
            columns: &columns,
        };
        let audit = Audit {
            probabilities: Some(&probabilities),
            rule,
            validation: &validation,
            ..Audit::new(facts)
        };
        let found = audit.answer().unwrap();
        found.attributes[0].thresholds.clone().unwrap()
    }

    #[test]
    fn groups_get_thresholds_of_their_own_and_equal_rates() {
        let found = halved(ThresholdRule::EqualSelection);
        // Of a 10 of 20 validation nodes are selected, of b none: the target is 10 of 40.
        assert_eq!(found.target, Some(0.25));
        let thresholds: Vec<f64> = found.groups.iter().map(|g| g.threshold.unwrap()).collect();
        assert_eq!(thresholds[0], 2.0 * thresholds[1]);
        assert_eq!(found.before.demographic_parity_difference, Some(0.5));
        assert_eq!(found.after.demographic_parity_difference, Some(0.0));
        assert_eq!(found.before.accuracy.value, Some(0.75));
        // Five right selections fewer of a, five more of b.
        assert_eq!(found.after.accuracy.value, Some(0.75));
        assert_eq!(found.after.true_positive_rate_difference, Some(0.0));
    }

    #[test]
    fn equal_opportunity_aims_at_the_recall_of_the_model() {
        let found = halved(ThresholdRule::EqualOpportunity);
        assert_eq!(found.target, Some(0.5));
        assert_eq!(found.before.true_positive_rate_difference, Some(1.0));
        assert_eq!(found.after.true_positive_rate_difference, Some(0.0));
        assert_eq!(found.after.true_positive_rate.value, Some(0.5));
    }

    proptest! {
        /// No threshold comes nearer to the target, and the rate is that of the threshold.
        #[test]
        fn the_nearest_rate_is_chosen(
            scores in proptest::collection::vec(0u8..10, 1..40), target in 0.0f64..=1.0,
        ) {
            let scores: Vec<f64> = scores.into_iter().map(|s| f64::from(s) / 9.0).collect();
            let rate = |threshold: f64| {
                scores.iter().filter(|s| **s >= threshold).count() as f64 / scores.len() as f64
            };
            let (threshold, found) = choose(&scores, target).unwrap();
            prop_assert_eq!(rate(threshold), found);
            for other in scores.iter().copied().chain([NEVER]) {
                prop_assert!((found - target).abs() <= (rate(other) - target).abs());
            }
        }
    }
}
