//! The number of generated neighbours of each node.

use super::Count;
use boostfgl_nn::{Matrix, Real};

/// The nodes that get at least one generated neighbour, and the number for each.
///
/// Slot j holds the j-th generated neighbour of every node that has more than j. Most nodes have
/// few, so that only the rows of a slot that are in use are computed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Demand {
    /// The nodes, increasing.
    pub(super) nodes: Vec<u32>,
    /// The number of generated neighbours of each, at least 1.
    pub(super) counts: Vec<usize>,
}

impl Demand {
    /// min(most, int(ñᵥ)) for every `wanted` node v, from the column ñ.
    pub(super) fn of<T: Real>(
        degrees: &Matrix<T>,
        most: usize,
        count: Count,
        wanted: impl Fn(usize) -> bool,
    ) -> Self {
        let mut demand = Self::default();
        for v in (0..degrees.rows()).filter(|&v| wanted(v)) {
            let degree = degrees.row(v)[0].f64();
            // A cast to an integer truncates, and NaN becomes 0.
            let slots = match count {
                Count::Truncate => degree as usize,
                Count::Round => (degree + 0.5) as usize,
            };
            if slots.min(most) > 0 {
                demand.nodes.push(v as u32);
                demand.counts.push(slots.min(most));
            }
        }
        demand
    }

    /// The demand of the `wanted` nodes alone.
    pub(super) fn restricted(&self, wanted: impl Fn(u32) -> bool) -> Self {
        let both = self.nodes.iter().copied().zip(self.counts.iter().copied());
        let (nodes, counts) = both.filter(|(v, _)| wanted(*v)).unzip();
        Self { nodes, counts }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The number of slots in use.
    pub(super) fn slots(&self) -> usize {
        self.counts.iter().copied().max().unwrap_or(0)
    }

    /// The total number of generated neighbours.
    pub(super) fn total(&self) -> usize {
        self.counts.iter().sum()
    }

    /// The positions of the nodes that use slot `slot`.
    pub(super) fn rows(&self, slot: usize) -> Vec<u32> {
        (0..self.nodes.len() as u32).filter(|&i| self.counts[i as usize] > slot).collect()
    }

    /// The node of every generated neighbour, slot by slot.
    pub(super) fn owners(&self) -> Vec<u32> {
        let rows = (0..self.slots()).flat_map(|slot| self.rows(slot));
        rows.map(|i| self.nodes[i as usize]).collect()
    }
}
