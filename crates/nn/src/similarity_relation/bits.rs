//! A 0/1 matrix whose rows store a window of columns each.

use std::ops::Range;

/// Bits per word.
const WORD: usize = u64::BITS as usize;

/// A 0/1 matrix. A row stores the bits of a window of columns and is 0 elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct Bits {
    words: Vec<u64>,
    /// The start of the words of each row.
    offsets: Vec<usize>,
    /// The index, in a full row, of the first stored word of each row.
    first: Vec<u32>,
}

impl Bits {
    /// All zeros, where row r stores the columns of the r-th window.
    pub(crate) fn zeros(windows: impl Iterator<Item = Range<usize>>) -> Self {
        let (mut offsets, mut first) = (vec![0], Vec::new());
        for window in windows {
            let start = window.start / WORD;
            let words = window.end.max(window.start).div_ceil(WORD).max(start) - start;
            first.push(start as u32);
            offsets.push(offsets[offsets.len() - 1] + words);
        }
        Self { words: vec![0; offsets[offsets.len() - 1]], offsets, first }
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.first.len()
    }

    /// The index of the first stored word of row `r`, and its words.
    #[inline(always)]
    pub(crate) fn row(&self, r: usize) -> (usize, &[u64]) {
        (self.first[r] as usize, &self.words[self.offsets[r]..self.offsets[r + 1]])
    }

    /// The same for all rows, mutably.
    pub(crate) fn rows_mut(&mut self) -> Vec<(usize, &mut [u64])> {
        let (mut rest, mut rows) = (&mut self.words[..], Vec::with_capacity(self.first.len()));
        for (r, &first) in self.first.iter().enumerate() {
            let (own, after) = rest.split_at_mut(self.offsets[r + 1] - self.offsets[r]);
            rest = after;
            rows.push((first as usize, own));
        }
        rows
    }

    /// Number of 1s.
    pub(crate) fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

/// Sets bit `column` of a row whose words start with word `first` of a full row.
pub(crate) fn set(row: &mut [u64], first: usize, column: usize) {
    row[column / WORD - first] |= 1 << (column % WORD);
}

/// The columns of the 1s of a word whose first bit is column `start`.
pub(crate) fn ones(word: u64, start: usize) -> impl Iterator<Item = u32> {
    let mut rest = word;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let bit = rest.trailing_zeros();
            rest &= rest - 1;
            start as u32 + bit
        })
    })
}
