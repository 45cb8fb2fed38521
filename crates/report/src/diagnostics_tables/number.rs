//! Numbers over seeds.

use boostfgl_fairness::{mean, sample_std};

/// The text of a missing value.
pub(super) const DASH: &str = "–";

/// Mean ± standard deviation with `decimals` decimals over the seeds that have a value; the value
/// alone if there is one seed.
pub(super) fn spread(values: &[Option<f64>], decimals: usize) -> String {
    let known: Vec<f64> = values.iter().flatten().copied().collect();
    let Some(middle) = mean(&known) else { return DASH.to_owned() };
    let shown = number(middle, decimals);
    match sample_std(&known) {
        _ if values.len() == 1 => shown,
        // The deviation has the notation of the mean: 1.0 ± 0.0, not 1.0 ± 7e-4.
        Some(std) if is_plain(middle, decimals) => format!("{shown} ± {std:.decimals$}"),
        Some(std) => format!("{shown} ± {}", number(std, decimals)),
        None => format!("{shown} ± {DASH}"),
    }
}

/// [`spread`] of fractions, in percent with one decimal.
pub(super) fn percent(values: &[Option<f64>]) -> String {
    spread(&values.iter().map(|value| value.map(|x| 100.0 * x)).collect::<Vec<_>>(), 1)
}

/// The mean alone.
pub(super) fn middle(values: &[Option<f64>], decimals: usize) -> String {
    let known: Vec<f64> = values.iter().flatten().copied().collect();
    mean(&known).map_or_else(|| DASH.to_owned(), |x| number(x, decimals))
}

/// With `decimals` decimals, or in scientific notation if that would print 0 or very many digits.
fn number(x: f64, decimals: usize) -> String {
    if !x.is_finite() {
        DASH.to_owned()
    } else if is_plain(x, decimals) {
        format!("{x:.decimals$}")
    } else {
        format!("{x:.0e}")
    }
}

/// Whether a number is printed without an exponent.
fn is_plain(x: f64, decimals: usize) -> bool {
    let least = 0.5 * 0.1f64.powi(i32::try_from(decimals).unwrap_or(i32::MAX));
    x == 0.0 || (least..1e6).contains(&x.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_by_hand() {
        assert_eq!(spread(&[Some(1.0), None, Some(2.0)], 2), "1.50 ± 0.71");
        assert_eq!(
            (spread(&[Some(1.0)], 1), spread(&[Some(1.0), None], 1)),
            ("1.0".into(), "1.0 ± –".into())
        );
        assert_eq!((spread(&[None, None], 1), spread(&[], 1)), ("–".into(), "–".into()));
        assert_eq!(percent(&[Some(0.125)]), "12.5");
        assert_eq!(spread(&[Some(1.0), Some(1.001)], 1), "1.0 ± 0.0");
        assert_eq!(spread(&[Some(1e-5), Some(3e-5)], 2), "2e-5 ± 1e-5");
        assert_eq!(middle(&[Some(-0.00002), Some(-0.00004)], 4), "-3e-5");
        assert_eq!(
            (number(-2.5e7, 2), number(0.0, 2), number(f64::NAN, 2)),
            ("-2e7".into(), "0.00".into(), "–".into())
        );
    }
}
