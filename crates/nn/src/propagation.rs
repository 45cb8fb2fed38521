//! How messages are weighted: the propagation matrix P of H' = P·H.

use crate::{Csr, Real};
use boostfgl_graph::Adjacency;

/// Where each arc and each self-loop of a graph stands in its propagation matrix.
///
/// The matrix has the pattern of A + I; row v holds the neighbours that send to v and v itself, in increasing
/// order. So an arc (u → v) at position `a` of the adjacency stands at `a + v`, plus one if u > v.
#[derive(Clone, Copy, Debug)]
pub struct Pattern<'a>(&'a Adjacency);

impl<'a> Pattern<'a> {
    /// The pattern of a graph.
    pub fn of(adjacency: &'a Adjacency) -> Self {
        Self(adjacency)
    }

    /// Position of the arc at position `arc` of the adjacency, which lies in row `v`.
    #[inline]
    pub fn arc(self, v: usize, arc: usize) -> usize {
        arc + v + usize::from(self.0.indices()[arc] as usize > v)
    }

    /// Position of the self-loop of `v`.
    #[inline]
    pub fn own(self, v: usize) -> usize {
        let smaller = self.0.neighbours(v).partition_point(|&u| (u as usize) < v);
        self.0.offsets()[v] + v + smaller
    }
}

/// The propagation matrix of a client's graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Propagation<T>(Csr<T>);

impl<T: Real> Propagation<T> {
    /// The matrix of GCN (Kipf and Welling): P = D̃^{-1/2} (A + I) D̃^{-1/2}, with D̃ the degrees of A + I.
    ///
    /// Edge weights, where the graph has them, stand for the ones of A.
    ///
    /// ```
    /// let (path, _) = boostfgl_graph::Adjacency::from_edges(3, &[(0, 1), (1, 2)], None, false)?;
    /// let p = boostfgl_nn::Propagation::<f64>::gcn(&path);
    /// assert!((p.csr().values()[0] - 0.5).abs() < 1e-15); // node 0 itself: 1 / (1 + 1)
    /// # Ok::<(), boostfgl_graph::Error>(())
    /// ```
    pub fn gcn(adjacency: &Adjacency) -> Self {
        let weight = |arc: usize| adjacency.weights().map_or(1.0, |w| f64::from(w[arc]));
        let root: Vec<f64> = (0..adjacency.len())
            .map(|v| 1.0 + adjacency.arc_range(v).map(weight).sum::<f64>())
            .map(|degree| 1.0 / libm::sqrt(degree))
            .collect();
        Self::build(adjacency, |v, u, arc| T::of(arc.map_or(1.0, weight) * root[v] * root[u]))
    }

    /// The mean over a node and its neighbours: P = D̃⁻¹ (A + I). Edge weights, where the graph has them, stand for the
    /// ones of A.
    pub fn row_mean(adjacency: &Adjacency) -> Self {
        let weight = |arc: usize| adjacency.weights().map_or(1.0, |w| f64::from(w[arc]));
        let degree: Vec<f64> =
            (0..adjacency.len()).map(|v| 1.0 + adjacency.arc_range(v).map(weight).sum::<f64>()).collect();
        Self::build(adjacency, |v, _, arc| T::of(arc.map_or(1.0, weight) / degree[v]))
    }

    fn build(adjacency: &Adjacency, value: impl Fn(usize, usize, Option<usize>) -> T) -> Self {
        let n = adjacency.len();
        let mut offsets = Vec::with_capacity(n + 1);
        offsets.push(0);
        let mut indices = Vec::with_capacity(adjacency.arcs() + n);
        let mut values = Vec::with_capacity(adjacency.arcs() + n);
        for v in 0..n {
            let mut own = Some(v);
            for arc in adjacency.arc_range(v) {
                let u = adjacency.indices()[arc] as usize;
                if u > v && own.take().is_some() {
                    indices.push(v as u32);
                    values.push(value(v, v, None));
                }
                indices.push(u as u32);
                values.push(value(v, u, Some(arc)));
            }
            if own.is_some() {
                indices.push(v as u32);
                values.push(value(v, v, None));
            }
            offsets.push(indices.len());
        }
        Self(Csr::new(n, offsets, indices, values))
    }

    /// The same pattern with other values; see [`Pattern`] for their order.
    pub fn with_values(&self, values: Vec<T>) -> Self {
        Self(self.0.with_values(values))
    }

    /// The matrix itself: rows are targets, columns are sources.
    pub fn csr(&self) -> &Csr<T> {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pattern_finds_every_entry(edges in prop::collection::vec((0u32..8, 0u32..8), 0..24), directed in any::<bool>()) {
            let (a, _) = Adjacency::from_edges(8, &edges, None, directed).unwrap();
            let p = Propagation::<f64>::gcn(&a);
            let pattern = Pattern::of(&a);
            for v in 0..8 {
                prop_assert_eq!(p.csr().indices()[pattern.own(v)] as usize, v);
                for arc in a.arc_range(v) {
                    let at = pattern.arc(v, arc);
                    prop_assert!(p.csr().row_range(v).contains(&at));
                    prop_assert_eq!(p.csr().indices()[at], a.indices()[arc]);
                }
            }
        }
    }
}
