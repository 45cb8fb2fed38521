//! The candidate pairs of learnt messages, and which of them are similar by their input.

use super::normalise;
use crate::kernels::messages::{self, FixedDirections, RowSegment};
use crate::similarity_relation::{Bits, SimilarityRelation};
use crate::{Matrix, Real};
use rayon::prelude::*;

/// Rows per task.
const ROWS: usize = 32;

/// Which pairs of nodes are compared, and which of them are similar by their input. Candidacy must
/// be symmetric, and every node is its own candidate.
///
/// Nodes are ordered so that the candidates of a node are consecutive; a *place* is a position in
/// that order.
#[derive(Clone, Debug)]
pub struct Candidates {
    /// The node at each place.
    pub(super) order: Vec<u32>,
    /// The place of each node.
    pub(super) places: Vec<u32>,
    /// The candidates of the node at each place, as a range of places.
    pub(super) ranges: Vec<(u32, u32)>,
    /// The candidates that are similar to the node at each place, including itself.
    similar: Bits,
    /// Number of ordered pairs of different nodes that are similar.
    pub(super) similar_pairs: u64,
    pub(super) classes: usize,
}

impl Candidates {
    /// All pairs of rows of `x`; those with a cosine above `threshold` are similar.
    pub fn all<T: Real>(x: &Matrix<T>, threshold: f64) -> Self {
        let n = x.rows() as u32;
        Self::within(x, threshold, (0..n).collect(), &vec![(0, n); n as usize])
    }

    /// The pairs of a node and the nodes at the places of its range in `order`.
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
        let mut similar = Bits::zeros(ranges.iter().map(|(from, to)| *from as usize..*to as usize));
        let fixed = FixedDirections {
            ranges: &ranges,
            lines: lines.data(),
            stride: lines.stride(),
            threshold: T::of(threshold),
        };
        let mut rows = similar.rows_mut();
        rows.par_chunks_mut(ROWS)
            .enumerate()
            .for_each(|(c, rows)| messages::mark_similar(fixed, c * ROWS, rows));
        // Every node is similar to itself, which is not a pair.
        let similar_pairs = similar.count() - order.len() as u64;
        let mut places = vec![0; order.len()];
        (0..).zip(&order).for_each(|(place, &v)| places[v as usize] = place);
        Self { order, places, ranges, similar, similar_pairs, classes: x.columns() }
    }

    /// Number of pairs (i, j), those with i = j included.
    pub fn pairs(&self) -> usize {
        self.ranges.iter().map(|(from, to)| (to - from) as usize).sum()
    }

    /// The similarity relation between nodes.
    pub fn relation(&self) -> SimilarityRelation {
        SimilarityRelation::new(&self.similar, &self.order)
    }

    /// The smallest range that contains the candidates of all `places`.
    pub(super) fn window(&self, places: &[u32]) -> std::ops::Range<usize> {
        let ranges = places.iter().map(|&place| self.ranges[place as usize]);
        let from = ranges.clone().map(|(from, _)| from).min();
        let to = ranges.map(|(_, to)| to).max();
        from.unwrap_or(0) as usize..to.unwrap_or(0) as usize
    }

    /// The node at place `own` and the `length` places from `first` on.
    pub(super) fn segment(&self, own: usize, first: usize, length: usize) -> RowSegment<'_> {
        RowSegment { own, first, length, range: self.ranges[own], similar: &self.similar }
    }

    /// Whether any of `own` is similar to any of the places `others`, which start at a multiple of
    /// 64.
    pub(super) fn any_similar(
        &self,
        own: std::ops::Range<usize>,
        others: std::ops::Range<usize>,
    ) -> bool {
        let (from, to) = (others.start / 64, others.end.div_ceil(64));
        own.into_iter().any(|place| {
            let (first, words) = self.similar.row(place);
            let end = first + words.len();
            let (from, to) = (from.clamp(first, end) - first, to.clamp(first, end) - first);
            words[from..to].iter().any(|&word| word != 0)
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
