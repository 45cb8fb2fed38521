//! The hyperbolic tangent and its gradient.

use super::dispatch;
use crate::Real;

dispatch! {
    /// In place x = tanh(x), as 1 − 2 / (e²ˣ + 1): accurate to one unit in the last place of 1, and
    /// tanh(0) = 0 exactly.
    fn tanh<T: Real>(x: &mut [T]) {
        // One exponential and one division per number, and no case for large |x|: a saturated or
        // vanishing exponential gives ±1.
        let two = T::ONE + T::ONE;
        for x in x {
            *x = T::ONE - two / ((*x + *x).exp() + T::ONE);
        }
    }
}

dispatch! {
    /// In place g = g·(1 − y²), the gradient through [`tanh`], whose output is `y`.
    fn tanh_gradient<T: Real>(gradient: &mut [T], output: &[T]) {
        for (g, y) in gradient.iter_mut().zip(output) {
            *g = *g * (T::ONE - *y * *y);
        }
    }
}
