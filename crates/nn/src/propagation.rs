//! The propagation matrix P of H' = P·H, which weights messages.

use crate::{Csr, Real};
use boostfgl_graph::Adjacency;

/// The position of each arc and each self-loop of a graph in its propagation matrix.
///
/// The matrix has the pattern of A + I; row v holds the neighbours that send to v and v itself, in
/// increasing order. An arc (u → v) at position `a` of the adjacency is therefore at `a + v`, plus
/// one if u > v: each row before adds a self-loop, and so does row v if its own comes first.
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

/// Which messages a network passes: the plain values of its propagation matrix, before any
/// boosting.
///
/// Every operator has the pattern of A + I, with explicit zeros where a node does not send to
/// itself, so that edges can be reweighted ([`Propagation::with_values`]) in the same way for every
/// network. A holds the edge weights if the graph has them and ones otherwise; d is the sum of a
/// row of A.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Operator {
    /// D̃^{-1/2} (A + I) D̃^{-1/2}, with D̃ the degrees of A + I: GCN and all that build on it.
    #[default]
    Gcn,
    /// D⁻¹ A: the mean over neighbours, without the node itself. A node without neighbours receives
    /// 0.
    Mean,
    /// A: the sum over neighbours, without the node itself.
    Sum,
    /// A + I: the prior weights of neighbours and the node itself under attention.
    Ones,
    /// D^{-1/2} A D^{-1/2}: GCN's normalisation without the node itself. In a directed graph the
    /// degree of a node that only sends is 0; it counts as 1, so that its messages are not lost.
    Symmetric,
}

impl Operator {
    /// The name in model files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gcn => "gcn",
            Self::Mean => "mean",
            Self::Sum => "sum",
            Self::Ones => "ones",
            Self::Symmetric => "symmetric",
        }
    }

    /// Whether a node sends to itself.
    pub fn has_self_loops(self) -> bool {
        matches!(self, Self::Gcn | Self::Ones)
    }
}

/// The propagation matrix of a client's graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Propagation<T>(Csr<T>);

impl<T: Real> Propagation<T> {
    /// The matrix of an operator on a graph.
    ///
    /// ```
    /// use boostfgl_nn::{Operator, Propagation};
    /// let (path, _) = boostfgl_graph::Adjacency::from_edges(3, &[(0, 1), (1, 2)], None, false)?;
    /// let p = Propagation::<f64>::of(Operator::Mean, &path);
    /// assert_eq!(p.csr().values(), [0.0, 1.0, 0.5, 0.0, 0.5, 1.0, 0.0]);
    /// # Ok::<(), boostfgl_graph::Error>(())
    /// ```
    pub fn of(operator: Operator, adjacency: &Adjacency) -> Self {
        match operator {
            Operator::Gcn => Self::gcn(adjacency),
            Operator::Mean => {
                let degree: Vec<f64> = (0..adjacency.len()).map(|v| degree(adjacency, v)).collect();
                // An isolated node has degree 0 and no arc, so nothing is divided by 0.
                Self::build(adjacency, |v, _, arc| {
                    T::of(arc.map_or(0.0, |arc| edge_weight(adjacency, arc) / degree[v]))
                })
            }
            Operator::Sum => {
                Self::build(adjacency, |_, _, arc| T::of(entry_weight(adjacency, arc, 0.0)))
            }
            Operator::Ones => {
                Self::build(adjacency, |_, _, arc| T::of(entry_weight(adjacency, arc, 1.0)))
            }
            Operator::Symmetric => {
                let root: Vec<f64> =
                    (0..adjacency.len()).map(|v| inverse_root(degree(adjacency, v))).collect();
                Self::build(adjacency, |v, u, arc| {
                    T::of(entry_weight(adjacency, arc, 0.0) * root[v] * root[u])
                })
            }
        }
    }

    /// The matrix of GCN (Kipf and Welling): P = D̃^{-1/2} (A + I) D̃^{-1/2}, with D̃ the degrees
    /// of A + I.
    ///
    /// Edge weights, if the graph has them, replace the ones of A.
    ///
    /// ```
    /// let (path, _) = boostfgl_graph::Adjacency::from_edges(3, &[(0, 1), (1, 2)], None, false)?;
    /// let p = boostfgl_nn::Propagation::<f64>::gcn(&path);
    /// assert!((p.csr().values()[0] - 0.5).abs() < 1e-15); // node 0 itself: 1 / (1 + 1)
    /// # Ok::<(), boostfgl_graph::Error>(())
    /// ```
    pub fn gcn(adjacency: &Adjacency) -> Self {
        let root: Vec<f64> =
            (0..adjacency.len()).map(|v| 1.0 / libm::sqrt(1.0 + degree(adjacency, v))).collect();
        Self::build(adjacency, |v, u, arc| {
            T::of(entry_weight(adjacency, arc, 1.0) * root[v] * root[u])
        })
    }

    /// The mean over a node and its neighbours: P = D̃⁻¹ (A + I). Edge weights, if the graph has
    /// them, replace the ones of A.
    pub fn row_mean(adjacency: &Adjacency) -> Self {
        let degree: Vec<f64> = (0..adjacency.len()).map(|v| 1.0 + degree(adjacency, v)).collect();
        Self::build(adjacency, |v, _, arc| T::of(entry_weight(adjacency, arc, 1.0) / degree[v]))
    }

    /// A matrix of the pattern A + I, where `value(v, u, arc)` gives the weight of u in row v, and
    /// `arc` is `None` for the node itself.
    fn build(adjacency: &Adjacency, value: impl Fn(usize, usize, Option<usize>) -> T) -> Self {
        let n = adjacency.len();
        let mut offsets = Vec::with_capacity(n + 1);
        offsets.push(0);
        let mut indices = Vec::with_capacity(adjacency.arcs() + n);
        let mut values = Vec::with_capacity(adjacency.arcs() + n);
        for v in 0..n {
            // The self-loop is inserted before the first larger neighbour, to keep rows sorted.
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

/// D₂^{-1/2} A₂ D₂^{-1/2}, where A₂ marks the nodes exactly two hops apart and D₂ counts them.
///
/// `pattern` is any matrix of the pattern A + I; its values, and so edge weights, do not matter.
/// The result has Σᵥ |N₂(v)| entries, at most Σᵥ Σ_{u ∈ N(v)} d(u): a hub of degree d alone causes
/// up to d² of them.
pub(crate) fn two_hops<T: Real>(pattern: &Csr<T>) -> Csr<T> {
    let n = pattern.rows();
    // The last row in which each column was seen. A new row number invalidates all marks, so that
    // they need no clearing.
    let mut seen = vec![usize::MAX; n];
    let (mut offsets, mut indices) = (vec![0], Vec::new());
    for v in 0..n {
        let start = indices.len();
        // Marks v and its neighbours first: they are nearer than two hops.
        let near = &pattern.indices()[pattern.row_range(v)];
        near.iter().for_each(|&u| seen[u as usize] = v);
        for &u in near {
            for &w in &pattern.indices()[pattern.row_range(u as usize)] {
                if seen[w as usize] != v {
                    seen[w as usize] = v;
                    indices.push(w);
                }
            }
        }
        indices[start..].sort_unstable();
        offsets.push(indices.len());
    }
    let root: Vec<f64> =
        offsets.windows(2).map(|row| inverse_root((row[1] - row[0]) as f64)).collect();
    let mut values = Vec::with_capacity(indices.len());
    for v in 0..n {
        let row = &indices[offsets[v]..offsets[v + 1]];
        values.extend(row.iter().map(|&u| T::of(root[v] * root[u as usize])));
    }
    Csr::new(n, offsets, indices, values)
}

/// The weight of an entry of A + I: that of its arc, or `own` on the diagonal.
fn entry_weight(adjacency: &Adjacency, arc: Option<usize>, own: f64) -> f64 {
    arc.map_or(own, |arc| edge_weight(adjacency, arc))
}

/// The weight of an arc: 1 in a graph without edge weights.
fn edge_weight(adjacency: &Adjacency, arc: usize) -> f64 {
    adjacency.weights().map_or(1.0, |weights| f64::from(weights[arc]))
}

/// The sum of the weights of the arcs into `v`.
fn degree(adjacency: &Adjacency, v: usize) -> f64 {
    adjacency.arc_range(v).map(|arc| edge_weight(adjacency, arc)).sum()
}

/// d^{-1/2}; a degree of 0 counts as 1.
fn inverse_root(degree: f64) -> f64 {
    if degree > 0.0 { 1.0 / libm::sqrt(degree) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OPERATORS: [Operator; 5] =
        [Operator::Gcn, Operator::Mean, Operator::Sum, Operator::Ones, Operator::Symmetric];

    fn dense(a: &Csr<f64>) -> Vec<Vec<f64>> {
        let mut out = vec![vec![0.0; a.columns()]; a.rows()];
        for (v, row) in out.iter_mut().enumerate() {
            a.row_range(v).for_each(|at| row[a.indices()[at] as usize] = a.values()[at]);
        }
        out
    }

    /// By hand: 0 sends to 1 and 2 with weights 2 and 6, 2 sends to 1 with weight 2.
    #[test]
    fn operators_of_a_weighted_directed_graph_agree_with_numbers_by_hand() {
        let (a, _) =
            Adjacency::from_edges(3, &[(0, 1), (0, 2), (2, 1)], Some(&[2.0, 6.0, 2.0]), true)
                .unwrap();
        let matrix = |operator| dense(Propagation::<f64>::of(operator, &a).csr());
        assert_eq!(matrix(Operator::Sum), [[0.0, 0.0, 0.0], [2.0, 0.0, 2.0], [6.0, 0.0, 0.0]]);
        assert_eq!(matrix(Operator::Ones), [[1.0, 0.0, 0.0], [2.0, 1.0, 2.0], [6.0, 0.0, 1.0]]);
        assert_eq!(matrix(Operator::Mean), [[0.0, 0.0, 0.0], [0.5, 0.0, 0.5], [1.0, 0.0, 0.0]]);
        let (four, six) = (libm::sqrt(4.0), libm::sqrt(6.0));
        let expected =
            [[0.0, 0.0, 0.0], [2.0 / four, 0.0, 2.0 / four / six], [6.0 / six, 0.0, 0.0]];
        for (found, expected) in
            matrix(Operator::Symmetric).iter().flatten().zip(expected.iter().flatten())
        {
            assert!((found - expected).abs() < 1e-15, "{found} is not {expected}");
        }
    }

    proptest! {
        #[test]
        fn operators_share_one_pattern(edges in prop::collection::vec((0u32..8, 0u32..8), 0..24), directed in any::<bool>()) {
            let (a, _) = Adjacency::from_edges(8, &edges, None, directed).unwrap();
            let gcn = Propagation::<f64>::gcn(&a);
            for operator in OPERATORS {
                let p = Propagation::<f64>::of(operator, &a);
                prop_assert_eq!(p.csr().indices(), gcn.csr().indices());
                prop_assert!((0..8).all(|v| p.csr().row_range(v) == gcn.csr().row_range(v)));
            }
        }

        /// By the definition: reachable in two steps, not in fewer; D₂ counts them.
        #[test]
        fn two_hops_are_the_nodes_at_distance_two(edges in prop::collection::vec((0u32..8, 0u32..8), 0..14), directed in any::<bool>()) {
            let (a, _) = Adjacency::from_edges(8, &edges, None, directed).unwrap();
            let near = |v: usize, u: usize| v == u || a.neighbours(v).contains(&(u as u32));
            let far = |v: usize, u: usize| !near(v, u) && (0..8).any(|m| near(v, m) && near(m, u));
            let count = |v: usize| (0..8).filter(|&u| far(v, u)).count().max(1) as f64;
            let found = dense(&two_hops(Propagation::<f64>::gcn(&a).csr()));
            for (v, row) in found.iter().enumerate() {
                for (u, found) in row.iter().enumerate() {
                    let expected = if far(v, u) { 1.0 / libm::sqrt(count(v) * count(u)) } else { 0.0 };
                    prop_assert!((found - expected).abs() < 1e-15);
                }
            }
        }

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
