//! Mean ranks of methods over datasets and seeds, and whether they differ.

use serde::{Deserialize, Serialize};

use super::{mid_ranks, tie_sizes};

/// Mean ranks of several methods over blocks; a block is one dataset under one seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeanRanks {
    /// The mean rank of each method, 1 being the best; `None` for a method that has no value
    /// anywhere, or without blocks.
    pub ranks: Vec<Option<f64>>,
    /// How many blocks count.
    pub blocks: usize,
    /// Friedman's test of whether methods differ at all; `None` for fewer than two methods or two
    /// blocks, or if all values of every block are equal.
    pub friedman: Option<Friedman>,
    /// Mean ranks further apart than this differ at the 5 % level (Nemenyi); see
    /// [`critical_difference`].
    pub critical_difference: Option<f64>,
}

/// Friedman's test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Friedman {
    /// χ²_F, corrected for ties.
    pub statistic: f64,
    /// Its p-value by the χ² distribution with k − 1 degrees of freedom.
    pub p: f64,
}

/// Ranks the values of each block, larger being better, and averages over blocks (Demšar 2006).
///
/// `blocks[b][i]` is the value of method i in block b. A method without a value in any block is
/// left out; of the rest, only blocks in which all have a value count, so that every rank is among
/// the same methods. Equal values share mid-ranks.
///
/// With b blocks, k methods and mean ranks R̄ᵢ, χ²_F = 12b / (k(k+1)) · Σᵢ (R̄ᵢ − (k+1)/2)²,
/// divided by 1 − Σ(t³ − t) / (b k (k² − 1)) over groups of t ties.
///
/// ```
/// use boostfgl_fairness::statistics::mean_ranks;
///
/// let ranks = mean_ranks(&[vec![Some(0.9), Some(0.8), None], vec![Some(0.7), Some(0.7), None]]);
/// assert_eq!(ranks.ranks, [Some(1.25), Some(1.75), None]);
/// ```
pub fn mean_ranks(blocks: &[Vec<Option<f64>>]) -> MeanRanks {
    let width = blocks.iter().map(Vec::len).max().unwrap_or(0);
    let present: Vec<usize> =
        (0..width).filter(|&i| blocks.iter().any(|block| value(block, i).is_some())).collect();
    let complete: Vec<Vec<f64>> = blocks
        .iter()
        .filter_map(|block| present.iter().map(|&i| value(block, i)).collect())
        .collect();

    let mut sums = vec![0.0; present.len()];
    for block in &complete {
        // Ranks ascend; negated, the largest value gets rank 1.
        let negated: Vec<f64> = block.iter().map(|x| -x).collect();
        sums.iter_mut().zip(mid_ranks(&negated)).for_each(|(sum, rank)| *sum += rank);
    }
    let means: Vec<f64> = sums.iter().map(|sum| sum / complete.len().max(1) as f64).collect();
    let mut ranks = vec![None; width];
    if !complete.is_empty() {
        present.iter().zip(&means).for_each(|(&i, &mean)| ranks[i] = Some(mean));
    }
    MeanRanks {
        ranks,
        blocks: complete.len(),
        friedman: friedman(&complete, &means),
        critical_difference: critical_difference(present.len(), complete.len()),
    }
}

/// The value of method `i` in a block; `None` also if the block is shorter.
fn value(block: &[Option<f64>], i: usize) -> Option<f64> {
    block.get(i).copied().flatten()
}

/// Friedman's test over complete blocks, given the mean ranks.
fn friedman(blocks: &[Vec<f64>], means: &[f64]) -> Option<Friedman> {
    let (b, k) = (blocks.len() as f64, means.len() as f64);
    if blocks.len() < 2 || means.len() < 2 {
        return None;
    }
    let ties: f64 = blocks
        .iter()
        .flat_map(|block| tie_sizes(block))
        .map(|t| t as f64)
        .map(|t| t * t * t - t)
        .sum::<f64>();
    let correction = 1.0 - ties / (b * k * (k * k - 1.0));
    let spread: f64 = means.iter().map(|mean| mean - (k + 1.0) / 2.0).map(|x| x * x).sum();
    let statistic = 12.0 * b / (k * (k + 1.0)) * spread / correction;
    // The correction is 0 if all values of every block are equal: then χ²_F is 0/0.
    (correction > 0.0)
        .then(|| Friedman { statistic, p: chi_squared_tail(statistic, means.len() - 1) })
}

/// P(χ²_ν > x): for whole ν a finite sum (Abramowitz and Stegun 26.4.4 and 26.4.5).
fn chi_squared_tail(x: f64, freedom: usize) -> f64 {
    let half = x / 2.0;
    // Even ν: e^(−x/2) Σ (x/2)^i / i!; odd ν: the same with i − ½ for i, after the tail of a normal
    // number.
    let (mut tail, mut term, mut at) = if freedom.is_multiple_of(2) {
        (0.0, libm::exp(-half), 0.0)
    } else {
        let first = libm::exp(-half) * libm::sqrt(half / std::f64::consts::PI) * 2.0;
        (libm::erfc(libm::sqrt(half)), first, 0.5)
    };
    for _ in 0..freedom / 2 {
        tail += term;
        at += 1.0;
        term *= half / at;
    }
    tail.clamp(0.0, 1.0)
}

/// Nemenyi's critical difference at 5 %: q √(k(k+1) / (6b)) for k methods over b blocks. Mean ranks
/// further apart differ.
///
/// q is the 95 % point of the studentised range of k normal numbers, over √2. `None` for one
/// method, more than 30, or no block.
pub fn critical_difference(methods: usize, blocks: usize) -> Option<f64> {
    let q = Q_05.get(methods.checked_sub(2)?)?;
    let k = methods as f64;
    (blocks > 0).then(|| q * (k * (k + 1.0) / (6.0 * blocks as f64)).sqrt())
}

/// scipy: `studentized_range.ppf(0.95, k, inf) / sqrt(2)` for k = 2 to 30.
const Q_05: [f64; 29] = [
    1.9600, 2.3437, 2.5690, 2.7278, 2.8497, 2.9483, 3.0309, 3.1017, 3.1637, 3.2187, 3.2680, 3.3127,
    3.3536, 3.3912, 3.4260, 3.4584, 3.4887, 3.5171, 3.5438, 3.5690, 3.5929, 3.6156, 3.6373, 3.6579,
    3.6776, 3.6964, 3.7145, 3.7319, 3.7486,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_value_ranks_first_and_absent_methods_have_no_rank() {
        let blocks = [
            vec![Some(3.0), Some(2.0), None, Some(1.0)],
            vec![Some(3.0), None, None, Some(1.0)],
            vec![Some(1.0), Some(2.0), None, Some(2.0)],
        ];
        let found = mean_ranks(&blocks);
        // Only the first and the third block are complete among the three methods present.
        assert_eq!(found.blocks, 2);
        assert_eq!(found.ranks, [Some(2.0), Some(1.75), None, Some(2.25)]);
    }

    #[test]
    fn nothing_is_ranked_without_blocks() {
        let found = mean_ranks(&[]);
        assert_eq!((found.ranks.len(), found.blocks, found.friedman), (0, 0, None));
        let alone = mean_ranks(&[vec![Some(1.0), None], vec![None, Some(1.0)]]);
        assert_eq!((alone.ranks, alone.blocks), (vec![None, None], 0));
        // All equal in every block: no ranks to differ.
        assert_eq!(mean_ranks(&[vec![Some(1.0); 3], vec![Some(2.0); 3]]).friedman, None);
    }

    /// Demšar (2006), table 5 and section 3.2.2: k = 4, N = 14, q = 2.569, CD = 1.25.
    #[test]
    fn the_critical_difference_of_a_published_table() {
        let found = critical_difference(4, 14).unwrap();
        assert!((found - 2.569 * (4.0f64 * 5.0 / (6.0 * 14.0)).sqrt()).abs() < 1e-3, "{found}");
        assert_eq!(
            (critical_difference(1, 5), critical_difference(31, 5), critical_difference(4, 0)),
            (None, None, None)
        );
    }
}
