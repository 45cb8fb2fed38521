//! Sparse times dense: out[r] = Σₖ a[r,k] · b[k], the heart of message passing.

use super::{Level, dispatch, prefetch, with_block_width};
use crate::Real;
use crate::parallel;
use crate::sparse::Csr;
use std::ops::Range;

/// The number of neighbours by which rows are prefetched ahead; 8 to 16 were the fastest.
const AHEAD: usize = 12;

/// Up to this many bytes, a block of columns of the right side fits the second-level cache.
const NEAR: usize = 2 << 20;

/// `out = a · b` for a row-major `b` and `out` of the same stride.
///
/// With `rows`, output row i is row `rows[i]` of `a`.
///
/// # Panics
/// If the lengths do not fit.
pub(crate) fn spmm<T: Real>(
    a: &Csr<T>,
    rows: Option<&[u32]>,
    b: &[T],
    out: &mut [T],
    stride: usize,
) {
    assert!(b.len() >= a.columns() * stride, "right side too short");
    assert_eq!(out.len(), rows.map_or(a.rows(), <[u32]>::len) * stride, "output shape");
    let work = match rows {
        Some(rows) => rows.iter().map(|&r| a.row_range(r as usize).len()).sum::<usize>(),
        None => a.non_zeros(),
    } * stride;
    // Blocks of columns are the outer loop, rows the inner one. On one thread all rows are one
    // piece, so that each block is fetched into the cache once, not once per piece of rows.
    if size_of_val(b) <= NEAR && rayon::current_num_threads() == 1 {
        return block_columns(a, rows, 0..out.len() / stride.max(1), b, out, stride);
    }
    parallel::over_rows(out, stride, work, |range, chunk| {
        block_columns(a, rows, range, b, chunk, stride);
    });
}

/// Walks the columns in the widest equal blocks whose accumulators fit the CPU's registers.
fn block_columns<T: Real>(
    a: &Csr<T>,
    rows: Option<&[u32]>,
    range: Range<usize>,
    b: &[T],
    out: &mut [T],
    stride: usize,
) {
    let width = block_width(stride);
    for block in 0..stride / width {
        let at = Columns { block, stride, far: size_of_val(b) > NEAR };
        let range = range.clone();
        with_block_width!(width, rows_of_width::<T>(a, rows, range, b, out, at));
    }
}

/// The widest equal blocks of a row's columns whose accumulators fit the CPU's registers.
pub(crate) fn block_width(stride: usize) -> usize {
    // 16 registers of 8 numbers with AVX2, half of them accumulators; 32 of 16 with AVX-512.
    let widest = if Level::current() == Level::Avx512 { 256 } else { 64 };
    let widths = [256, 128, 64, 48, 32, 16, 8].into_iter();
    widths.filter(|w| *w <= widest).find(|w| stride.is_multiple_of(*w)).unwrap_or(stride)
}

/// Which columns of a row-major matrix a kernel works on.
#[derive(Clone, Copy)]
pub(crate) struct Columns {
    /// Which block of W columns.
    block: usize,
    stride: usize,
    /// Whether the matrix exceeds the second-level cache, so that prefetching rows pays.
    far: bool,
}

dispatch! {
    /// `W` columns of some rows; the accumulators of a row stay in registers.
    fn rows_of_width<T: Real, const W: usize>(
        a: &Csr<T>,
        rows: Option<&[u32]>,
        range: Range<usize>,
        b: &[T],
        out: &mut [T],
        at: Columns,
    ) {
        // As blocks of W columns, so that reaching a row costs one bounds check.
        let (blocks, _) = b.as_chunks::<W>();
        let (out, _) = out.as_chunks_mut::<W>();
        let (per_row, all) = (at.stride / W, a.indices());
        for (i, out) in range.zip(out.chunks_exact_mut(per_row)) {
            let row = a.row_range(rows.map_or(i, |rows| rows[i] as usize));
            let mut sum = [T::ZERO; W];
            if at.far {
                // Columns of a sparse row are scattered, which the hardware prefetcher cannot
                // predict. The arc `AHEAD` entries on may belong to a later row: that one is next.
                for k in row.clone() {
                    let ahead = all[(k + AHEAD).min(all.len() - 1)] as usize * at.stride + at.block * W;
                    // One prefetch per cache line of 64 bytes.
                    let mut line = 0;
                    while line < W {
                        prefetch(b, ahead + line);
                        line += 64 / size_of::<T>();
                    }
                    let (value, source) = (a.values()[k], &blocks[all[k] as usize * per_row + at.block]);
                    for c in 0..W {
                        sum[c] = value.mul_add(source[c], sum[c]);
                    }
                }
            } else {
                for (&u, &value) in all[row.clone()].iter().zip(&a.values()[row]) {
                    let source = &blocks[u as usize * per_row + at.block];
                    for c in 0..W {
                        sum[c] = value.mul_add(source[c], sum[c]);
                    }
                }
            }
            out[at.block] = sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Matrix;
    use proptest::prelude::*;

    fn by_hand(a: &Csr<f32>, b: &Matrix<f32>) -> Vec<f32> {
        let mut out = vec![0f32; a.rows() * b.columns()];
        for r in 0..a.rows() {
            for k in a.row_range(r) {
                for c in 0..b.columns() {
                    let at = r * b.columns() + c;
                    out[at] = a.values()[k].mul_add(b.row(a.indices()[k] as usize)[c], out[at]);
                }
            }
        }
        out
    }

    proptest! {
        /// Every level gives the digits of the plain triple loop, for every width class.
        #[test]
        fn all_levels_equal_the_plain_loop(
            entries in prop::collection::vec((0usize..20, 0u32..15, -2f32..2.0), 0..120),
            columns in 1usize..300,
        ) {
            let a = Csr::from_entries(20, 15, &entries);
            let values: Vec<f32> = (0..15 * columns).map(|i| (i % 37) as f32 * 0.13 - 2.0).collect();
            let b = Matrix::from_rows(15, columns, &values);
            for level in Level::available() {
                level.install();
                let mut out = Matrix::zeros(20, columns);
                let stride = out.stride();
                spmm(&a, None, b.data(), out.data_mut(), stride);
                prop_assert_eq!(&out.to_vec(), &by_hand(&a, &b), "{:?}", level);
                let mut picked = Matrix::zeros(2, columns);
                spmm(&a, Some(&[7, 3]), b.data(), picked.data_mut(), stride);
                prop_assert_eq!((picked.row(0), picked.row(1)), (out.row(7), out.row(3)));
            }
            Level::best().install();
        }
    }

    #[test]
    fn the_portable_level_is_always_tested() {
        println!("kernel levels on this CPU: {:?}", Level::available());
        assert!(Level::available().contains(&Level::Portable));
    }
}
