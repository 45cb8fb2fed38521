//! A learnt mixture of two parameter vectors, number by number, and its gradient.

use super::dispatch;
use crate::Real;
use crate::parallel::over_pieces;

/// out = 1/(1 + e^{−a}), number by number.
///
/// # Panics
/// If the lengths differ.
pub fn sigmoid<T: Real>(a: &[T], out: &mut [T]) {
    assert_eq!(a.len(), out.len(), "vectors of the same length");
    over_pieces([out], |start, [out]| {
        sigmoid_piece(&a[start..start + out.len()], out);
    });
}

/// out = α·first + (1 − α)·second, number by number.
///
/// # Panics
/// If the lengths differ.
pub fn mix<T: Real>(alpha: &[T], first: &[T], second: &[T], out: &mut [T]) {
    assert!(
        [alpha.len(), first.len(), second.len()] == [out.len(); 3],
        "vectors of the same length"
    );
    over_pieces([out], |start, [out]| {
        let range = start..start + out.len();
        mix_piece(&alpha[range.clone()], &first[range.clone()], &second[range], out);
    });
}

/// The gradient of [`mix`] and [`sigmoid`]: `gradient`, with respect to the mixture, becomes that
/// with respect to `second`, (1 − α)·g, and `by_a` that with respect to a, α(1 − α)(first −
/// second)·g.
///
/// # Panics
/// If the lengths differ.
pub fn unmix<T: Real>(alpha: &[T], first: &[T], second: &[T], gradient: &mut [T], by_a: &mut [T]) {
    assert!(
        [alpha.len(), first.len(), second.len(), by_a.len()] == [gradient.len(); 4],
        "vectors of the same length"
    );
    over_pieces([gradient, by_a], |start, [gradient, by_a]| {
        let range = start..start + gradient.len();
        unmix_piece(&alpha[range.clone()], &first[range.clone()], &second[range], gradient, by_a);
    });
}

dispatch! {
    fn sigmoid_piece<T: Real>(a: &[T], out: &mut [T]) {
        for (out, a) in out.iter_mut().zip(a) {
            *out = T::ONE / (T::ONE + (-*a).exp());
        }
    }
}

dispatch! {
    fn mix_piece<T: Real>(alpha: &[T], first: &[T], second: &[T], out: &mut [T]) {
        for (((out, alpha), first), second) in out.iter_mut().zip(alpha).zip(first).zip(second) {
            // second + α·(first − second): exact at α = 0, with fewer roundings than two products.
            *out = alpha.mul_add(*first - *second, *second);
        }
    }
}

dispatch! {
    fn unmix_piece<T: Real>(alpha: &[T], first: &[T], second: &[T], gradient: &mut [T], by_a: &mut [T]) {
        let sides = first.iter().zip(second);
        for (((g, by_a), alpha), (first, second)) in gradient.iter_mut().zip(by_a).zip(alpha).zip(sides) {
            // σ' = σ(1 − σ), so that a itself is not needed. `by_a` first: it reads g.
            let rest = T::ONE - *alpha;
            *by_a = *alpha * rest * (*first - *second) * *g;
            *g = rest * *g;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against finite differences of f(a, second) = ⟨weights, mix⟩.
    #[test]
    fn gradients_agree_with_finite_differences() {
        let numbers =
            |seed: f64| (0..20).map(|i| libm::sin(seed + 1.7 * f64::from(i))).collect::<Vec<f64>>();
        let (a, first, second, weights) = (numbers(0.1), numbers(0.7), numbers(1.9), numbers(2.3));
        let value = |a: &[f64], second: &[f64]| {
            let (mut alpha, mut out) = (vec![0.0; 20], vec![0.0; 20]);
            sigmoid(a, &mut alpha);
            mix(&alpha, &first, second, &mut out);
            out.iter().zip(&weights).map(|(x, w)| x * w).sum::<f64>()
        };
        let (mut alpha, mut gradient, mut by_a) = (vec![0.0; 20], weights.clone(), vec![0.0; 20]);
        sigmoid(&a, &mut alpha);
        unmix(&alpha, &first, &second, &mut gradient, &mut by_a);
        let h = 1e-6;
        let shifted = |x: &[f64], i: usize, by: f64| {
            let mut x = x.to_vec();
            x[i] += by;
            x
        };
        for i in 0..20 {
            let numeric = (value(&shifted(&a, i, h), &second)
                - value(&shifted(&a, i, -h), &second))
                / (2.0 * h);
            assert!((numeric - by_a[i]).abs() < 1e-9, "a[{i}]");
            let numeric = (value(&a, &shifted(&second, i, h))
                - value(&a, &shifted(&second, i, -h)))
                / (2.0 * h);
            assert!((numeric - gradient[i]).abs() < 1e-9, "second[{i}]");
        }
    }

    #[test]
    fn zero_mixes_equally_and_extremes_take_one_side() {
        let (mut alpha, mut out) = ([0.0f32; 3], [0.0f32; 3]);
        sigmoid(&[0.0, 200.0, -200.0], &mut alpha);
        mix(&alpha, &[1.0; 3], &[3.0; 3], &mut out);
        assert_eq!(out, [2.0, 1.0, 3.0]);
    }
}
