//! Who is alike: a symmetric 0/1 relation B between nodes, and B·Y without the multiplications.
//!
//! Nodes that look the same to a model are alike to the same nodes, so rows of B resemble each
//! other. A row is kept as its differences from another one, and (BY)ᵢ = (BY)ⱼ + Σ added − Σ
//! removed: work is the number of differences instead of the number of 1s.

mod bits;
mod mixture;
mod tree;

pub(crate) use bits::{Bits, set};
pub use mixture::Mixture;
pub(crate) use tree::Trimmed;

use crate::kernels::differences;
use crate::{Matrix, Pool, Real};
use rayon::prelude::*;
use std::collections::BTreeSet;

/// Rows that are told from each other. Blocks are independent: the unit of parallelism, and what
/// bounds the search to n·BLOCK pairs.
const BLOCK: usize = 2048;

/// Stands for the empty row.
pub(crate) const EMPTY: u32 = u32::MAX;

/// A symmetric 0/1 relation between nodes, in which every node is alike to itself.
#[derive(Clone, Debug)]
pub struct SimilarityRelation {
    /// The node of each place.
    nodes: Vec<u32>,
    /// Number of nodes each node is alike to, itself included.
    degrees: Vec<u32>,
    told: DeltaRows,
}

/// Rows as differences, a block after the other.
#[derive(Clone, Debug)]
pub(crate) struct DeltaRows {
    /// The place, counted from the start of the block, that a place is told from; [`EMPTY`] is the
    /// empty row.
    pub(crate) from: Vec<u32>,
    /// Where the nodes of each place start that come in, and those that go; both end where the next
    /// start.
    pub(crate) starts: Vec<[usize; 2]>,
    pub(crate) nodes: Vec<u32>,
}

impl SimilarityRelation {
    /// From the nodes that each node is alike to; who is alike to itself need not say so.
    ///
    /// # Panics
    /// If the relation is not symmetric, or names a node that is not there.
    pub fn from_lists(lists: &[Vec<u32>]) -> Self {
        let n = lists.len();
        let mut bits = Bits::zeros((0..n).map(|_| 0..n));
        for (v, (first, row)) in bits.rows_mut().into_iter().enumerate() {
            set(row, first, v);
            for &u in &lists[v] {
                assert!(
                    u as usize == v || lists[u as usize].contains(&(v as u32)),
                    "{u} is alike to {v}"
                );
                set(row, first, u as usize);
            }
        }
        Self::new(&bits, &(0..n as u32).collect::<Vec<_>>())
    }

    /// From bits whose rows and columns are nodes in the order `order`.
    pub(crate) fn new(bits: &Bits, order: &[u32]) -> Self {
        let starts: Vec<usize> = (0..bits.rows()).step_by(BLOCK).collect();
        let links: Vec<Vec<tree::Link>> = starts
            .par_iter()
            .map(|&start| tree::links(bits, start..(start + BLOCK).min(bits.rows())))
            .collect();
        let mut told = DeltaRows { from: Vec::new(), starts: Vec::new(), nodes: Vec::new() };
        for block in &links {
            for link in block {
                let from = link.from.map(|from| block[from as usize].row as usize);
                told.push(bits, order, link, from);
            }
        }
        told.starts.push([told.nodes.len(); 2]);
        let nodes = links.iter().flatten().map(|link| order[link.row as usize]).collect();
        let mut degrees = vec![0; order.len()];
        for (place, &v) in order.iter().enumerate() {
            degrees[v as usize] = bits.row(place).1.iter().map(|word| word.count_ones()).sum();
        }
        Self { nodes, degrees, told }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// How many nodes each node is alike to, itself included.
    pub fn degrees(&self) -> &[u32] {
        &self.degrees
    }

    /// The other nodes that each node is alike to, increasing.
    pub fn lists(&self) -> Vec<Vec<u32>> {
        let mut rows: Vec<BTreeSet<u32>> = Vec::with_capacity(self.len());
        for (place, &from) in self.told.from.iter().enumerate() {
            let ([start, middle], [end, _]) =
                (self.told.starts[place], self.told.starts[place + 1]);
            let base = place / BLOCK * BLOCK;
            let mut row =
                if from == EMPTY { BTreeSet::new() } else { rows[base + from as usize].clone() };
            row.extend(&self.told.nodes[start..middle]);
            self.told.nodes[middle..end].iter().for_each(|u| _ = row.remove(u));
            rows.push(row);
        }
        let mut out = vec![Vec::new(); self.len()];
        for (&v, row) in self.nodes.iter().zip(rows) {
            out[v as usize] = row.into_iter().filter(|&u| u != v).collect();
        }
        out
    }

    /// Number of rows that are added or subtracted in a product.
    pub fn differences(&self) -> usize {
        self.told.nodes.len()
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

    /// B·y, with a row per place.
    fn sums<T: Real>(&self, y: &Matrix<T>, pool: &Pool<T>) -> Matrix<T> {
        assert_eq!(y.rows(), self.len(), "a row per node");
        let mut sums = pool.take(self.len(), y.columns());
        let stride = sums.stride();
        crate::parallel::over_row_blocks(sums.data_mut(), stride, BLOCK, |rows, out| {
            differences::sums(&self.told, rows, y.data(), out, stride);
        });
        sums
    }
}

impl DeltaRows {
    fn push(&mut self, bits: &Bits, order: &[u32], link: &tree::Link, from: Option<usize>) {
        let (mut added, mut removed) = (Vec::new(), Vec::new());
        tree::differences(bits, link.row as usize, from, |column, comes| {
            if comes { &mut added } else { &mut removed }.push(order[column as usize]);
        });
        self.from.push(link.from.unwrap_or(EMPTY));
        self.starts.push([self.nodes.len(), self.nodes.len() + added.len()]);
        self.nodes.append(&mut added);
        self.nodes.append(&mut removed);
    }
}
