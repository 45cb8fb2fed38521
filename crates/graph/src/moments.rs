//! Mean and deviation of values, from parts that are combined.

/// The number of values, their mean and the sum of their squared deviations from it.
///
/// Parts that are computed apart are combined without loss of precision (Chan, Golub and LeVeque):
/// clients send these three numbers per column in place of values.
///
/// ```
/// use boostfgl_graph::Moments;
///
/// let whole = Moments::of([2.0, 4.0, 9.0]);
/// let parts = Moments::of([2.0]).with(Moments::of([4.0, 9.0]));
/// assert_eq!((parts.count, parts.mean), (3, 5.0));
/// assert!((parts.deviation() - whole.deviation()).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    /// Number of values.
    pub count: u64,
    /// Their mean; 0 if there are none.
    pub mean: f64,
    /// Σ (x − mean)².
    pub squares: f64,
}

impl Moments {
    /// Those of some values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let one = |x| Self { count: 1, mean: x, squares: 0.0 };
        values.into_iter().fold(Self::default(), |sum, x| sum.with(one(x)))
    }

    /// Those of both parts together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        let count = self.count.saturating_add(other.count);
        if count == 0 {
            return self;
        }
        let share = other.count as f64 / count as f64;
        let apart = other.mean - self.mean;
        Self {
            count,
            mean: self.mean + apart * share,
            squares: self.squares + other.squares + apart * apart * self.count as f64 * share,
        }
    }

    /// √(Σ (x − mean)² / n), as scikit-learn's `StandardScaler` divides by; 0 if there are none.
    pub fn deviation(&self) -> f64 {
        if self.count == 0 { 0.0 } else { libm::sqrt(self.squares / self.count as f64) }
    }

    /// The three numbers as they are sent.
    pub fn to_numbers(self) -> [f64; 3] {
        [self.count as f64, self.mean, self.squares]
    }

    /// The moments that were sent; `None` if no values have such moments.
    pub fn from_numbers([count, mean, squares]: [f64; 3]) -> Option<Self> {
        let counts = count >= 0.0 && count.fract() == 0.0 && count < 9e15;
        let sound = counts && mean.is_finite() && squares.is_finite() && squares >= 0.0;
        sound.then_some(Self { count: count as u64, mean, squares })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_values_have_no_deviation() {
        let none = Moments::of([]);
        assert_eq!((none, none.deviation()), (Moments::default(), 0.0));
        assert_eq!(none.with(none), none);
        assert_eq!(none.with(Moments::of([3.0])), Moments::of([3.0]));
    }

    #[test]
    fn numbers_that_no_values_have_are_refused() {
        let sound = Moments::of([1.0, 5.0]);
        assert_eq!(Moments::from_numbers(sound.to_numbers()), Some(sound));
        for wrong in [[-1.0, 0.0, 0.0], [0.5, 0.0, 0.0], [1.0, f64::NAN, 0.0], [1.0, 0.0, -1.0]] {
            assert_eq!(Moments::from_numbers(wrong), None);
        }
    }

    proptest! {
        /// Two passes over all values give the same, wherever they are cut.
        #[test]
        fn parts_give_what_the_whole_gives(
            values in prop::collection::vec(-1e6f64..1e6, 1..40),
            cut in 0usize..40,
        ) {
            let (first, second) = values.split_at(cut.min(values.len()));
            let parts = Moments::of(first.iter().copied()).with(Moments::of(second.iter().copied()));
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
            prop_assert!((parts.mean - mean).abs() < 1e-8);
            prop_assert!((parts.deviation() - (squares / n).sqrt()).abs() < 1e-6);
        }
    }
}
