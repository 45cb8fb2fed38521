//! Cosines between rows and the contrastive loss over them.

use super::dispatch;
use crate::Real;

/// Numbers added side by side in a dot product. Rows are padded to a multiple of it.
const LANES: usize = 8;

dispatch! {
    /// The contrastive loss of each row of `z` against the same row of `others`, the first of which
    /// is the positive: ℓ = −log(e^{c₀/τ} / Σⱼ e^{cⱼ/τ}), cⱼ = cos(z, otherⱼ), times `scale`, and
    /// its gradient with respect to z.
    ///
    /// A row of zeros has no direction: its cosines are 0, and so is its gradient.
    fn contrast<T: Real>(
        z: &[T],
        others: &[&[T]],
        stride: usize,
        sharpness: T,
        scale: T,
        gradient: &mut [T],
        losses: &mut [T],
    ) {
        let mut cosines = vec![T::ZERO; others.len()];
        let mut inverse = vec![T::ZERO; others.len()];
        for (i, (row, gradient)) in z.chunks_exact(stride).zip(gradient.chunks_exact_mut(stride)).enumerate() {
            let at = i * stride..(i + 1) * stride;
            let own = inverse_norm(dot(row, row));
            for (j, other) in others.iter().enumerate() {
                let other = &other[at.clone()];
                inverse[j] = inverse_norm(dot(other, other));
                cosines[j] = dot(row, other) * own * inverse[j];
            }
            // The softmax of c/τ, shifted by its largest exponent so that it cannot overflow.
            let top = cosines.iter().fold(cosines[0], |top, c| if *c > top { *c } else { top });
            let mut sum = T::ZERO;
            for c in &cosines {
                sum += ((*c - top) * sharpness).exp();
            }
            losses[i] = scale * (sum.ln() - (cosines[0] - top) * sharpness);
            gradient.fill(T::ZERO);
            let mut along = T::ZERO;
            for (j, other) in others.iter().enumerate() {
                let share = ((cosines[j] - top) * sharpness).exp() / sum;
                // ∂ℓ/∂cⱼ, and ∂c/∂z = (o/‖o‖ − c·z/‖z‖) / ‖z‖.
                let slope = scale * sharpness * (if j == 0 { share - T::ONE } else { share });
                let weight = slope * own * inverse[j];
                along += slope * cosines[j];
                for (g, o) in gradient.iter_mut().zip(&other[at.clone()]) {
                    *g = weight.mul_add(*o, *g);
                }
            }
            // The term −cⱼ·z/‖z‖² is the same direction for all j: added once.
            let weight = -(along * own * own);
            for (g, x) in gradient.iter_mut().zip(row) {
                *g = weight.mul_add(*x, *g);
            }
        }
    }
}

/// 1/√x, or 0 for a vector of zeros.
#[inline(always)]
fn inverse_norm<T: Real>(square: T) -> T {
    if square > T::ZERO { T::ONE / square.sqrt() } else { T::ZERO }
}

#[inline(always)]
fn dot<T: Real>(a: &[T], b: &[T]) -> T {
    let mut lanes = [T::ZERO; LANES];
    for (a, b) in a.chunks_exact(LANES).zip(b.chunks_exact(LANES)) {
        for i in 0..LANES {
            lanes[i] = a[i].mul_add(b[i], lanes[i]);
        }
    }
    lanes.iter().fold(T::ZERO, |sum, x| sum + *x)
}
