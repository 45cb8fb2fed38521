//! Weighted L1 distances between all pairs of rows.

use super::dispatch;
use crate::Real;

/// Σ_{i<j} w[i,j] · ‖xᵢ − xⱼ‖₁, and its gradient with respect to x (0 where two numbers are equal).
/// `weights` has `x.len() / stride` rows of `weight_stride` numbers, of which those right of the
/// diagonal are read.
pub(crate) fn weighted_l1<T: Real>(
    x: &[T],
    stride: usize,
    weights: &[T],
    weight_stride: usize,
    gradient: &mut [T],
) -> f64 {
    let mut total = 0.0;
    if stride.is_multiple_of(16) {
        blocks::<T, 16>(x, stride, weights, weight_stride, gradient, &mut total);
    } else {
        blocks::<T, 8>(x, stride, weights, weight_stride, gradient, &mut total);
    }
    total
}

dispatch! {
    /// `W` columns at a time, so that these columns of all rows stay in the first-level cache.
    fn blocks<T: Real, const W: usize>(
        x: &[T],
        stride: usize,
        weights: &[T],
        weight_stride: usize,
        gradient: &mut [T],
        total: &mut f64,
    ) {
        gradient.fill(T::ZERO);
        let (x, _) = x.as_chunks::<W>();
        let (gradient, _) = gradient.as_chunks_mut::<W>();
        let per_row = stride / W;
        let rows = x.len() / per_row.max(1);
        for block in 0..per_row {
            for i in 0..rows {
                let a = x[i * per_row + block];
                let mut own = gradient[i * per_row + block];
                let mut sums = [T::ZERO; W];
                for j in i + 1..rows {
                    let (b, other) = (&x[j * per_row + block], &mut gradient[j * per_row + block]);
                    let weight = weights[i * weight_stride + j];
                    for l in 0..W {
                        let d = a[l] - b[l];
                        // w·sign(d) by two selections, which vectorise; 0 where the numbers are
                        // equal.
                        let up = if d > T::ZERO { weight } else { T::ZERO };
                        let down = if d < T::ZERO { weight } else { T::ZERO };
                        let slope = up - down;
                        own[l] += slope;
                        other[l] -= slope;
                        // w·|d| = w·sign(d)·d.
                        sums[l] = slope.mul_add(d, sums[l]);
                    }
                }
                gradient[i * per_row + block] = own;
                *total += sums.iter().fold(T::ZERO, |sum, x| sum + *x).f64();
            }
        }
    }
}
