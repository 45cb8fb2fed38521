//! Intervals of shares of few cases, and of their differences.

use super::Interval;

/// The 97.5 % point of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// The 95 % interval of a share, `hits` of `cases` (Wilson 1927); `None` without cases.
///
/// With p̂ = hits / n it is (p̂ + z²/2n ± z √(p̂(1 − p̂)/n + z²/4n²)) / (1 + z²/n). Unlike a
/// bootstrap's it has a width where all cases are right, or all are wrong: one right case of one
/// leaves everything from 21 % on possible.
///
/// ```
/// use boostfgl_fairness::statistics::wilson;
///
/// let one = wilson(1, 1).unwrap();
/// assert!((one.lo - 0.2065).abs() < 1e-4 && one.hi == 1.0);
/// assert_eq!(wilson(0, 0), None);
/// ```
pub fn wilson(hits: u64, cases: u64) -> Option<Interval> {
    if cases == 0 {
        return None;
    }
    let (hits, n) = (hits.min(cases) as f64, cases as f64);
    let share = hits / n;
    let (centre, scale) = (share + Z * Z / (2.0 * n), 1.0 + Z * Z / n);
    let reach = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    // On paper the ends are exactly 0 and 1 at 0 and n hits; rounding may miss them.
    let lo = if hits == 0.0 { 0.0 } else { (centre - reach) / scale };
    let hi = if hits == n { 1.0 } else { (centre + reach) / scale };
    Some(Interval { lo, hi })
}

/// The 95 % interval of the difference of two shares, each `(hits, cases)`, the first minus the
/// second (Newcombe 1998, method 10): d − √((p₁ − l₁)² + (u₂ − p₂)²) to d + √((u₁ − p₁)² + (p₂ −
/// l₂)²) with the ends l, u of [`wilson`]. `None` if one of them has no cases.
pub fn newcombe(first: (u64, u64), second: (u64, u64)) -> Option<Interval> {
    let (a, b) = (wilson(first.0, first.1)?, wilson(second.0, second.1)?);
    let (p, q) = (share(first), share(second));
    Some(Interval { lo: p - q - norm(p - a.lo, b.hi - q), hi: p - q + norm(a.hi - p, q - b.lo) })
}

fn share((hits, cases): (u64, u64)) -> f64 {
    hits.min(cases) as f64 / cases as f64
}

/// √(x² + y²).
fn norm(x: f64, y: f64) -> f64 {
    (x * x + y * y).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_cases_have_no_interval() {
        assert_eq!(
            (wilson(0, 0), newcombe((0, 0), (1, 2)), newcombe((1, 2), (0, 0))),
            (None, None, None)
        );
    }

    proptest! {
        /// The share lies inside, the ends are shares, and no interval is a point.
        #[test]
        fn an_interval_is_never_a_point(cases in 1u64..5000, part in 0.0f64..=1.0) {
            let hits = (part * cases as f64).round() as u64;
            let found = wilson(hits, cases).unwrap();
            let share = hits as f64 / cases as f64;
            prop_assert!(0.0 <= found.lo && found.lo < found.hi && found.hi <= 1.0);
            prop_assert!(found.lo <= share && share <= found.hi);
            // The interval of the misses mirrors that of the hits.
            let wrong = wilson(cases - hits, cases).unwrap();
            prop_assert!((wrong.lo - (1.0 - found.hi)).abs() < 1e-12 && (wrong.hi - (1.0 - found.lo)).abs() < 1e-12);
        }
    }
}
