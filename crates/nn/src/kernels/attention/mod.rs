//! Attention over the arcs of a graph, several heads side by side.
//!
//! A row of representations holds its heads one after the other. Numbers per arc and head are
//! stored arc by arc, `arcs[k · H + h]`, in the order of the propagation matrix: O(arcs · heads)
//! memory, never O(arcs · width). Numbers per node and head are a [`Matrix`] with at most [`LANES`]
//! columns.

mod rows;

use crate::{Csr, Matrix, Real, parallel};
use rows::{
    add_outer_rows, gather_rows, head_dots, outer_sum_rows, softmax_gradient_of_arcs,
    softmax_of_arcs, sum_rows,
};
use std::ops::Range;

/// The largest number of heads, and the stride of a matrix with one column per head.
pub(crate) const LANES: usize = 8;

/// LeakyReLU's slope below zero.
pub(crate) const SLOPE: f64 = 0.2;

/// The division of the columns of a representation among heads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heads {
    pub(crate) count: usize,
    /// Columns of a head. A single head includes the padding, which is zero, so that its loops have
    /// no tail.
    width: usize,
    stride: usize,
}

impl Heads {
    /// The heads of representations `z` under attention vectors `a`, one row each.
    ///
    /// # Panics
    /// If the shapes do not fit, or there are neither 1, 2, 4 nor 8 heads.
    pub(crate) fn of<T: Real>(z: &Matrix<T>, a: &Matrix<T>) -> Self {
        assert_eq!(z.columns(), a.rows() * a.columns(), "columns of all heads");
        assert!([1, 2, 4, LANES].contains(&a.rows()), "1, 2, 4 or 8 heads, not {}", a.rows());
        let width = if a.rows() == 1 { z.stride() } else { a.columns() };
        Self { count: a.rows(), width, stride: z.stride() }
    }

    fn columns(self, h: usize) -> Range<usize> {
        h * self.width..(h + 1) * self.width
    }
}

/// Numbers per arc and head, read along the rows of `pattern`.
#[derive(Clone, Copy)]
pub(crate) struct Arcs<'a, T> {
    pub(crate) pattern: &'a Csr<T>,
    /// The arc of each entry of the pattern; `None` if they are in the same order. The backward
    /// pass reads the arcs in transposed order without copying them.
    pub(crate) from: Option<&'a [u32]>,
    pub(crate) values: &'a [T],
}

impl<T: Real> Arcs<'_, T> {
    /// The numbers of the arc at position `k` of the pattern.
    #[inline(always)]
    fn at(&self, k: usize, heads: usize) -> &[T] {
        let arc = self.from.map_or(k, |from| from[k] as usize);
        &self.values[arc * heads..(arc + 1) * heads]
    }
}

/// The inputs and the output of a softmax over arcs.
#[derive(Clone, Copy)]
pub(crate) struct Attended<'a, T> {
    /// sᵤ of every source and head.
    pub(crate) source: &'a Matrix<T>,
    /// tᵥ of every target and head.
    pub(crate) target: &'a Matrix<T>,
    /// αᵤᵥ of every arc and head.
    pub(crate) weights: &'a [T],
}

/// out[i, h] = ⟨z[rows[i]]ʰ, aʰ⟩, for all rows if `None`.
pub(crate) fn scores<T: Real>(
    z: &Matrix<T>,
    a: &Matrix<T>,
    rows: Option<&[u32]>,
    out: &mut Matrix<T>,
) {
    let (heads, work) = (Heads::of(z, a), out.rows() * z.stride());
    parallel::over_rows(out.data_mut(), LANES, work, |range, out| {
        head_dots(z.data(), heads, a, rows, range, out);
    });
}

/// αᵤᵥ = Pᵥᵤ·exp(e) / Σ Pᵥᵤ·exp(e) over the arcs into v, e = LeakyReLU(sᵤ + tᵥ); all 0 if every Pᵥᵤ
/// is.
pub(crate) fn weights<T: Real>(
    p: &Csr<T>,
    source: &Matrix<T>,
    target: &Matrix<T>,
    heads: Heads,
    out: &mut [T],
) {
    over_arcs(p, heads, out, |range, out| match heads.count {
        1 => softmax_of_arcs::<T, 1>(p, range, source.data(), target.data(), out),
        2 => softmax_of_arcs::<T, 2>(p, range, source.data(), target.data(), out),
        4 => softmax_of_arcs::<T, 4>(p, range, source.data(), target.data(), out),
        _ => softmax_of_arcs::<T, LANES>(p, range, source.data(), target.data(), out),
    });
}

/// out[v]ʰ = Σ over the entries (v, u) of the pattern of arcʰ · z[u]ʰ.
pub(crate) fn gather<T: Real>(arcs: Arcs<'_, T>, z: &Matrix<T>, heads: Heads, out: &mut Matrix<T>) {
    let (stride, work) = (heads.stride, arcs.pattern.non_zeros() * heads.stride);
    // The widest vector that divides a head, so that none crosses the border of two heads.
    let lanes = [16, 8, 4, 2]
        .into_iter()
        .find(|w| heads.width.is_multiple_of(*w) && stride.is_multiple_of(*w));
    parallel::over_rows(out.data_mut(), stride, work, |range, out| match lanes {
        Some(16) => gather_rows::<T, 16>(arcs, range, z.data(), heads, out),
        Some(8) => gather_rows::<T, 8>(arcs, range, z.data(), heads, out),
        Some(4) => gather_rows::<T, 4>(arcs, range, z.data(), heads, out),
        Some(2) => gather_rows::<T, 2>(arcs, range, z.data(), heads, out),
        _ => gather_rows::<T, 1>(arcs, range, z.data(), heads, out),
    });
}

/// ∂(sᵤ + tᵥ) of every arc and head, given the gradient of the gathered rows: with a = ⟨gᵥʰ, zᵤʰ⟩
/// and ā its mean under α, it is α·(a − ā)·LeakyReLU'(sᵤ + tᵥ).
pub(crate) fn arc_gradients<T: Real>(
    p: &Csr<T>,
    attended: Attended<'_, T>,
    gradient: &Matrix<T>,
    z: &Matrix<T>,
    heads: Heads,
    out: &mut [T],
) {
    over_arcs(p, heads, out, |range, out| match heads.count {
        1 => softmax_gradient_of_arcs::<T, 1>(p, range, attended, gradient, z, heads, out),
        2 => softmax_gradient_of_arcs::<T, 2>(p, range, attended, gradient, z, heads, out),
        4 => softmax_gradient_of_arcs::<T, 4>(p, range, attended, gradient, z, heads, out),
        _ => softmax_gradient_of_arcs::<T, LANES>(p, range, attended, gradient, z, heads, out),
    });
}

/// out[v, h] = Σ over the entries of row v of the pattern.
pub(crate) fn sum_arcs<T: Real>(arcs: Arcs<'_, T>, heads: Heads, out: &mut Matrix<T>) {
    let work = arcs.pattern.non_zeros() * heads.count;
    parallel::over_rows(out.data_mut(), LANES, work, |range, out| {
        sum_rows(arcs, range, heads.count, out);
    });
}

/// out[i]ʰ += scores[i, h] · aʰ.
pub(crate) fn add_outer<T: Real>(scores: &Matrix<T>, a: &Matrix<T>, out: &mut Matrix<T>) {
    let (heads, work) = (Heads::of(out, a), out.data().len());
    parallel::over_rows(out.data_mut(), heads.stride, work, |rows, out| {
        add_outer_rows(&scores.data()[rows.start * LANES..rows.end * LANES], a, heads, out);
    });
}

/// outʰ = Σᵢ scores[i, h] · z[i]ʰ.
pub(crate) fn outer_sum<T: Real>(scores: &Matrix<T>, z: &Matrix<T>, out: &mut Matrix<T>) {
    let (heads, stride) = (Heads::of(z, out), out.stride());
    parallel::partial_sums(z.rows(), out.data_mut(), |rows, out| {
        let (scores, z) = (
            &scores.data()[rows.start * LANES..rows.end * LANES],
            &z.data()[rows.start * heads.stride..],
        );
        outer_sum_rows(scores, z, heads, stride, out);
    });
}

/// Calls `piece(rows, out)` for pieces of the numbers of all arcs.
fn over_arcs<T: Real>(
    p: &Csr<T>,
    heads: Heads,
    out: &mut [T],
    piece: impl Fn(Range<usize>, &mut [T]) + Sync,
) {
    // Each number costs an exponential or a dot product of two rows.
    let work = out.len() * heads.width.max(16);
    parallel::over_segments(out, p.rows(), |row| p.row_range(row).end * heads.count, work, piece);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Level;

    fn matrix(rows: usize, columns: usize, salt: usize) -> Matrix<f32> {
        let values: Vec<f32> =
            (0..rows * columns).map(|i| ((i * 29 + salt) % 23) as f32 * 0.17 - 1.9).collect();
        Matrix::from_rows(rows, columns, &values)
    }

    /// Every kernel on a small graph with zero priors and a row without entries.
    fn everything(heads: usize, width: usize) -> Vec<f32> {
        let entries: Vec<(usize, u32, f32)> =
            (0..40).map(|i| ((i * 7) % 9, ((i * 5) % 11) as u32, (i % 4) as f32 * 0.5)).collect();
        let p = Csr::from_entries(10, 11, &entries);
        let (z, a, g) =
            (matrix(11, heads * width, 3), matrix(heads, width, 8), matrix(10, heads * width, 5));
        let shape = Heads::of(&z, &a);
        let (mut source, mut target) = (Matrix::zeros(11, heads), Matrix::zeros(10, heads));
        scores(&z, &a, None, &mut source);
        scores(&z, &a, Some(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), &mut target);
        let mut alpha = vec![0.0; p.non_zeros() * heads];
        weights(&p, &source, &target, shape, &mut alpha);
        let mut out = Matrix::zeros(10, heads * width);
        gather(Arcs { pattern: &p, from: None, values: &alpha }, &z, shape, &mut out);
        let mut back = vec![0.0; alpha.len()];
        let attended = Attended { source: &source, target: &target, weights: &alpha };
        arc_gradients(&p, attended, &g, &z, shape, &mut back);
        for v in 0..10 {
            let sum: f32 = p.row_range(v).map(|k| alpha[k * heads]).sum();
            let prior: f32 = p.row_range(v).map(|k| p.values()[k]).sum();
            assert!(
                (sum - if prior > 0.0 { 1.0 } else { 0.0 }).abs() < 1e-6,
                "row {v} sums to {sum}"
            );
        }
        assert!(
            alpha
                .iter()
                .step_by(heads)
                .zip(p.values())
                .all(|(alpha, prior)| *prior > 0.0 || *alpha == 0.0)
        );
        [alpha, out.to_vec(), back].concat()
    }

    #[test]
    fn all_levels_give_the_same_digits() {
        for (heads, width) in [(1, 7), (1, 40), (2, 3), (4, 16), (8, 1), (8, 8), (8, 24)] {
            let results: Vec<Vec<f32>> = Level::available()
                .into_iter()
                .map(|level| {
                    level.install();
                    everything(heads, width)
                })
                .collect();
            Level::best().install();
            assert!(results.iter().all(|r| *r == results[0]), "{heads} heads of width {width}");
            assert!(results[0].iter().all(|x| x.is_finite()));
        }
    }
}
