//! The difficulty of nodes: a moving average of how wrong the model is (Eq. node_difficulty).

use boostfgl_nn::{Matrix, Real, StateVisitor, Stateful};

/// The moving average d̄ᵥ of the difficulty of every local node.
///
/// d̄ᵥ ← (1 − μ) d̄ᵥ + μ dᵥ with d̄ᵥ = 0 at first, where dᵥ = 1 − p(yᵥ) for a training node and
/// dᵥ = 1 − max p for any other. Both lie in [0, 1].
#[derive(Clone, Debug)]
pub struct Difficulty<T> {
    mu: T,
    mean: Vec<T>,
}

impl<T: Real> Difficulty<T> {
    /// Difficulty 0 for `nodes` nodes.
    pub fn new(nodes: usize, mu: f64) -> Self {
        Self { mu: T::of(mu), mean: vec![T::ZERO; nodes] }
    }

    /// One round: `probabilities` has a row per node, `label` gives the label of training nodes.
    pub fn update(&mut self, probabilities: &Matrix<T>, label: impl Fn(usize) -> Option<u32>) {
        for (v, mean) in self.mean.iter_mut().enumerate() {
            let d = instant(probabilities.row(v), label(v));
            // A model that overflowed gives NaN, which would stay in the average for ever.
            if d.is_finite() {
                *mean = (T::ONE - self.mu) * *mean + self.mu * d;
            }
        }
    }

    /// d̄ᵥ of every node.
    pub fn mean(&self) -> &[T] {
        &self.mean
    }
}

impl<T: Real> Stateful for Difficulty<T> {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        self.mean[..].visit(visitor)
    }
}

/// dᵥ of one node from its predicted distribution.
pub fn instant<T: Real>(probabilities: &[T], label: Option<u32>) -> T {
    let confidence = match label {
        Some(y) => probabilities[y as usize],
        None => probabilities.iter().fold(T::ZERO, |a, &b| if b > a { b } else { a }),
    };
    // Rounding may leave a sum of probabilities a hair above 1.
    if confidence > T::ONE { T::ZERO } else { T::ONE - confidence }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn difficulties_that_are_not_finite_are_skipped() {
        let mut difficulty = Difficulty::new(2, 0.5);
        difficulty.update(&Matrix::from_rows(2, 2, &[0.25, 0.75, 0.5, 0.5]), |_| Some(0));
        difficulty.update(&Matrix::from_rows(2, 2, &[f64::NAN, f64::NAN, 0.5, 0.5]), |_| Some(0));
        assert_eq!(difficulty.mean(), [0.375, 0.375]);
    }

    proptest! {
        #[test]
        fn stays_in_the_unit_interval_and_has_no_memory_with_mu_1(
            rows in prop::collection::vec((0.0f64..1.0, 0u32..3), 1..8),
            mu in 0.01f64..=1.0,
            rounds in 1usize..6,
        ) {
            let distribution = |(p, _): &(f64, u32)| [*p, (1.0 - p) / 2.0, (1.0 - p) / 2.0];
            let values: Vec<f64> = rows.iter().flat_map(distribution).collect();
            let p = Matrix::from_rows(rows.len(), 3, &values);
            let label = |v: usize| (rows[v].1 < 2).then_some(rows[v].1);
            let mut slow = Difficulty::new(rows.len(), mu);
            let mut fast = Difficulty::new(rows.len(), 1.0);
            for t in 1..=rounds {
                slow.update(&p, label);
                fast.update(&p, label);
                prop_assert!(slow.mean().iter().all(|d| (0.0..=1.0).contains(d)));
                // The same d every round: d̄ = (1 − (1 − μ)ᵗ) d.
                let share = 1.0 - (1.0 - mu).powi(t as i32);
                for v in 0..rows.len() {
                    let d = instant(p.row(v), label(v));
                    prop_assert!((slow.mean()[v] - share * d).abs() < 1e-12);
                    prop_assert_eq!(fast.mean()[v], d);
                }
            }
        }
    }
}
