//! Whether methods differ: intervals, tests and ranks over paired runs.
//!
//! Two methods that ran on the same partition, split and seed make a *pair*; what is evaluated is
//! the difference of their scores. Everything here is a pure function of numbers, with the same
//! digits on every machine.
//!
//! * [`mean_interval`] — a 95 % bootstrap interval of the mean difference.
//! * [`signed_rank`] — Wilcoxon's signed-rank test of "no difference", two-sided.
//! * [`holm`] — p-values adjusted for having tested several methods.
//! * [`Certainty`] — the rule by which a difference is called shown, leaning or not found, from
//!   these three.
//! * [`wilson`], [`newcombe`] — intervals of a share and of the difference of two.
//! * [`mean_ranks`] — the mean rank of each method, with Friedman's test and Nemenyi's critical
//!   difference.
//! * [`spearman`] — whether two quantities rise together.
//!
//! **Few pairs cannot prove much.** With n pairs the smallest two-sided p of the signed-rank test
//! is 2¹⁻ⁿ ([`smallest_p`]): 0.0625 with five seeds. No difference over five seeds on one dataset
//! is significant at 5 %, however large it is; pairs over several datasets together, or at least
//! eight seeds, can be.

mod bootstrap;
mod certainty;
mod holm;
mod proportion;
mod ranks;
mod spearman;
mod wilcoxon;

pub(crate) use bootstrap::quantile;
pub use bootstrap::{Interval, RESAMPLES, mean_interval};
pub use certainty::{Certainty, LEAST_PAIRS, LEVEL, Limit};
pub use holm::holm;
pub use proportion::{newcombe, wilson};
pub use ranks::{Friedman, MeanRanks, critical_difference, mean_ranks};
pub use spearman::spearman;
pub use wilcoxon::{EXACT_UP_TO, SignedRank, signed_rank, smallest_p};

/// Ranks 1..=n of `values`, the smallest first; equal values share the mean of their ranks
/// (mid-ranks).
fn mid_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    // `total_cmp` orders −0 before 0; they are equal below and share a rank all the same.
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for tied in order.chunk_by(|&a, &b| values[a] == values[b]) {
        // The ranks before+1 ..= before+t have the mean before + (t + 1) / 2.
        let rank = before as f64 + (tied.len() + 1) as f64 / 2.0;
        tied.iter().for_each(|&at| ranks[at] = rank);
        before += tied.len();
    }
    ranks
}

/// How many values share each value, in the order of the values.
fn tie_sizes(values: &[f64]) -> Vec<usize> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.chunk_by(|a, b| a == b).map(<[f64]>::len).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_their_ranks() {
        // By hand: 1 is first, the two 2s share 2 and 3, the three 5s share 4, 5 and 6.
        assert_eq!(mid_ranks(&[5.0, 2.0, 5.0, 1.0, 2.0, 5.0]), [5.0, 2.5, 5.0, 1.0, 2.5, 5.0]);
        assert_eq!(mid_ranks(&[0.0, -0.0]), [1.5, 1.5]);
        assert_eq!(tie_sizes(&[5.0, 2.0, 5.0, 1.0, 2.0, 5.0]), [1, 2, 3]);
        assert!(mid_ranks(&[]).is_empty());
    }
}
