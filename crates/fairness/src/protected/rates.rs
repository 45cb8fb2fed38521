//! The rates of one group.

use serde::{Deserialize, Serialize};

use super::BinaryCounts;
use crate::scored::ScoreMetrics;
use crate::statistics::{Interval, wilson};

/// A share of counted nodes with its 95 % interval, as fractions of 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// The share; `None` if no node is counted.
    pub value: Option<f64>,
    /// Wilson's interval.
    pub interval: Option<Interval>,
    /// The nodes for which it holds.
    pub hits: u64,
    /// The nodes that are counted.
    pub cases: u64,
}

impl Share {
    /// The share of `hits` in `cases`.
    pub fn new((hits, cases): (u64, u64)) -> Self {
        let value = (cases > 0).then(|| hits as f64 / cases as f64);
        Self { value, interval: wilson(hits, cases), hits, cases }
    }
}

/// The test nodes of one group, with one class as the positive one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupRates {
    /// Its name, such as `sex=f`.
    pub group: String,
    /// Its test nodes.
    pub nodes: u64,
    /// Those of the positive class.
    pub positives: u64,
    /// Nodes predicted right, over all classes.
    pub accuracy: Share,
    /// Nodes predicted to be positive, of all.
    pub selection_rate: Share,
    /// Positive nodes predicted to be positive, of the positive ones: recall.
    pub true_positive_rate: Share,
    /// Negative nodes predicted to be positive, of the negative ones.
    pub false_positive_rate: Share,
    /// Positive nodes predicted to be negative, of the positive ones.
    pub false_negative_rate: Share,
    /// Positive nodes, of those predicted to be positive.
    pub precision: Share,
    /// The generalised entropy index of benefits, α = 2.
    pub generalised_entropy: Option<f64>,
    /// Metrics of the probability of the positive class; left out where probabilities were not
    /// kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scores: Option<ScoreMetrics>,
}

impl GroupRates {
    /// The rates of a group, of whose nodes `right` are predicted right.
    pub fn new(
        group: impl Into<String>,
        counts: &BinaryCounts,
        right: u64,
        scores: Option<ScoreMetrics>,
    ) -> Self {
        Self {
            group: group.into(),
            nodes: counts.nodes(),
            positives: counts.positives(),
            accuracy: Share::new((right, counts.nodes())),
            selection_rate: Share::new(counts.selection()),
            true_positive_rate: Share::new(counts.recall()),
            false_positive_rate: Share::new(counts.false_positive_rate()),
            false_negative_rate: Share::new(counts.false_negative_rate()),
            precision: Share::new(counts.precision()),
            generalised_entropy: counts.generalised_entropy(),
            scores,
        }
    }
}
