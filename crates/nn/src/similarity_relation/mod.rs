//! A symmetric 0/1 similarity relation B between nodes, and the product B·Y without
//! multiplications.
//!
//! Nodes with similar predictions are similar to the same nodes, so rows of B resemble each other.
//! A row is stored as its differences from another row, its base, and (BY)ᵢ = (BY)ⱼ + Σ added − Σ
//! removed. The cost is the number of differences instead of the number of 1s.

mod bits;
mod smoothing_operator;
mod tree;

pub(crate) use bits::{Bits, set};
pub use smoothing_operator::SmoothingOperator;
pub(crate) use tree::Trimmed;

use crate::kernels::differences;
use crate::{Matrix, Pool, Real};
use rayon::prelude::*;
use std::collections::BTreeSet;

/// Rows per block. Bases lie in the same block as the rows coded against them, so blocks are
/// independent: they are the unit of parallelism and bound the search to n·BLOCK pairs.
const BLOCK: usize = 2048;

/// The base of a row that is coded against the empty row.
pub(crate) const EMPTY: u32 = u32::MAX;

/// A symmetric 0/1 relation between nodes, in which every node is similar to itself.
///
/// Its rows are ordered so that a base comes before the rows coded against it; a *position* counts
/// in that order.
#[derive(Clone, Debug)]
pub struct SimilarityRelation {
    /// The node at each position.
    nodes: Vec<u32>,
    /// Number of nodes that each node is similar to, including itself.
    degrees: Vec<u32>,
    delta: DeltaRows,
}

/// Delta-coded rows, block after block.
#[derive(Clone, Debug)]
pub(crate) struct DeltaRows {
    /// The base of each row, as a position counted from the start of the block, or [`EMPTY`].
    pub(crate) base: Vec<u32>,
    /// The starts, in `nodes`, of the added and the removed nodes of each row; the latter end where
    /// the next row starts.
    pub(crate) starts: Vec<[usize; 2]>,
    pub(crate) nodes: Vec<u32>,
}

impl SimilarityRelation {
    /// Builds the relation from similarity lists; self-similarity is implied.
    ///
    /// # Panics
    /// If the relation is not symmetric, or names a node that does not exist.
    pub fn from_lists(lists: &[Vec<u32>]) -> Self {
        let n = lists.len();
        let mut bits = Bits::zeros((0..n).map(|_| 0..n));
        for (v, (first, row)) in bits.rows_mut().into_iter().enumerate() {
            set(row, first, v);
            for &u in &lists[v] {
                assert!(
                    u as usize == v || lists[u as usize].contains(&(v as u32)),
                    "the relation is symmetric, but {v} is not in the list of {u}"
                );
                set(row, first, u as usize);
            }
        }
        Self::new(&bits, &(0..n as u32).collect::<Vec<_>>())
    }

    /// Builds the relation from bits whose rows and columns are nodes in the order `order`.
    pub(crate) fn new(bits: &Bits, order: &[u32]) -> Self {
        let starts: Vec<usize> = (0..bits.rows()).step_by(BLOCK).collect();
        let links: Vec<Vec<tree::Link>> = starts
            .par_iter()
            .map(|&start| tree::links(bits, start..(start + BLOCK).min(bits.rows())))
            .collect();
        let mut delta = DeltaRows { base: Vec::new(), starts: Vec::new(), nodes: Vec::new() };
        for block in &links {
            for link in block {
                let from = link.from.map(|from| block[from as usize].row as usize);
                delta.push(bits, order, link, from);
            }
        }
        delta.starts.push([delta.nodes.len(); 2]);
        let nodes = links.iter().flatten().map(|link| order[link.row as usize]).collect();
        let mut degrees = vec![0; order.len()];
        for (place, &v) in order.iter().enumerate() {
            degrees[v as usize] = bits.row(place).1.iter().map(|word| word.count_ones()).sum();
        }
        Self { nodes, degrees, delta }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Number of nodes that each node is similar to, including itself.
    pub fn degrees(&self) -> &[u32] {
        &self.degrees
    }

    /// The other nodes that each node is similar to, increasing.
    pub fn lists(&self) -> Vec<Vec<u32>> {
        let mut rows: Vec<BTreeSet<u32>> = Vec::with_capacity(self.len());
        for (place, &base) in self.delta.base.iter().enumerate() {
            let ([start, middle], [end, _]) =
                (self.delta.starts[place], self.delta.starts[place + 1]);
            let start_of_block = place / BLOCK * BLOCK;
            let mut row = match base {
                EMPTY => BTreeSet::new(),
                base => rows[start_of_block + base as usize].clone(),
            };
            row.extend(&self.delta.nodes[start..middle]);
            self.delta.nodes[middle..end].iter().for_each(|u| _ = row.remove(u));
            rows.push(row);
        }
        let mut out = vec![Vec::new(); self.len()];
        for (&v, row) in self.nodes.iter().zip(rows) {
            out[v as usize] = row.into_iter().filter(|&u| u != v).collect();
        }
        out
    }

    /// Number of rows that a product adds or subtracts: the cost of a product.
    pub fn differences(&self) -> usize {
        self.delta.nodes.len()
    }

    /// B·y.
    ///
    /// # Panics
    /// If y does not have a row per node.
    pub fn product<T: Real>(&self, y: &Matrix<T>, pool: &Pool<T>) -> Matrix<T> {
        let sums = self.sums(y, pool);
        let mut out = pool.take(y.rows(), y.columns());
        for (place, &v) in self.nodes.iter().enumerate() {
            out.row_mut(v as usize).copy_from_slice(sums.row(place));
        }
        pool.put(sums);
        out
    }

    /// out += diag(scale)·B·diag(scale)·y.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub(crate) fn add_scaled_product<T: Real>(
        &self,
        scale: &[T],
        y: &Matrix<T>,
        out: &mut Matrix<T>,
        pool: &Pool<T>,
    ) {
        let mut scaled = pool.take(y.rows(), y.columns());
        for (v, factor) in scale.iter().enumerate() {
            let row = scaled.row_mut(v).iter_mut().zip(y.row(v));
            row.for_each(|(out, y)| *out = *factor * *y);
        }
        let sums = self.sums(&scaled, pool);
        for (place, &v) in self.nodes.iter().enumerate() {
            let factor = scale[v as usize];
            let row = out.row_mut(v as usize).iter_mut().zip(sums.row(place));
            row.for_each(|(out, sum)| *out += factor * *sum);
        }
        pool.put(scaled);
        pool.put(sums);
    }

    /// B·y, with one row per position.
    fn sums<T: Real>(&self, y: &Matrix<T>, pool: &Pool<T>) -> Matrix<T> {
        assert_eq!(y.rows(), self.len(), "a row per node");
        let mut sums = pool.take(self.len(), y.columns());
        let stride = sums.stride();
        // Pieces end where blocks of the coding end, on any number of threads: a row and its base
        // are in the same block.
        crate::parallel::over_row_blocks(sums.data_mut(), stride, BLOCK, |rows, out| {
            differences::sums(&self.delta, rows, y.data(), out, stride);
        });
        sums
    }
}

impl DeltaRows {
    /// Appends the row of `link`, whose base is row `from` of the bits.
    fn push(&mut self, bits: &Bits, order: &[u32], link: &tree::Link, from: Option<usize>) {
        let (mut added, mut removed) = (Vec::new(), Vec::new());
        tree::differences(bits, link.row as usize, from, |column, is_added| {
            if is_added { &mut added } else { &mut removed }.push(order[column as usize]);
        });
        self.base.push(link.from.unwrap_or(EMPTY));
        self.starts.push([self.nodes.len(), self.nodes.len() + added.len()]);
        self.nodes.append(&mut added);
        self.nodes.append(&mut removed);
    }
}
