//! The hyperbolic tangent and its gradient.

use super::dispatch;
use crate::Real;

dispatch! {
    /// In place x = tanh(x), as 1 − 2 / (e²ˣ + 1): right to a unit in the last place of 1, and 0
    /// stays 0.
    fn tanh<T: Real>(x: &mut [T]) {
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
