//! Products with half-sparse activations, as ReLU and dropout leave them in a wide layer.
//!
//! About a quarter of such a matrix is *active*, that is, not zero. A dense product multiplies all
//! of it; a plain sparse one fetches a row of the other side from memory for every active number.
//! Here the other side is cut into tiles of [`DEEP`] rows by [`WIDE`] columns, which stay in the
//! first-level cache while many rows of the active side use them.
//!
//! Every output number of [`multiply`] is one sequence of fused multiply-adds in the order of the
//! inner index, so that the tiling does not change the digits.

use super::dispatch;
use crate::parallel::over_row_blocks;
use crate::{Matrix, Real};
use std::ops::Range;

/// Rows of a tile.
const DEEP: usize = 64;
/// Columns of a tile: 8 AVX2 registers of accumulators, enough to hide the latency of a fused
/// multiply-add.
const WIDE: usize = 64;
/// Columns of a tile for dot products: long rows, so that adding up the lanes at the end costs
/// little.
const LONG: usize = 256;
/// Rows of the active side that use a tile before the next tile is loaded.
const TOGETHER: usize = 128;
/// Rows of the active side per task. Every task packs its own tiles.
const TASK: usize = 1024;

/// The active numbers of a matrix, by row and block of [`DEEP`] columns.
#[derive(Debug)]
pub(crate) struct Active<T> {
    rows: usize,
    columns: usize,
    /// The start of the numbers of every (row, block), followed by the total.
    starts: Vec<u32>,
    /// The column inside the block: a byte each, a quarter of the traffic of full indices.
    places: Vec<u8>,
    values: Vec<T>,
}

impl<T: Real> Active<T> {
    /// The numbers of a matrix that are not 0.
    pub(crate) fn of(matrix: &Matrix<T>) -> Self {
        Self::collect(matrix, matrix.rows(), matrix.columns(), |r, c| (r, c))
    }

    /// The numbers of the transpose of a matrix that are not 0.
    pub(crate) fn of_transposed(matrix: &Matrix<T>) -> Self {
        Self::collect(matrix, matrix.columns(), matrix.rows(), |r, c| (c, r))
    }

    /// `position` maps (r, c) of the matrix to row and column of the result.
    fn collect(
        matrix: &Matrix<T>,
        rows: usize,
        columns: usize,
        position: impl Fn(usize, usize) -> (usize, usize),
    ) -> Self {
        let blocks = columns.div_ceil(DEEP);
        // A counting sort in two passes over the matrix: count per (row, block), then place. Rows
        // are visited in order, so the numbers of a block are sorted by column in both directions.
        let mut cursor = vec![0u32; rows * blocks + 1];
        for_each_non_zero(matrix, |r, c, _| {
            let (row, column) = position(r, c);
            cursor[row * blocks + column / DEEP + 1] += 1;
        });
        (0..rows * blocks).for_each(|at| cursor[at + 1] += cursor[at]);
        let starts = cursor.clone();
        let count = starts[rows * blocks] as usize;
        let (mut places, mut values) = (vec![0; count], vec![T::ZERO; count]);
        for_each_non_zero(matrix, |r, c, x| {
            let (row, column) = position(r, c);
            let next = &mut cursor[row * blocks + column / DEEP];
            let free = *next as usize;
            (places[free], values[free]) = ((column % DEEP) as u8, x);
            *next += 1;
        });
        Self { rows, columns, starts, places, values }
    }

    fn blocks(&self) -> usize {
        self.columns.div_ceil(DEEP)
    }

    /// The numbers of a block of a row.
    #[inline(always)]
    fn range(&self, row: usize, block: usize) -> Range<usize> {
        let at = row * self.blocks() + block;
        self.starts[at] as usize..self.starts[at + 1] as usize
    }
}

/// Calls `visit(row, column, value)` for every number that is not 0, row by row.
fn for_each_non_zero<T: Real>(matrix: &Matrix<T>, mut visit: impl FnMut(usize, usize, T)) {
    for r in 0..matrix.rows() {
        for (c, &x) in matrix.row(r).iter().enumerate() {
            if x != T::ZERO {
                visit(r, c, x);
            }
        }
    }
}

/// out = a · b.
///
/// # Panics
/// If the shapes do not fit.
pub(crate) fn multiply<T: Real>(a: &Active<T>, b: &Matrix<T>, out: &mut Matrix<T>) {
    assert_eq!(
        (a.columns, a.rows, b.columns()),
        (b.rows(), out.rows(), out.columns()),
        "shapes of a · b"
    );
    let stride = out.stride();
    over_row_blocks(out.data_mut(), stride, TASK, |rows, out| {
        let mut tiles = vec![[[T::ZERO; WIDE]; DEEP]; a.blocks()];
        let mut sums = vec![[T::ZERO; WIDE]; TOGETHER];
        for first in (0..stride).step_by(WIDE) {
            pack(b, first, &mut tiles);
            for start in rows.clone().step_by(TOGETHER) {
                let some = start..(start + TOGETHER).min(rows.end);
                // Blocks in order: each sum takes its terms in the order of the inner index.
                sums.fill([T::ZERO; WIDE]);
                for (block, tile) in tiles.iter().enumerate() {
                    add_products(a, some.clone(), block, tile, &mut sums);
                }
                let width = WIDE.min(stride - first);
                for (sum, r) in sums.iter().zip(some) {
                    out[(r - rows.start) * stride + first..][..width]
                        .copy_from_slice(&sum[..width]);
                }
            }
        }
    });
}

/// out = (g · bᵀ) where the matrix behind `a` is active, 0 elsewhere.
///
/// # Panics
/// If the shapes do not fit.
pub(crate) fn multiply_where_active<T: Real>(
    a: &Active<T>,
    g: &Matrix<T>,
    b: &Matrix<T>,
    out: &mut Matrix<T>,
) {
    assert_eq!(
        (g.rows(), b.rows(), g.columns()),
        (a.rows, a.columns, b.columns()),
        "shapes of g · bᵀ"
    );
    assert_eq!((out.rows(), out.columns()), (a.rows, a.columns), "the shape of what is active");
    let (stride, inner) = (out.stride(), g.stride());
    over_row_blocks(out.data_mut(), stride, TASK, |rows, out| {
        out.fill(T::ZERO);
        // Dot products are kept per active number, in the order of `a`, and written out at the end:
        // the inner loops then touch a short dense buffer instead of scattered entries of `out`.
        let base = a.starts[rows.start * a.blocks()] as usize;
        let mut dots = vec![T::ZERO; a.starts[rows.end * a.blocks()] as usize - base];
        let mut tiles = vec![[[T::ZERO; LONG]; DEEP]; a.blocks()];
        let mut left = vec![[T::ZERO; LONG]; TOGETHER];
        for first in (0..inner).step_by(LONG) {
            pack(b, first, &mut tiles);
            let width = LONG.min(inner - first);
            for start in rows.clone().step_by(TOGETHER) {
                let some = start..(start + TOGETHER).min(rows.end);
                for (left, r) in left.iter_mut().zip(some.clone()) {
                    left[..width].copy_from_slice(&g.data()[r * inner + first..][..width]);
                    left[width..].fill(T::ZERO);
                }
                for (block, tile) in tiles.iter().enumerate() {
                    add_dots(a, some.clone(), block, tile, &left, &mut dots, base);
                }
            }
        }
        for r in rows.clone() {
            for block in 0..a.blocks() {
                for at in a.range(r, block) {
                    out[(r - rows.start) * stride + block * DEEP + a.places[at] as usize] =
                        dots[at - base];
                }
            }
        }
    });
}

/// Columns `first..first + W` of `b` as tiles, padded with zeros.
fn pack<T: Real, const W: usize>(b: &Matrix<T>, first: usize, tiles: &mut [[[T; W]; DEEP]]) {
    let width = W.min(b.stride() - first);
    for (r, row) in b.data().chunks_exact(b.stride()).enumerate() {
        let packed = &mut tiles[r / DEEP][r % DEEP];
        packed[..width].copy_from_slice(&row[first..first + width]);
        packed[width..].fill(T::ZERO);
    }
}

dispatch! {
    /// sums[i] += Σ over the active numbers of row i in a block of number · row of the tile.
    fn add_products<T: Real>(
        a: &Active<T>,
        rows: Range<usize>,
        block: usize,
        tile: &[[T; WIDE]; DEEP],
        sums: &mut [[T; WIDE]],
    ) {
        for (r, total) in rows.zip(sums) {
            let range = a.range(r, block);
            let mut sum = *total;
            for (place, value) in a.places[range.clone()].iter().zip(&a.values[range]) {
                // `% DEEP` changes nothing and lets the compiler drop the bounds check.
                let source = &tile[*place as usize % DEEP];
                for c in 0..WIDE {
                    sum[c] = value.mul_add(source[c], sum[c]);
                }
            }
            *total = sum;
        }
    }
}

dispatch! {
    /// dots += ⟨left row, row of the tile⟩ for the active numbers of a block.
    fn add_dots<T: Real>(
        a: &Active<T>,
        rows: Range<usize>,
        block: usize,
        tile: &[[T; LONG]; DEEP],
        left: &[[T; LONG]],
        dots: &mut [T],
        base: usize,
    ) {
        const LANES: usize = 8;
        let mut sums = [[T::ZERO; LANES]; DEEP];
        for (r, left) in rows.zip(left) {
            let range = a.range(r, block);
            for (place, sum) in a.places[range.clone()].iter().zip(&mut sums) {
                let right = &tile[*place as usize % DEEP];
                let mut lanes = [T::ZERO; LANES];
                for (left, right) in left.as_chunks::<LANES>().0.iter().zip(right.as_chunks::<LANES>().0) {
                    for l in 0..LANES {
                        lanes[l] = left[l].mul_add(right[l], lanes[l]);
                    }
                }
                *sum = lanes;
            }
            // A separate loop, so that the sums over lanes of several numbers are computed in
            // parallel by the CPU. Their fixed order gives the same digits at every level.
            for (dot, s) in dots[range.start - base..range.end - base].iter_mut().zip(&sums) {
                *dot += ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{Level, gemm};
    use proptest::prelude::*;

    /// A matrix of which about `share` is not zero, of integers so small that every order of
    /// addition gives the same sum.
    fn matrix(rows: usize, columns: usize, seed: u32, share: f64) -> Matrix<f32> {
        let number = |i: u32| {
            let hash =
                (i ^ seed).wrapping_mul(2_654_435_761).rotate_left(13).wrapping_mul(2_246_822_519)
                    >> 8;
            if f64::from(hash % 1000) < 1000.0 * share { (hash % 7) as f32 - 3.0 } else { 0.0 }
        };
        let values: Vec<f32> = (0..(rows * columns) as u32).map(number).collect();
        Matrix::from_rows(rows, columns, &values)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        /// All three products of a layer agree with dense ones, at every level and across tile
        /// borders.
        #[test]
        fn products_are_those_of_dense_matrices(
            rows in 1usize..700, inner in 1usize..150, columns in 1usize..150, seed in 0u32..1000, share in 0.0f64..1.0,
        ) {
            let (a, b) = (matrix(rows, inner, seed, share), matrix(inner, columns, seed + 1, 1.0));
            let g = matrix(rows, columns, seed + 2, 1.0);
            let (mut product, mut by_b, mut by_a) =
                (Matrix::zeros(rows, columns), Matrix::zeros(inner, columns), Matrix::zeros(rows, inner));
            gemm::multiply(&a, &b, &mut product);
            gemm::transposed_multiply(&a, &g, &mut by_b);
            gemm::multiply_transposed(&g, &b, &mut by_a);
            for r in 0..rows {
                by_a.row_mut(r).iter_mut().zip(a.row(r)).filter(|(_, a)| **a == 0.0).for_each(|(x, _)| *x = 0.0);
            }
            for level in Level::available() {
                level.install();
                let mut out = Matrix::zeros(rows, columns);
                multiply(&Active::of(&a), &b, &mut out);
                prop_assert_eq!(&out, &product, "{:?}", level);
                let mut out = Matrix::zeros(inner, columns);
                multiply(&Active::of_transposed(&a), &g, &mut out);
                prop_assert_eq!(&out, &by_b, "{:?}", level);
                let mut out = Matrix::zeros(rows, inner);
                multiply_where_active(&Active::of(&a), &g, &b, &mut out);
                prop_assert_eq!(&out, &by_a, "{:?}", level);
            }
        }
    }
}
