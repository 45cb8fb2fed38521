//! Mean and spread over seeds.

use serde::{Deserialize, Serialize};

use crate::{Readings, Scores};

/// Mean and sample standard deviation of [`Scores`], value by value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Aggregate {
    /// The mean over the seeds that have a value; `None` if none has.
    pub mean: Scores,
    /// The standard deviation with n − 1 over the same seeds; `None` for fewer than two, since one
    /// run has no spread and a zero would look like a measured one.
    pub std: Scores,
}

/// Mean and spread over the scores of several seeds.
///
/// A seed whose group is empty has no value there; mean and spread then run over the others.
///
/// ```
/// use boostfgl_fairness::{Readings, Scores, aggregate};
///
/// let run = |x| Scores { accuracy: Readings { pooled: x, ..Readings::default() }, ..Scores::default() };
/// let seeds = aggregate(&[run(Some(0.5)), run(Some(0.7)), run(None)]);
/// assert!((seeds.mean.accuracy.pooled.unwrap() - 0.6).abs() < 1e-15);
/// assert!((seeds.std.accuracy.pooled.unwrap() - 0.02f64.sqrt()).abs() < 1e-15);
/// assert_eq!(aggregate(&[run(Some(0.5))]).std.accuracy.pooled, None);
/// ```
pub fn aggregate(seeds: &[Scores]) -> Aggregate {
    Aggregate { mean: across(seeds, mean), std: across(seeds, sample_std) }
}

/// x̄ = Σ x / n; `None` without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// √(Σ (x − x̄)² / (n − 1)); `None` for fewer than two values.
pub fn sample_std(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// Applies `statistic` to each reading of each headline metric, over the seeds that have it.
fn across(seeds: &[Scores], statistic: fn(&[f64]) -> Option<f64>) -> Scores {
    Scores::from_fn(|headline| {
        Readings::from_fn(|reading| {
            let values = seeds.iter().filter_map(|scores| scores.get(headline).get(reading));
            statistic(&values.collect::<Vec<f64>>())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_uses_n_minus_one() {
        // Python: statistics.stdev([2, 4, 4, 4, 5, 5, 7, 9]) = 2.138089935299395
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(mean(&values), Some(5.0));
        assert!((sample_std(&values).unwrap() - 2.138_089_935_299_395).abs() < 1e-15);
    }

    #[test]
    fn no_seed_no_number() {
        assert_eq!(aggregate(&[]), Aggregate::default());
        assert_eq!((mean(&[]), sample_std(&[]), sample_std(&[1.0])), (None, None, None));
    }
}
