//! Parallel loops whose pieces never depend on the number of threads.

use crate::Real;
use rayon::prelude::*;
use std::ops::Range;

/// Below this many multiply-adds a kernel stays on its thread: clients are the first unit of
/// parallelism, and waking another thread costs about as much as this.
const WORTH_SHARING: usize = 1 << 21;

/// Rows per piece of a sparse kernel or an elementwise pass: small enough to balance power-law rows
/// over threads, large enough to amortise a task.
const ROWS: usize = 128;

/// Rows per piece of a dense product, each of which packs the right side again.
pub(crate) const PRODUCT_ROWS: usize = 512;

/// Rows per partial sum in [`partial_sums`].
const SUM_ROWS: usize = 4096;

/// Calls `piece(rows, out)` for pieces of `out`, whose rows have `stride` numbers.
///
/// Each row must be computed from its index alone, so that the digits do not depend on the pieces.
pub(crate) fn over_rows<T: Real>(
    out: &mut [T],
    stride: usize,
    work: usize,
    piece: impl Fn(Range<usize>, &mut [T]) + Sync,
) {
    if work < WORTH_SHARING {
        return piece(0..out.len() / stride.max(1), out);
    }
    over_row_blocks(out, stride, ROWS, piece);
}

/// Like [`over_rows`] for kernels whose digits may depend on the pieces: `out` is always cut every
/// `block` rows, on one thread too.
pub(crate) fn over_row_blocks<T: Real>(
    out: &mut [T],
    stride: usize,
    block: usize,
    piece: impl Fn(Range<usize>, &mut [T]) + Sync,
) {
    let rows = out.len() / stride.max(1);
    if rows <= block {
        return piece(0..rows, out);
    }
    out.par_chunks_mut(block * stride).enumerate().for_each(|(i, chunk)| {
        let start = i * block;
        piece(start..start + chunk.len() / stride, chunk);
    });
}

/// Like [`over_rows`] for rows of different lengths: row r of `out` ends at `end(r)`.
pub(crate) fn over_segments<T: Real>(
    out: &mut [T],
    rows: usize,
    end: impl Fn(usize) -> usize,
    work: usize,
    piece: impl Fn(Range<usize>, &mut [T]) + Sync,
) {
    if work < WORTH_SHARING {
        return piece(0..rows, out);
    }
    // Rows have different lengths, so `chunks_mut` cannot cut here: the pieces are split off one by
    // one.
    let (mut rest, mut done) = (out, 0);
    let mut pieces = Vec::with_capacity(rows.div_ceil(ROWS));
    for start in (0..rows).step_by(ROWS) {
        let stop = (start + ROWS).min(rows);
        let (own, after) = rest.split_at_mut(end(stop - 1) - done);
        (rest, done) = (after, end(stop - 1));
        pieces.push((start..stop, own));
    }
    pieces.into_par_iter().for_each(|(rows, own)| piece(rows, own));
}

/// Sums over many rows: `piece(rows, out)` writes the sum over its rows into `out`; partial sums
/// are added in index order, whichever thread finishes first.
pub(crate) fn partial_sums<T: Real>(
    rows: usize,
    out: &mut [T],
    piece: impl Fn(Range<usize>, &mut [T]) + Sync,
) {
    if rows <= SUM_ROWS {
        return piece(0..rows, out);
    }
    let pieces = rows.div_ceil(SUM_ROWS);
    // The first piece is written to `out` itself, so that short sums need no other buffer.
    let rest: Vec<Vec<T>> = (1..pieces)
        .into_par_iter()
        .map(|i| {
            let mut partial = vec![T::ZERO; out.len()];
            piece(i * SUM_ROWS..((i + 1) * SUM_ROWS).min(rows), &mut partial);
            partial
        })
        .collect();
    piece(0..SUM_ROWS, out);
    for partial in rest {
        for (sum, x) in out.iter_mut().zip(partial) {
            *sum += x;
        }
    }
}

/// Calls `piece(start, parts)` on matching pieces of several buffers of the same length.
pub(crate) fn over_pieces<T: Real, const N: usize>(
    buffers: [&mut [T]; N],
    piece: impl Fn(usize, [&mut [T]; N]) + Send + Sync,
) {
    const PIECE: usize = 1 << 15;
    let length = buffers[0].len();
    if length < 4 * PIECE {
        return piece(0, buffers);
    }
    let mut chunks = buffers.map(|buffer| buffer.chunks_mut(PIECE));
    let pieces: Vec<[&mut [T]; N]> = (0..length.div_ceil(PIECE))
        .map(|_| std::array::from_fn(|i| chunks[i].next().unwrap_or_default()))
        .collect();
    pieces.into_par_iter().enumerate().for_each(|(i, parts)| piece(i * PIECE, parts));
}
