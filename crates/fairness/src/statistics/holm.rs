//! Adjustment of p-values for several tests.

/// Holm's step-down adjustment (Holm 1979): p-values that may each be compared with the level of
/// the whole family.
///
/// With p₍₁₎ ≤ … ≤ p₍ₘ₎ the adjusted values are p̃₍ᵢ₎ = max over j ≤ i of min(1, (m − j + 1) p₍ⱼ₎),
/// returned in the order given. The chance of at least one false positive in the family is then at
/// most the level, however the tests depend on each other. Tests without a p-value stay without one
/// and do not count in m.
///
/// ```
/// use boostfgl_fairness::statistics::holm;
///
/// assert_eq!(holm(&[Some(0.03), None, Some(0.01)]), [Some(0.03), None, Some(0.02)]);
/// ```
pub fn holm(p: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut known: Vec<(usize, f64)> =
        p.iter().enumerate().filter_map(|(at, p)| Some((at, (*p)?))).collect();
    known.sort_by(|a, b| a.1.total_cmp(&b.1));
    let tests = known.len();
    let mut adjusted = vec![None; p.len()];
    let mut least = 0.0f64;
    for (done, (at, p)) in known.into_iter().enumerate() {
        // The running maximum keeps adjusted values in the order of the raw ones.
        least = least.max(((tests - done) as f64 * p).min(1.0));
        adjusted[at] = Some(least);
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // 4 × 0.01, 3 × 0.02, 2 × 0.03 (not below the one before), 1 × 0.04 (raised to it).
        let adjusted = holm(&[Some(0.04), Some(0.01), Some(0.03), Some(0.02)]);
        let expected = [0.06, 0.04, 0.06, 0.06];
        for (found, expected) in adjusted.iter().zip(expected) {
            assert!((found.unwrap() - expected).abs() < 1e-15, "{adjusted:?}");
        }
        assert_eq!(holm(&[Some(0.7), Some(0.9)]), [Some(1.0), Some(1.0)]);
        assert_eq!((holm(&[]), holm(&[None])), (vec![], vec![None]));
    }
}
