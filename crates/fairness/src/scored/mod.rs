//! Metrics of scores: how well the probability of the positive class orders nodes, and whether it
//! means what it says.
//!
//! They need the probability of every node, not only the predicted class, so they are no
//! [`Metric`](crate::Metric)s of counts.
//!
//! | metric | question |
//! |---|---|
//! | [`ScoredNodes::auc`] | is a positive node scored above a negative one? |
//! | [`ScoredNodes::average_precision`] | are the nodes with the highest scores positive? |
//! | [`ScoredNodes::calibration_error`] | of nodes scored 0.3, are 30 % positive? |

mod blocks;
mod calibration;
mod histogram;

pub use calibration::CALIBRATION_BINS;
pub use histogram::{SCORE_BINS, ScoreHistogram};

use crate::{Error, Result};
use blocks::Block;
use serde::{Deserialize, Serialize};

/// The scores of a set of nodes, each with whether the node is positive.
///
/// ```
/// use boostfgl_fairness::scored::ScoredNodes;
///
/// let nodes = ScoredNodes::new([(true, 0.9), (false, 0.4), (true, 0.4), (false, 0.1)])?;
/// // Of four pairs of a positive and a negative node three are in order, and one is tied.
/// assert_eq!(nodes.auc(), Some(0.875));
/// assert_eq!(ScoredNodes::new([(true, 0.9)])?.auc(), None);
/// assert!(ScoredNodes::new([(true, f64::NAN)]).is_err());
/// # Ok::<(), boostfgl_fairness::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredNodes {
    /// Score and whether the node is positive, the highest score first.
    nodes: Vec<(f64, bool)>,
}

/// The metrics of scores; each is `None` where it has no value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScoreMetrics {
    /// See [`ScoredNodes::auc`].
    pub auc: Option<f64>,
    /// See [`ScoredNodes::average_precision`].
    pub average_precision: Option<f64>,
    /// See [`ScoredNodes::calibration_error`].
    pub calibration_error: Option<f64>,
    /// By how much they may be off, where they come from a [`ScoreHistogram`]; left out where they
    /// are exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ScoreErrors>,
}

/// Bounds of the errors that binning makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScoreErrors {
    /// Of [`ScoreMetrics::auc`].
    pub auc: Option<f64>,
    /// Of [`ScoreMetrics::average_precision`].
    pub average_precision: Option<f64>,
    /// Of [`ScoreMetrics::calibration_error`].
    pub calibration_error: Option<f64>,
}

impl ScoredNodes {
    /// Nodes as pairs of whether they are positive and their score, a probability. Time O(n log n).
    ///
    /// # Errors
    /// If a score is not from 0 to 1.
    pub fn new(nodes: impl IntoIterator<Item = (bool, f64)>) -> Result<Self> {
        let mut sorted = Vec::new();
        for (is_positive, score) in nodes {
            if !(0.0..=1.0).contains(&score) {
                return Err(Error::inconsistent("score", "a probability from 0 to 1", &score));
            }
            // −0 is 0: `total_cmp` would put them into two places.
            sorted.push((score + 0.0, is_positive));
        }
        // Positive nodes first among equals, so that no sum depends on the order of the nodes.
        sorted.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        Ok(Self { nodes: sorted })
    }

    /// The area under the ROC curve: the probability that a positive node is scored above a
    /// negative one, where equal scores count half. scikit-learn's `roc_auc_score`.
    ///
    /// `None` without a positive or without a negative node.
    pub fn auc(&self) -> Option<f64> {
        blocks::auc(&self.blocks())
    }

    /// Average precision: Σ (R_t − R_{t−1}) P_t over the distinct scores t from the highest to the
    /// lowest, where P_t and R_t are precision and recall of selecting all nodes with a score of at
    /// least t. scikit-learn's `average_precision_score`.
    ///
    /// `None` without a positive node.
    pub fn average_precision(&self) -> Option<f64> {
        blocks::average_precision(&self.blocks())
    }

    /// The expected calibration error: Σ_m |B_m|/n · |ȳ(B_m) − s̄(B_m)|, where bin B_m holds the
    /// nodes with scores in \[m/16, (m+1)/16), the last bin those of 1 as well; ȳ is their share of
    /// positive nodes and s̄ their mean score.
    ///
    /// `None` without a node.
    pub fn calibration_error(&self) -> Option<f64> {
        calibration::error(&self.nodes)
    }

    /// All of them.
    pub fn metrics(&self) -> ScoreMetrics {
        let blocks = self.blocks();
        ScoreMetrics {
            auc: blocks::auc(&blocks),
            average_precision: blocks::average_precision(&blocks),
            calibration_error: self.calibration_error(),
            error: None,
        }
    }

    /// The nodes of each distinct score, the highest first.
    fn blocks(&self) -> Vec<Block> {
        self.nodes
            .chunk_by(|a, b| a.0 == b.0)
            .map(|tied| {
                let positives = tied.iter().filter(|(_, is_positive)| *is_positive).count() as u64;
                Block { positives, negatives: tied.len() as u64 - positives }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sets_without_one_side_have_what_is_left() {
        let empty = ScoredNodes::new([]).unwrap().metrics();
        assert_eq!(empty, ScoreMetrics::default());
        let negative = ScoredNodes::new([(false, 0.25)]).unwrap().metrics();
        assert_eq!(negative, ScoreMetrics { calibration_error: Some(0.25), ..empty });
        let positive = ScoredNodes::new([(true, 0.25)]).unwrap().metrics();
        assert_eq!((positive.auc, positive.average_precision), (None, Some(1.0)));
    }

    #[test]
    fn scores_that_are_no_probabilities_are_refused() {
        for score in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            let error = ScoredNodes::new([(true, 0.5), (false, score)]).unwrap_err().to_string();
            let expected = "score: expected a probability from 0 to 1, found ";
            assert!(error.starts_with(expected), "{error}");
        }
        assert_eq!(ScoredNodes::new([(true, -0.0), (false, 0.0)]).unwrap().auc(), Some(0.5));
    }

    proptest! {
        /// The order of nodes does not matter, and mirrored scores mirror the AUC.
        #[test]
        fn ranks_alone_decide(nodes in proptest::collection::vec((any::<bool>(), 0u8..9), 1..60)) {
            let scored = |nodes: &[(bool, u8)]| {
                ScoredNodes::new(nodes.iter().map(|(y, s)| (*y, f64::from(*s) / 8.0))).unwrap()
            };
            let mut turned = nodes.clone();
            turned.reverse();
            prop_assert_eq!(scored(&nodes).metrics(), scored(&turned).metrics());
            let mirrored: Vec<(bool, u8)> = nodes.iter().map(|(y, s)| (*y, 8 - s)).collect();
            let both = scored(&nodes).auc().zip(scored(&mirrored).auc());
            prop_assert!(both.is_none_or(|(auc, mirrored)| (auc + mirrored - 1.0).abs() < 1e-12));
        }

        /// AUC by its definition, pair by pair.
        #[test]
        fn the_area_is_the_share_of_ordered_pairs(
            nodes in proptest::collection::vec((any::<bool>(), 0u8..9), 1..40),
        ) {
            let found = ScoredNodes::new(nodes.iter().map(|(y, s)| (*y, f64::from(*s) / 8.0)));
            let (mut twice, mut pairs) = (0, 0);
            for (_, positive) in nodes.iter().filter(|(y, _)| *y) {
                for (_, negative) in nodes.iter().filter(|(y, _)| !*y) {
                    pairs += 1;
                    twice += 2 * i32::from(positive > negative) + i32::from(positive == negative);
                }
            }
            let expected = (pairs > 0).then(|| f64::from(twice) / f64::from(2 * pairs));
            prop_assert_eq!(found.unwrap().auc(), expected);
        }
    }
}
