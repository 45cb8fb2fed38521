//! Dense products whose digits are the same on every CPU: each number is a chain of fused
//! multiply-adds in the order of the terms.

use super::dispatch;
use super::gemm::{Shape, Strided, Target};
use crate::Real;

/// Rows of the left side that use one row of the right side while it is in the cache.
const ROWS: usize = 4;

/// out[i, j] = Σ_d a[i, d] · b[d, j] on one thread, where everything lies inside its slice.
pub(super) fn product<T: Real>(
    shape: Shape,
    a: Strided<'_, T>,
    b: Strided<'_, T>,
    target: Target<'_, T>,
) {
    let Shape { rows, columns, depth } = shape;
    let Target { out, stride, add } = target;
    // Copied in row order, also where the right side is transposed, so that the inner loop below
    // reads consecutive numbers.
    let right: Vec<T> = (0..depth).flat_map(|d| (0..columns).map(move |j| b.at(d, j))).collect();
    for first in (0..rows).step_by(ROWS) {
        let count = ROWS.min(rows - first);
        let left: Vec<T> =
            (0..depth).flat_map(|d| (0..count).map(move |i| a.at(first + i, d))).collect();
        let out = &mut out[first * stride..];
        if !add {
            (0..count).for_each(|i| out[i * stride..][..columns].fill(T::ZERO));
        }
        add_rows(&left, count, &right, columns, out, stride);
    }
}

dispatch! {
    /// Adds the products of `count` rows, whose numbers `left` holds term by term.
    fn add_rows<T: Real>(left: &[T], count: usize, right: &[T], columns: usize, out: &mut [T], stride: usize) {
        // Terms are the outer loop and columns the inner one: every number of `out` takes its terms
        // in order, whatever the vector width.
        for (left, right) in left.chunks_exact(count).zip(right.chunks_exact(columns)) {
            for (i, a) in left.iter().enumerate() {
                let row = &mut out[i * stride..][..columns];
                row.iter_mut().zip(right).for_each(|(sum, b)| *sum = a.mul_add(*b, *sum));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::kernels::gemm::{self, Dense};
    use crate::{Level, Matrix};
    use proptest::prelude::*;

    fn matrix(rows: usize, columns: usize, salt: u32) -> Matrix<f32> {
        let draw = |i: usize| {
            ((i as u32).wrapping_mul(2_654_435_761).wrapping_add(salt) >> 8) as f32 / 1e6 - 8.0
        };
        Matrix::from_rows(rows, columns, &(0..rows * columns).map(draw).collect::<Vec<_>>())
    }

    /// The definition: one chain of fused multiply-adds per number.
    fn chain(a: &Matrix<f32>, b: &Matrix<f32>) -> Vec<f32> {
        let cell = |r: usize, c: usize| {
            (0..a.columns()).fold(0.0f32, |sum, d| a.row(r)[d].mul_add(b.row(d)[c], sum))
        };
        (0..a.rows())
            .flat_map(|r| (0..b.columns()).map(move |c| (r, c)))
            .map(|(r, c)| cell(r, c))
            .collect()
    }

    proptest! {
        /// Bit for bit, at every level that this CPU has.
        #[test]
        fn every_level_gives_the_digits_of_the_definition(n in 1usize..30, d in 1usize..30, m in 1usize..40) {
            let (a, b) = (matrix(n, d, 1), matrix(d, m, 5));
            Dense::Ordered.install();
            for level in Level::available() {
                level.install();
                let mut out = Matrix::zeros(n, m);
                gemm::multiply(&a, &b, &mut out);
                prop_assert_eq!(out.to_vec(), chain(&a, &b));
            }
            Level::best().install();
            Dense::Fastest.install();
        }
    }
}
