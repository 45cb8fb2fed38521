//! Wilcoxon's signed-rank test of paired differences.

use serde::{Deserialize, Serialize};

use super::{mid_ranks, tie_sizes};

/// With at most this many differences the null distribution is enumerated; beyond, it is taken as
/// normal.
pub const EXACT_UP_TO: usize = 50;

/// The outcome of Wilcoxon's signed-rank test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SignedRank {
    /// The smaller of the rank sums of positive and negative differences, min(W⁺, W⁻).
    pub statistic: f64,
    /// The rank sum of positive differences, W⁺.
    pub positive: f64,
    /// The rank sum of negative differences, W⁻.
    pub negative: f64,
    /// The two-sided p-value.
    pub p: f64,
    /// How many differences are not zero.
    pub pairs: usize,
    /// Whether the p-value is exact.
    pub exact: bool,
}

/// Wilcoxon's signed-rank test (Wilcoxon 1945), two-sided, of whether paired `differences` lie
/// symmetrically around 0.
///
/// Differences of zero are dropped, as Wilcoxon did; the magnitudes of the others are ranked, equal
/// ones sharing mid-ranks; W⁺ and W⁻ are the rank sums of the positive and the negative ones. Under
/// the hypothesis every one of the 2ⁿ choices of signs is equally likely:
///
/// * n ≤ [`EXACT_UP_TO`]: they are all counted, ties included, so p = 2 P(W ≤ min(W⁺, W⁻)), at most
///   1, is exact.
/// * beyond: z = (W − n(n+1)/4) / √(n(n+1)(2n+1)/24 − Σₜ(t³ − t)/48) over groups of t ties is taken
///   as normal, without continuity correction.
///
/// `None` without a difference other than zero, and for numbers that are not finite. Time O(n³)
/// when exact.
///
/// ```
/// use boostfgl_fairness::statistics::signed_rank;
///
/// // Five wins out of five: the strongest evidence that five pairs can give.
/// let test = signed_rank(&[0.4, 1.0, 0.1, 0.7, 0.2]).unwrap();
/// assert_eq!((test.statistic, test.p, test.exact), (0.0, 0.0625, true));
/// ```
pub fn signed_rank(differences: &[f64]) -> Option<SignedRank> {
    if !differences.iter().all(|d| d.is_finite()) {
        return None;
    }
    let changed: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    let pairs = changed.len();
    if pairs == 0 {
        return None;
    }
    let magnitudes: Vec<f64> = changed.iter().map(|d| d.abs()).collect();
    let ranks = mid_ranks(&magnitudes);
    let (positive, negative) =
        (rank_sum(&changed, &ranks, true), rank_sum(&changed, &ranks, false));
    let statistic = positive.min(negative);
    let exact = pairs <= EXACT_UP_TO;
    let p = if exact { counted(&ranks, statistic) } else { normal(&magnitudes, statistic) };
    Some(SignedRank { statistic, positive, negative, p, pairs, exact })
}

/// The sum of the ranks of positive or of negative differences.
fn rank_sum(differences: &[f64], ranks: &[f64], positive: bool) -> f64 {
    differences
        .iter()
        .zip(ranks)
        .filter(|(d, _)| (**d > 0.0) == positive)
        .map(|(_, rank)| rank)
        .sum()
}

/// The smallest two-sided p that `pairs` differences can give: 2¹⁻ⁿ, when all have the same sign.
///
/// ```
/// assert_eq!(boostfgl_fairness::statistics::smallest_p(5), 0.0625);
/// ```
pub fn smallest_p(pairs: usize) -> f64 {
    if pairs == 0 { 1.0 } else { libm::exp2(1.0 - pairs as f64) }
}

/// 2 P(W ≤ w) over all choices of signs, at most 1.
///
/// `ways[s]` is the number of choices whose doubled rank sum is s, built rank by rank like the
/// subset sums of a knapsack: O(n · Σ ranks) instead of 2ⁿ.
fn counted(ranks: &[f64], statistic: f64) -> f64 {
    // Twice a mid-rank is whole, so that rank sums can index the table even with ties.
    let doubled: Vec<usize> = ranks.iter().map(|rank| (2.0 * rank) as usize).collect();
    let mut ways = vec![0u64; doubled.iter().sum::<usize>() + 1];
    ways[0] = 1;
    let mut reached = 0;
    for &rank in &doubled {
        reached += rank;
        // Downwards, so that `ways[sum - rank]` does not count this rank yet.
        for sum in (rank..=reached).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    let tail: u64 = ways[..=(2.0 * statistic) as usize].iter().sum();
    // There are at most 2⁵⁰ choices, and f64 holds every whole number up to 2⁵³ exactly.
    (2.0 * tail as f64 / (1u64 << ranks.len()) as f64).min(1.0)
}

/// The normal approximation with its variance corrected for ties.
fn normal(magnitudes: &[f64], statistic: f64) -> f64 {
    let n = magnitudes.len() as f64;
    let ties: f64 =
        tie_sizes(magnitudes).into_iter().map(|t| t as f64).map(|t| t * t * t - t).sum();
    let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ties / 48.0;
    let z = (statistic - n * (n + 1.0) / 4.0) / variance.sqrt();
    libm::erfc(z.abs() / std::f64::consts::SQRT_2).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_pairs_by_hand() {
        // Ranks 1, 2, 3 with signs −, +, +: W⁻ = 1. Of eight choices two have a sum of at most 1
        // (none; {1}).
        let test = signed_rank(&[-0.1, 0.2, 0.3]).unwrap();
        assert_eq!((test.statistic, test.p, test.pairs), (1.0, 0.5, 3));
        // A tie: ranks 1.5, 1.5, 3 with signs −, +, +. Sums of at most 1.5: none, either 1.5.
        assert_eq!(signed_rank(&[-0.2, 0.2, 0.3]).unwrap().p, 0.75);
    }

    #[test]
    fn differences_of_zero_are_dropped() {
        assert_eq!(signed_rank(&[0.0, 1.0, 2.0, -0.0]), signed_rank(&[1.0, 2.0]));
        assert_eq!((signed_rank(&[0.0, 0.0]), signed_rank(&[])), (None, None));
        assert_eq!(signed_rank(&[1.0, f64::INFINITY]), None);
    }

    #[test]
    fn the_smallest_p_is_reached_by_wins_alone() {
        for pairs in 1..=EXACT_UP_TO {
            let wins: Vec<f64> = (1..=pairs).map(|i| i as f64).collect();
            assert_eq!(signed_rank(&wins).unwrap().p, smallest_p(pairs));
        }
        assert!(smallest_p(5) > 0.05 && smallest_p(6) < 0.05);
    }
}
