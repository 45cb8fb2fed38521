//! Bootstrap intervals of the mean of few differences.

use boostfgl_graph::Stream;
use serde::{Deserialize, Serialize};

use crate::mean;

/// The number of bootstrap samples.
pub const RESAMPLES: usize = 10_000;

/// From `lo` to `hi`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The lower end.
    pub lo: f64,
    /// The upper end.
    pub hi: f64,
}

/// The 95 % percentile bootstrap interval of the mean of paired `differences` (Efron 1979).
///
/// n of the n differences are drawn with replacement, [`RESAMPLES`] times; the interval runs from
/// the 2.5th to the 97.5th percentile of the means, interpolated linearly between neighbours. The
/// draws depend on n alone, so the same differences always give the same interval, and methods with
/// as many pairs are evaluated by the same draws.
///
/// `None` for fewer than two differences, since one has no spread, and for numbers that are not
/// finite. With few pairs the interval is too narrow: for n = 5 and normal data it covers
/// the mean in about 84 % of cases.
///
/// ```
/// use boostfgl_fairness::statistics::mean_interval;
///
/// let interval = mean_interval(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
/// assert!(1.0 < interval.lo && interval.lo < 3.0 && 3.0 < interval.hi && interval.hi < 5.0);
/// assert_eq!(mean_interval(&[1.0]), None);
/// ```
pub fn mean_interval(differences: &[f64]) -> Option<Interval> {
    let n = differences.len();
    if n < 2 || !differences.iter().all(|d| d.is_finite()) {
        return None;
    }
    // A draw is a position. Positions in sorted order make the interval independent of the order
    // in which the pairs are given.
    let mut sorted = differences.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut stream = Stream::new(0, "bootstrap of a mean", &[n as u64]);
    let mut drawn = vec![0.0; n];
    let mut means = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        drawn.iter_mut().for_each(|slot| *slot = sorted[stream.below(n)]);
        means.extend(mean(&drawn));
    }
    means.sort_by(f64::total_cmp);
    // A sum of n equal numbers over n may differ from them in the last bit; a mean must not leave
    // the range of the differences.
    let (least, most) = (sorted[0], sorted[n - 1]);
    let (lo, hi) = (quantile(&means, 0.025), quantile(&means, 0.975));
    Some(Interval { lo: lo.clamp(least, most), hi: hi.clamp(least, most) })
}

/// The quantile at `share` of sorted numbers, interpolated linearly between neighbours (type 7 of
/// Hyndman and Fan 1996, the default of numpy).
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = share * (sorted.len() - 1) as f64;
    let (low, part) = (at.floor() as usize, at.fract());
    let high = (low + 1).min(sorted.len() - 1);
    sorted[low] + part * (sorted[high] - sorted[low])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_neighbours() {
        // numpy: quantile([1, 2, 4, 8], [0, .5, .9, 1]) = [1, 3, 6.8, 8]
        let sorted = [1.0, 2.0, 4.0, 8.0];
        let found = [0.0, 0.5, 0.9, 1.0].map(|share| quantile(&sorted, share));
        for (found, expected) in found.into_iter().zip([1.0, 3.0, 6.8, 8.0]) {
            assert!((found - expected).abs() < 1e-12, "{found} for {expected}");
        }
    }

    #[test]
    fn two_values_leave_four_equally_likely_means_of_three_values() {
        // Each of {0,0}, {0,1}, {1,0}, {1,1} has chance 1/4, so both tails are far beyond 2.5 %.
        assert_eq!(mean_interval(&[1.0, 0.0]), Some(Interval { lo: 0.0, hi: 1.0 }));
    }

    #[test]
    fn equal_differences_have_no_width() {
        let interval = mean_interval(&[0.1; 7]).unwrap();
        assert_eq!((interval.lo, interval.hi), (0.1, 0.1));
    }

    #[test]
    fn fewer_than_two_or_infinite_differences_have_no_interval() {
        assert_eq!((mean_interval(&[]), mean_interval(&[3.0])), (None, None));
        assert_eq!(mean_interval(&[1.0, f64::NAN, 2.0]), None);
    }
}
