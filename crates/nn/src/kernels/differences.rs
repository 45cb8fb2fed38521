//! Sums of rows that are told by their differences from each other, and the search for rows that
//! differ little.

use super::dispatch;
use super::spmm::block_width;
use crate::Real;
use crate::similarity_relation::{DeltaRows, EMPTY, Trimmed};
use std::ops::Range;

/// out[i] = out[from(i)] + Σ added − Σ removed for the places `rows` of one block, whose sums `out`
/// holds.
pub(crate) fn sums<T: Real>(
    told: &DeltaRows,
    rows: Range<usize>,
    y: &[T],
    out: &mut [T],
    stride: usize,
) {
    let width = block_width(stride);
    for block in 0..stride / width {
        let (rows, per_row) = (rows.clone(), stride / width);
        match width {
            256 => sums_of_width::<T, 256>(told, rows, y, out, block, per_row),
            128 => sums_of_width::<T, 128>(told, rows, y, out, block, per_row),
            64 => sums_of_width::<T, 64>(told, rows, y, out, block, per_row),
            48 => sums_of_width::<T, 48>(told, rows, y, out, block, per_row),
            32 => sums_of_width::<T, 32>(told, rows, y, out, block, per_row),
            16 => sums_of_width::<T, 16>(told, rows, y, out, block, per_row),
            8 => sums_of_width::<T, 8>(told, rows, y, out, block, per_row),
            _ => unreachable!("strides are multiples of 8"),
        }
    }
}

dispatch! {
    /// `W` columns of [`sums`]; there are `per_row` such blocks in a row.
    fn sums_of_width<T: Real, const W: usize>(
        told: &DeltaRows,
        rows: Range<usize>,
        y: &[T],
        out: &mut [T],
        block: usize,
        per_row: usize,
    ) {
        let (y, _) = y.as_chunks::<W>();
        let (out, _) = out.as_chunks_mut::<W>();
        for (place, i) in rows.enumerate() {
            let from = told.from[i];
            let mut sum = if from == EMPTY { [T::ZERO; W] } else { out[from as usize * per_row + block] };
            let ([start, middle], [end, _]) = (told.starts[i], told.starts[i + 1]);
            for &u in &told.nodes[start..middle] {
                let row = &y[u as usize * per_row + block];
                for c in 0..W {
                    sum[c] += row[c];
                }
            }
            for &u in &told.nodes[middle..end] {
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
    /// Lets those who wait know that a row has its place: who is nearer to it than to all before is
    /// told from it.
    fn nearer(
        own: Trimmed<'_>,
        place: u32,
        rows: &[Trimmed<'_>],
        waiting: &[u32],
        nearest: &mut [(u32, Option<u32>)],
    ) {
        for (&u, nearest) in waiting.iter().zip(nearest) {
            let other = rows[u as usize];
            // Rows differ at least by the difference of their lengths.
            if own.length.abs_diff(other.length) >= nearest.0 {
                continue;
            }
            let start = own.first.max(other.first);
            let end = (own.first + own.words.len()).min(other.first + other.words.len()).max(start);
            let common = if start < end {
                let (a, b) = (&own.words[start - own.first..end - own.first], &other.words[start - other.first..end - other.first]);
                a.iter().zip(b).map(|(a, b)| u64::from((a & b).count_ones())).sum::<u64>() as u32
            } else {
                0
            };
            let apart = own.length + other.length - 2 * common;
            if apart < nearest.0 {
                *nearest = (apart, Some(place));
            }
        }
    }
}
