//! Metrics of scores from histograms: for clients that keep the scores of their nodes.

use super::blocks::{self, Block};
use super::calibration::CALIBRATION_BINS;
use super::{ScoreErrors, ScoreMetrics};
use crate::{Error, Result};

/// The number of bins of equal width between 0 and 1.
pub const SCORE_BINS: usize = 256;

/// Fine bins in one bin of the calibration error.
const FINE: usize = SCORE_BINS / CALIBRATION_BINS;

/// How many positive and negative nodes have a score in each bin. Bin b holds scores in \[b/256,
/// (b+1)/256), the last one those of 1 as well.
///
/// Metrics take all scores of a bin as equal. [`ScoreHistogram::metrics`] gives a bound of the error
/// that this makes, which is computed from the histogram:
///
/// * AUC: only pairs inside a bin are not in order, and each counts half instead of 0, ½ or 1. The
///   error is at most ½ Σ_b p_b n_b / (P N).
/// * Average precision: whatever the order in a bin after t positive and f negative nodes, the k-th of
///   its p positive nodes is counted with a precision of at least (t + k) / (t + k + f + n) and at most
///   (t + p) / (t + p + f). Of more than 1000 nodes in a bin the sum over k of the former is replaced by
///   its integral from 0 to p, which is smaller.
/// * Calibration: the mean score of a bin is known to half a bin, so the error is at most 1/512.
///
/// ```
/// use boostfgl_fairness::scored::ScoreHistogram;
///
/// let mut histogram = ScoreHistogram::default();
/// for (is_positive, score) in [(true, 0.9), (false, 0.4), (true, 0.4), (false, 0.1)] {
///     histogram.add(is_positive, score);
/// }
/// let found = histogram.metrics();
/// assert_eq!((found.auc, found.error.unwrap().auc), (Some(0.875), Some(0.125)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoreHistogram {
    positives: Vec<u64>,
    negatives: Vec<u64>,
}

impl Default for ScoreHistogram {
    fn default() -> Self {
        Self { positives: vec![0; SCORE_BINS], negatives: vec![0; SCORE_BINS] }
    }
}

impl ScoreHistogram {
    /// A histogram that was counted elsewhere.
    ///
    /// # Errors
    /// If one side does not have [`SCORE_BINS`] counts.
    pub fn from_counts(positives: Vec<u64>, negatives: Vec<u64>) -> Result<Self> {
        match [positives.len(), negatives.len()].into_iter().find(|len| *len != SCORE_BINS) {
            None => Ok(Self { positives, negatives }),
            Some(found) => {
                let expected = format!("{SCORE_BINS} bins");
                Err(Error::inconsistent("histogram of scores", expected, &found))
            }
        }
    }

    /// The counts of positive and of negative nodes.
    pub fn into_counts(self) -> (Vec<u64>, Vec<u64>) {
        (self.positives, self.negatives)
    }

    /// Counts one more node. A score that is no number counts as 0: training diverged, and a
    /// warning says so.
    pub fn add(&mut self, is_positive: bool, score: f64) {
        let side = if is_positive { &mut self.positives } else { &mut self.negatives };
        // Multiplying by a power of two is exact; the cast takes NaN and negative numbers to 0.
        side[((score * SCORE_BINS as f64) as usize).min(SCORE_BINS - 1)] += 1;
    }

    /// Adds the counts over other nodes.
    pub fn merge(&mut self, other: &Self) {
        let sides = [(&mut self.positives, &other.positives)];
        let sides = sides.into_iter().chain([(&mut self.negatives, &other.negatives)]);
        for (sums, counts) in sides {
            // Counts arrive from a network: absurd ones must not overflow.
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum = sum.saturating_add(*count));
        }
    }

    /// The metrics, with bounds of their errors.
    pub fn metrics(&self) -> ScoreMetrics {
        let blocks = self.blocks();
        let (auc, average_precision) = (blocks::auc(&blocks), blocks::average_precision(&blocks));
        let calibration_error = self.calibration_error();
        let error = ScoreErrors {
            auc: auc.map(|_| auc_error(&blocks)),
            average_precision: average_precision.map(|value| precision_error(&blocks, value)),
            calibration_error: calibration_error.map(|_| 0.5 / SCORE_BINS as f64),
        };
        ScoreMetrics { auc, average_precision, calibration_error, error: Some(error) }
    }

    /// The bins, the highest scores first.
    fn blocks(&self) -> Vec<Block> {
        let bins = self.positives.iter().zip(&self.negatives).rev();
        bins.map(|(&positives, &negatives)| Block { positives, negatives }).collect()
    }

    /// The calibration error with every score in the middle of its bin.
    fn calibration_error(&self) -> Option<f64> {
        let (mut nodes, mut sum) = (0, 0.0);
        for bin in 0..CALIBRATION_BINS {
            let (mut positives, mut scores) = (0, 0.0);
            for fine in bin * FINE..(bin + 1) * FINE {
                let count = self.positives[fine] + self.negatives[fine];
                positives += self.positives[fine];
                scores += count as f64 * (fine as f64 + 0.5) / SCORE_BINS as f64;
                nodes += count;
            }
            sum += (positives as f64 - scores).abs();
        }
        (nodes > 0).then(|| sum / nodes as f64)
    }
}

/// ½ Σ p n / (P N).
fn auc_error(blocks: &[Block]) -> f64 {
    let (positives, negatives) = blocks::totals(blocks);
    let tied: f64 =
        blocks.iter().map(|block| block.positives as f64 * block.negatives as f64).sum();
    tied / (2.0 * positives as f64 * negatives as f64)
}

/// The larger of the distances from `value` to both bounds.
fn precision_error(blocks: &[Block], value: f64) -> f64 {
    let (positives, _) = blocks::totals(blocks);
    let (mut found, mut others) = (0.0, 0.0);
    let (mut least, mut most) = (0.0, 0.0);
    for block in blocks.iter().filter(|block| block.positives + block.negatives > 0) {
        let (p, n) = (block.positives as f64, block.negatives as f64);
        if block.positives > 0 {
            most += p * (found + p) / (found + p + others);
            least += least_precision(found, others + n, block.positives);
        }
        found += p;
        others += n;
    }
    (most / positives as f64 - value).max(value - least / positives as f64).max(0.0)
}

/// Σ_k (t + k) / (t + k + f) for k from 1 to p, or for many nodes its integral from 0 to p, which is
/// smaller: p − f ln((t + p + f) / (t + f)).
fn least_precision(t: f64, f: f64, p: u64) -> f64 {
    if p <= SUMMED {
        return (1..=p).map(|k| (t + k as f64) / (t + k as f64 + f)).sum();
    }
    let p = p as f64;
    if f > 0.0 { p - f * libm::log((t + p + f) / (t + f)) } else { p }
}

/// Up to this many nodes are summed one by one.
const SUMMED: u64 = 1000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scored::ScoredNodes;
    use proptest::prelude::*;

    #[test]
    fn histograms_of_another_size_are_refused() {
        let error = ScoreHistogram::from_counts(vec![0; 256], vec![0; 255]).unwrap_err();
        assert_eq!(error.to_string(), "histogram of scores: expected 256 bins, found 255");
        let empty = ScoreHistogram::default().metrics();
        assert_eq!(
            (empty.auc, empty.average_precision, empty.calibration_error),
            (None, None, None)
        );
    }

    #[test]
    fn scores_at_the_ends_and_no_numbers_are_counted() {
        let mut histogram = ScoreHistogram::default();
        [0.0, f64::NAN, -1.0, 1.0, 7.0].into_iter().for_each(|score| histogram.add(true, score));
        let (positives, _) = histogram.into_counts();
        assert_eq!((positives[0], positives[255]), (3, 2));
    }

    /// Beyond the nodes that are summed the integral is a bound as well, and hardly smaller.
    #[test]
    fn many_nodes_in_a_bin_have_a_bound_near_the_sum() {
        for (t, f) in [(0.0, 0.0), (3.0, 500.0), (0.0, 7.0)] {
            let p = 5 * SUMMED;
            let sum: f64 = (1..=p).map(|k| (t + k as f64) / (t + k as f64 + f)).sum();
            let bound = least_precision(t, f, p);
            assert!(bound <= sum && sum - bound <= 1.0, "{t} {f}: {bound} {sum}");
        }
    }

    /// Scores at the ends of bins are exact for AUC and average precision where no bin is mixed.
    #[test]
    fn separate_bins_have_no_error_of_order() {
        let mut histogram = ScoreHistogram::default();
        [(true, 0.9), (false, 0.7), (true, 0.5), (false, 0.1)]
            .into_iter()
            .for_each(|(is_positive, score)| histogram.add(is_positive, score));
        let found = histogram.metrics();
        assert_eq!((found.auc, found.error.unwrap().auc), (Some(0.75), Some(0.0)));
    }

    proptest! {
        /// The exact metrics are within the stated bounds.
        #[test]
        fn the_error_of_binning_is_within_its_bound(
            nodes in proptest::collection::vec((any::<bool>(), 0.0f64..=1.0), 1..80),
            narrow in any::<bool>(),
        ) {
            // Narrow scores share bins.
            let nodes: Vec<(bool, f64)> = nodes
                .into_iter()
                .map(|(y, s)| (y, if narrow { 0.5 + s / 100.0 } else { s }))
                .collect();
            let exact = ScoredNodes::new(nodes.iter().copied()).unwrap().metrics();
            let mut histogram = ScoreHistogram::default();
            nodes.iter().for_each(|(y, s)| histogram.add(*y, *s));
            let found = histogram.metrics();
            let error = found.error.unwrap();
            for (exact, found, bound) in [
                (exact.auc, found.auc, error.auc),
                (exact.average_precision, found.average_precision, error.average_precision),
                (exact.calibration_error, found.calibration_error, error.calibration_error),
            ] {
                prop_assert_eq!(exact.is_some(), found.is_some());
                if let (Some(exact), Some(found), Some(bound)) = (exact, found, bound) {
                    prop_assert!((exact - found).abs() <= bound + 1e-12, "{exact} {found} {bound}");
                }
            }
        }

        /// The order in which clients are merged does not matter, and parts give the whole.
        #[test]
        fn histograms_of_parts_add_up(
            nodes in proptest::collection::vec((any::<bool>(), 0.0f64..=1.0), 0..40), at in 0usize..40,
        ) {
            let of = |nodes: &[(bool, f64)]| {
                let mut histogram = ScoreHistogram::default();
                nodes.iter().for_each(|(y, s)| histogram.add(*y, *s));
                histogram
            };
            let (left, right) = nodes.split_at(at.min(nodes.len()));
            let mut merged = of(right);
            merged.merge(&of(left));
            prop_assert_eq!(merged, of(&nodes));
        }
    }
}
