//! Delta coding of rows of bits: a minimum spanning tree over the rows of a block and the empty
//! row.

use super::bits::{Bits, ones};
use crate::kernels::differences;
use std::ops::Range;

/// The longest chain of additions and subtractions from the empty row to a row, per 1 of the row. A
/// longer chain starts from the empty row again, so that rounding errors stay of the order of those
/// of a plain sum.
const CHAIN: usize = 2;

/// A row without its leading and trailing zeros.
#[derive(Clone, Copy)]
pub(crate) struct Trimmed<'a> {
    /// The index of the first word in a full row.
    pub(crate) first: usize,
    pub(crate) words: &'a [u64],
    /// Number of 1s.
    pub(crate) length: u32,
}

impl<'a> Trimmed<'a> {
    fn new(bits: &'a Bits, r: usize) -> Self {
        let (first, words) = bits.row(r);
        let start = words.iter().position(|&w| w != 0).unwrap_or(words.len());
        let end = words.iter().rposition(|&w| w != 0).map_or(start, |last| last + 1);
        let words = &words[start..end];
        Self { first: first + start, words, length: words.iter().map(|w| w.count_ones()).sum() }
    }

    /// Word `k` of the full row.
    fn word(&self, k: usize) -> u64 {
        k.checked_sub(self.first).and_then(|k| self.words.get(k)).copied().unwrap_or(0)
    }
}

/// A row, and the position of its base in the order of the block; `None` is the empty row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) row: u32,
    pub(crate) from: Option<u32>,
}

/// The rows of a block, ordered so that each has an earlier one that differs little from it as its
/// base: Prim's algorithm, starting from the empty row.
pub(crate) fn links(bits: &Bits, block: Range<usize>) -> Vec<Link> {
    let rows: Vec<Trimmed<'_>> = block.clone().map(|r| Trimmed::new(bits, r)).collect();
    let mut waiting: Vec<u32> = (0..rows.len() as u32).collect();
    // The distance to the nearest row of the tree, and its position. At first the tree is the empty
    // row, at the distance of a row's length.
    let mut nearest: Vec<(u32, Option<u32>)> = rows.iter().map(|row| (row.length, None)).collect();
    let mut chains: Vec<usize> = Vec::with_capacity(rows.len());
    let mut out = Vec::with_capacity(rows.len());
    // Ties go to the smallest row number, so that the order does not depend on `swap_remove`.
    while let Some(at) = (0..waiting.len()).min_by_key(|&at| (nearest[at].0, waiting[at])) {
        let next = waiting.swap_remove(at);
        let (apart, from) = nearest.swap_remove(at);
        let own = rows[next as usize];
        let chain = from.map_or(0, |from| chains[from as usize]) + apart as usize;
        let near = chain <= CHAIN * own.length as usize;
        let place = out.len() as u32;
        out.push(Link { row: block.start as u32 + next, from: from.filter(|_| near) });
        chains.push(if near { chain } else { own.length as usize });
        differences::update_nearest(own, place, &rows, &waiting, &mut nearest);
    }
    out
}

/// Calls `each(column, is_added)` for every bit in which `row` differs from its base `from`.
pub(crate) fn differences(
    bits: &Bits,
    row: usize,
    from: Option<usize>,
    mut each: impl FnMut(u32, bool),
) {
    let own = Trimmed::new(bits, row);
    let other = from.map_or(Trimmed { first: own.first, words: &[], length: 0 }, |from| {
        Trimmed::new(bits, from)
    });
    let start = if other.words.is_empty() { own.first } else { own.first.min(other.first) };
    let end = (own.first + own.words.len()).max(other.first + other.words.len());
    for k in start..end {
        let (now, before) = (own.word(k), other.word(k));
        ones(now & !before, k * 64).for_each(|column| each(column, true));
        ones(before & !now, k * 64).for_each(|column| each(column, false));
    }
}
