//! Whether two quantities rise together.

use super::mid_ranks;

/// Spearman's rank correlation of pairs `(x, y)`: Pearson's correlation of their ranks, equal
/// values sharing mid-ranks.
///
/// `None` for fewer than three pairs, or if all x or all y are equal.
///
/// ```
/// use boostfgl_fairness::statistics::spearman;
/// assert_eq!(spearman(&[(1.0, 9.0), (2.0, 4.0), (30.0, 1.0)]), Some(-1.0));
/// assert_eq!(spearman(&[(1.0, 9.0), (2.0, 9.0), (30.0, 9.0)]), None);
/// ```
pub fn spearman(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.len() < 3 {
        return None;
    }
    let ranks = |of: fn(&(f64, f64)) -> f64| mid_ranks(&pairs.iter().map(of).collect::<Vec<_>>());
    let (x, y) = (ranks(|pair| pair.0), ranks(|pair| pair.1));
    // Ranks 1..=n have the mean (n + 1) / 2, ties or not.
    let mean = (pairs.len() + 1) as f64 / 2.0;
    let product =
        |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>();
    let spread = (product(&x, &x) * product(&y, &y)).sqrt();
    (spread > 0.0).then(|| (product(&x, &y) / spread).clamp(-1.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By hand: ranks of x are 1, 2.5, 2.5, 4, 5 and of y are 2, 1, 4, 3, 5, so Σ(x−3)(y−3) = 2 + 1
    /// − 0.5 + 0 + 4 = 6.5, Σ(x−3)² = 9.5 and Σ(y−3)² = 10.
    #[test]
    fn ties_share_their_ranks() {
        let pairs = [(1.0, 0.2), (4.0, 0.1), (4.0, 7.0), (5.0, 6.0), (9.0, 8.0)];
        let expected = 6.5 / (9.5f64 * 10.0).sqrt();
        assert!((spearman(&pairs).unwrap() - expected).abs() < 1e-15);
        assert_eq!(spearman(&pairs[..2]), None);
    }

    proptest! {
        /// Only the order counts, and it counts the same from either side.
        #[test]
        fn monotone_maps_change_nothing(pairs in prop::collection::vec((-9i32..9, -9i32..9), 3..12)) {
            let of = |f: fn(f64) -> f64| pairs.iter().map(|&(x, y)| (f(x.into()), f64::from(y))).collect::<Vec<_>>();
            let found = spearman(&of(|x| x));
            prop_assert_eq!(found, spearman(&of(|x| x * x * x + 5.0)));
            prop_assert_eq!(found.map(|r| -r), spearman(&of(|x| -x)));
        }
    }
}
