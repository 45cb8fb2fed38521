//! Which pairs of nodes are compared, and which of them are alike from the start.

use super::normalise;
use crate::kernels::messages::{self, Fixed, Stretch};
use crate::similarity_relation::{Bits, SimilarityRelation};
use crate::{Matrix, Real};
use rayon::prelude::*;

/// Rows per task.
const ROWS: usize = 32;

/// Which pairs of nodes are compared, and which of them are alike from the start. The relation must
/// be symmetric, and every node is a candidate of its own.
#[derive(Clone, Debug)]
pub struct Candidates {
    pub(super) order: Vec<u32>,
    /// The place of each node in the order.
    pub(super) places: Vec<u32>,
    /// Of the node at each place of the order.
    pub(super) ranges: Vec<(u32, u32)>,
    /// Which of the places in the range of each place are alike to it, itself included.
    alike: Bits,
    /// Number of pairs of different nodes that are alike.
    pub(super) likes: u64,
    pub(super) classes: usize,
}

impl Candidates {
    /// All pairs of rows of `x`; those with cosines above `threshold` are alike.
    pub fn all<T: Real>(x: &Matrix<T>, threshold: f64) -> Self {
        let n = x.rows() as u32;
        Self::within(x, threshold, (0..n).collect(), &vec![(0, n); n as usize])
    }

    /// Pairs of which one stands, in `order`, within the range of the other.
    ///
    /// # Panics
    /// If there is not one place in the order and one range per row.
    pub fn within<T: Real>(
        x: &Matrix<T>,
        threshold: f64,
        order: Vec<u32>,
        ranges: &[(u32, u32)],
    ) -> Self {
        assert_eq!(
            (order.len(), ranges.len()),
            (x.rows(), x.rows()),
            "a place and a range per row"
        );
        let ranges: Vec<(u32, u32)> = order.iter().map(|&v| ranges[v as usize]).collect();
        let mut directions = x.clone();
        normalise(&mut directions);
        let lines = lines(&directions, &order);
        let mut alike = Bits::zeros(ranges.iter().map(|(from, to)| *from as usize..*to as usize));
        let fixed = Fixed {
            ranges: &ranges,
            lines: lines.data(),
            stride: lines.stride(),
            threshold: T::of(threshold),
        };
        let mut rows = alike.rows_mut();
        rows.par_chunks_mut(ROWS)
            .enumerate()
            .for_each(|(c, rows)| messages::alike(fixed, c * ROWS, rows));
        let likes = alike.count() - order.len() as u64;
        let mut places = vec![0; order.len()];
        (0..).zip(&order).for_each(|(place, &v)| places[v as usize] = place);
        Self { order, places, ranges, alike, likes, classes: x.columns() }
    }

    /// Number of pairs (i, j), those with i = j included.
    pub fn pairs(&self) -> usize {
        self.ranges.iter().map(|(from, to)| (to - from) as usize).sum()
    }

    /// Who is alike to whom.
    pub fn alike(&self) -> SimilarityRelation {
        SimilarityRelation::new(&self.alike, &self.order)
    }

    /// The candidates of some places, from the first to the last.
    pub(super) fn window(&self, places: &[u32]) -> std::ops::Range<usize> {
        let ranges = || places.iter().map(|&place| self.ranges[place as usize]);
        let (from, to) = (ranges().map(|r| r.0).min(), ranges().map(|r| r.1).max());
        from.unwrap_or(0) as usize..to.unwrap_or(0) as usize
    }

    /// The node at place `own` with `length` places from `first` on.
    pub(super) fn stretch(&self, own: usize, first: usize, length: usize) -> Stretch<'_> {
        Stretch { own, first, length, range: self.ranges[own], alike: &self.alike }
    }

    /// Whether any of `own` is alike to any of the places `others`, which start at a multiple of
    /// 64.
    pub(super) fn any_alike(
        &self,
        own: std::ops::Range<usize>,
        others: std::ops::Range<usize>,
    ) -> bool {
        let (from, to) = (others.start / 64, others.end.div_ceil(64));
        own.into_iter().any(|place| {
            let (first, words) = self.alike.row(place);
            let at = |word: usize| word.clamp(first, first + words.len()) - first;
            words[at(from)..at(to)].iter().any(|&word| word != 0)
        })
    }
}

/// out[c][place] = x[order[place]][c].
fn lines<T: Real>(x: &Matrix<T>, order: &[u32]) -> Matrix<T> {
    let mut out = Matrix::zeros(x.columns(), x.rows());
    for (place, &v) in order.iter().enumerate() {
        for (c, value) in x.row(v as usize).iter().enumerate() {
            out.row_mut(c)[place] = *value;
        }
    }
    out
}
