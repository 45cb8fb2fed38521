//! Properties of intervals, tests and ranks for any numbers.

use boostfgl_fairness::mean;
use boostfgl_fairness::statistics::{
    SignedRank, holm, mean_interval, mean_ranks, signed_rank, smallest_p,
};
use proptest::collection::vec;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn an_interval_lies_within_the_differences_and_ignores_their_order(
        differences in vec(-50.0..50.0f64, 2..12),
        shift in -10.0..10.0f64,
    ) {
        let interval = mean_interval(&differences).unwrap();
        let least = differences.iter().copied().fold(f64::INFINITY, f64::min);
        let most = differences.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        prop_assert!(least <= interval.lo && interval.lo <= interval.hi && interval.hi <= most);
        let mut reversed = differences.clone();
        reversed.reverse();
        prop_assert_eq!(mean_interval(&reversed), Some(interval));
        // Moving the data moves the interval.
        let moved: Vec<f64> = differences.iter().map(|d| d + shift).collect();
        let there = mean_interval(&moved).unwrap();
        prop_assert!((there.lo - interval.lo - shift).abs() < 1e-9 && (there.hi - interval.hi - shift).abs() < 1e-9);
        if differences.len() > 2 {
            let mean = mean(&differences).unwrap();
            prop_assert!(interval.lo <= mean + 1e-9 && mean <= interval.hi + 1e-9);
        }
    }

    #[test]
    fn a_test_is_two_sided_and_depends_on_ranks_alone(differences in vec(-20i32..20, 1..60), factor in 0.01..100.0f64) {
        let differences: Vec<f64> = differences.into_iter().map(f64::from).collect();
        let test = signed_rank(&differences);
        let negated: Vec<f64> = differences.iter().map(|d| -d).collect();
        // The other way round, the two rank sums change places and nothing else does.
        let turned = signed_rank(&negated).map(|t| SignedRank { positive: t.negative, negative: t.positive, ..t });
        prop_assert_eq!(turned, test);
        let cubed: Vec<f64> = differences.iter().map(|d| d * d * d * factor).collect();
        prop_assert_eq!(signed_rank(&cubed), test);
        if let Some(test) = test {
            prop_assert!(test.p > 0.0 && test.p <= 1.0);
            prop_assert!(!test.exact || test.p >= smallest_p(test.pairs));
        }
    }

    #[test]
    fn the_adjustment_never_lowers_a_p_value_and_keeps_their_order(p in vec(0.0..1.0f64, 1..10)) {
        let adjusted = holm(&p.iter().copied().map(Some).collect::<Vec<_>>());
        for (i, a) in adjusted.iter().enumerate() {
            let a = a.unwrap();
            prop_assert!(p[i] <= a && a <= (p[i] * p.len() as f64).min(1.0) + 1e-12);
            for (j, b) in adjusted.iter().enumerate() {
                prop_assert!(p[i] > p[j] || a <= b.unwrap());
            }
        }
        let least = p.iter().copied().fold(1.0, f64::min);
        let least_adjusted = adjusted.iter().flatten().copied().fold(1.0, f64::min);
        prop_assert_eq!(least_adjusted, (least * p.len() as f64).min(1.0));
    }

    #[test]
    fn mean_ranks_sum_to_a_constant(values in vec(vec(0u8..5, 4), 1..8)) {
        let blocks: Vec<Vec<Option<f64>>> =
            values.iter().map(|block| block.iter().map(|&x| Some(f64::from(x))).collect()).collect();
        let found = mean_ranks(&blocks);
        let sum: f64 = found.ranks.iter().flatten().sum();
        prop_assert!((sum - 10.0).abs() < 1e-12, "{sum}");
        prop_assert!(found.friedman.is_none_or(|f| f.statistic >= 0.0 && (0.0..=1.0).contains(&f.p)));
    }
}
