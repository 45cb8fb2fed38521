//! Sums over delta-coded rows, and the search for rows that differ little.

use super::spmm::block_width;
use super::{dispatch, with_block_width};
use crate::Real;
use crate::similarity_relation::{DeltaRows, EMPTY, Trimmed};
use std::ops::Range;

/// out[i] = out[base(i)] + Σ added − Σ removed for the positions `rows` of one block, whose sums
/// `out` holds. A base comes before the rows that are coded against it.
pub(crate) fn sums<T: Real>(
    delta: &DeltaRows,
    rows: Range<usize>,
    y: &[T],
    out: &mut [T],
    stride: usize,
) {
    let width = block_width(stride);
    for block in 0..stride / width {
        let (rows, per_row) = (rows.clone(), stride / width);
        with_block_width!(width, sums_of_width::<T>(delta, rows, y, out, block, per_row));
    }
}

dispatch! {
    /// `W` columns of [`sums`]; there are `per_row` such blocks in a row.
    fn sums_of_width<T: Real, const W: usize>(
        delta: &DeltaRows,
        rows: Range<usize>,
        y: &[T],
        out: &mut [T],
        block: usize,
        per_row: usize,
    ) {
        let (y, _) = y.as_chunks::<W>();
        let (out, _) = out.as_chunks_mut::<W>();
        for (place, i) in rows.enumerate() {
            let base = delta.base[i];
            // Bases lie in the same block, so that threads that work on other blocks never wait.
            let mut sum = if base == EMPTY { [T::ZERO; W] } else { out[base as usize * per_row + block] };
            let ([start, middle], [end, _]) = (delta.starts[i], delta.starts[i + 1]);
            for &u in &delta.nodes[start..middle] {
                let row = &y[u as usize * per_row + block];
                for c in 0..W {
                    sum[c] += row[c];
                }
            }
            for &u in &delta.nodes[middle..end] {
                let row = &y[u as usize * per_row + block];
                for c in 0..W {
                    sum[c] -= row[c];
                }
            }
            out[place * per_row + block] = sum;
        }
    }
}

dispatch! {
    /// The inner step of Prim's algorithm: the row `own` has joined the tree at `place`; it becomes
    /// the base of every waiting row that is nearer to it than to all earlier rows.
    fn update_nearest(
        own: Trimmed<'_>,
        place: u32,
        rows: &[Trimmed<'_>],
        waiting: &[u32],
        nearest: &mut [(u32, Option<u32>)],
    ) {
        for (&u, nearest) in waiting.iter().zip(nearest) {
            let other = rows[u as usize];
            // |a △ b| ≥ ||a| − |b||: most rows are ruled out by their lengths alone.
            if own.length.abs_diff(other.length) >= nearest.0 {
                continue;
            }
            // Outside the words that both rows have, nothing is in common.
            let start = own.first.max(other.first);
            let end = (own.first + own.words.len()).min(other.first + other.words.len()).max(start);
            let common = if start < end {
                let (a, b) = (&own.words[start - own.first..end - own.first], &other.words[start - other.first..end - other.first]);
                a.iter().zip(b).map(|(a, b)| u64::from((a & b).count_ones())).sum::<u64>() as u32
            } else {
                0
            };
            // |a △ b| = |a| + |b| − 2 |a ∩ b|.
            let apart = own.length + other.length - 2 * common;
            if apart < nearest.0 {
                *nearest = (apart, Some(place));
            }
        }
    }
}
