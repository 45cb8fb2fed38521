//! Weighted L1 distances between all pairs of rows.

use super::dispatch;
use crate::Real;

/// Numbers added side by side in a distance. Rows are padded to a multiple of it.
const LANES: usize = 8;

dispatch! {
    /// `total` = Σ_{i<j} w[i,j] · ‖xᵢ − xⱼ‖₁, and its gradient with respect to x (0 where two numbers are equal). `weights`
    /// has `x.len() / stride` rows of `weight_stride` numbers, of which those right of the diagonal are read.
    fn weighted_l1<T: Real>(
        x: &[T],
        stride: usize,
        weights: &[T],
        weight_stride: usize,
        gradient: &mut [T],
        total: &mut f64,
    ) {
        gradient.fill(T::ZERO);
        *total = 0.0;
        for i in 0..x.len() / stride {
            let (before, after) = gradient.split_at_mut((i + 1) * stride);
            let own = &mut before[i * stride..];
            let a = &x[i * stride..(i + 1) * stride];
            for (j, (b, other)) in x.chunks_exact(stride).skip(i + 1).zip(after.chunks_exact_mut(stride)).enumerate() {
                let weight = weights[i * weight_stride + i + 1 + j];
                let mut lanes = [T::ZERO; LANES];
                let rows = a.chunks_exact(LANES).zip(b.chunks_exact(LANES));
                let gradients = own.chunks_exact_mut(LANES).zip(other.chunks_exact_mut(LANES));
                for ((a, b), (own, other)) in rows.zip(gradients) {
                    for l in 0..LANES {
                        let d = a[l] - b[l];
                        let negative = d < T::ZERO;
                        lanes[l] += if negative { -d } else { d };
                        let slope = if negative { -weight } else if d > T::ZERO { weight } else { T::ZERO };
                        own[l] += slope;
                        other[l] -= slope;
                    }
                }
                *total += weight.f64() * lanes.iter().fold(T::ZERO, |sum, x| sum + *x).f64();
            }
        }
    }
}
