//! Spearman's rank correlation.

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
    let (x, y): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (x, y) = (mid_ranks(&x), mid_ranks(&y));
    let spread = (rank_products(&x, &x) * rank_products(&y, &y)).sqrt();
    // Rounding may leave a perfect correlation just beyond 1.
    (spread > 0.0).then(|| (rank_products(&x, &y) / spread).clamp(-1.0, 1.0))
}

/// Σ (aᵢ − R̄)(bᵢ − R̄) of two rankings.
fn rank_products(a: &[f64], b: &[f64]) -> f64 {
    // Mid-ranks keep the sum of the ranks 1..=n, so R̄ = (n + 1) / 2 with ties, too.
    let mean = (a.len() + 1) as f64 / 2.0;
    a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum()
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
        /// A rising map of x leaves the correlation as it is, a falling one changes its sign.
        #[test]
        fn monotone_maps_change_nothing(pairs in prop::collection::vec((-9i32..9, -9i32..9), 3..12)) {
            let of = |f: fn(f64) -> f64| pairs.iter().map(|&(x, y)| (f(x.into()), f64::from(y))).collect::<Vec<_>>();
            let found = spearman(&of(|x| x));
            prop_assert_eq!(found, spearman(&of(|x| x * x * x + 5.0)));
            prop_assert_eq!(found.map(|r| -r), spearman(&of(|x| -x)));
        }
    }
}
