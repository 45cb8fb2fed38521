//! The edges of a graph, in compressed sparse rows.

use crate::{Error, Result};

/// The edges of a graph as compressed sparse rows.
///
/// Row `v` lists, in increasing order, the nodes that send messages **to** `v`. In an undirected
/// graph (the default) every edge is therefore stored in two rows. There are no self-loops and no
/// duplicates.
#[derive(Clone, Debug, PartialEq)]
pub struct Adjacency {
    offsets: Vec<usize>,
    neighbours: Vec<u32>,
    weights: Option<Vec<f32>>,
    directed: bool,
}

/// The numbers of edges given to and dropped by [`Adjacency::from_edges`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgeCounts {
    /// Pairs in the input.
    pub given: usize,
    /// Self-loops, dropped.
    pub loops: usize,
    /// Repeated edges, merged into one (weights add up). In an undirected graph (a, b) and (b, a)
    /// are the same edge.
    pub duplicates: usize,
}

impl Adjacency {
    /// Builds the rows from a list of edges `(source, target)`.
    ///
    /// `weights`, if given, has one finite positive number per edge; merged duplicates add up.
    /// With `directed`, messages flow from source to target only.
    ///
    /// Time O(n + m log d), memory about 8 bytes per edge in addition to the result.
    ///
    /// # Errors
    /// If an edge names a node ≥ `nodes`, or a weight, also that of a merged edge, is not finite
    /// and positive, or the lengths differ.
    ///
    /// ```
    /// let (adjacency, counts) = boostfgl_graph::Adjacency::from_edges(3, &[(0, 1), (1, 0), (2, 2), (1, 2)], None, false)?;
    /// assert_eq!(adjacency.neighbours(1), [0, 2]);
    /// assert_eq!((counts.loops, counts.duplicates), (1, 1));
    /// # Ok::<(), boostfgl_graph::Error>(())
    /// ```
    pub fn from_edges(
        nodes: usize,
        edges: &[(u32, u32)],
        weights: Option<&[f32]>,
        directed: bool,
    ) -> Result<(Self, EdgeCounts)> {
        check_edges(nodes, edges, weights)?;
        let offsets = row_offsets(nodes, edges, directed);
        let arcs = offsets[nodes];
        let mut next = offsets.clone();
        let mut neighbours = vec![0u32; arcs];
        let mut arc_weights = weights.map(|_| vec![0f32; arcs]);
        let rows_per_edge = if directed { 1 } else { 2 };
        for (edge, &(source, target)) in edges.iter().enumerate().filter(|(_, (a, b))| a != b) {
            for (row, neighbour) in
                [(target, source), (source, target)].into_iter().take(rows_per_edge)
            {
                let at = next[row as usize];
                next[row as usize] += 1;
                neighbours[at] = neighbour;
                if let (Some(to), Some(from)) = (&mut arc_weights, weights) {
                    to[at] = from[edge];
                }
            }
        }

        let mut adjacency = Self { offsets, neighbours, weights: arc_weights, directed };
        let merged = adjacency.sort_and_merge();
        adjacency.check_merged()?;
        let counts = EdgeCounts {
            given: edges.len(),
            loops: edges.iter().filter(|(a, b)| a == b).count(),
            duplicates: if directed { merged } else { merged / 2 },
        };
        Ok((adjacency, counts))
    }

    /// Sorts every row and merges repeated neighbours; returns the number of entries removed.
    fn sort_and_merge(&mut self) -> usize {
        let before = self.neighbours.len();
        let mut kept = 0;
        let mut row = Vec::new();
        for v in 0..self.len() {
            let range = self.offsets[v]..self.offsets[v + 1];
            self.offsets[v] = kept;
            match &mut self.weights {
                None => {
                    self.neighbours[range.clone()].sort_unstable();
                    for at in range.clone() {
                        let u = self.neighbours[at];
                        if at == range.start || self.neighbours[kept - 1] != u {
                            self.neighbours[kept] = u;
                            kept += 1;
                        }
                    }
                }
                Some(weights) => {
                    row.clear();
                    row.extend(range.map(|at| (self.neighbours[at], weights[at])));
                    row.sort_by_key(|(u, _)| *u);
                    let start = kept;
                    for &(u, weight) in &row {
                        if kept > start && self.neighbours[kept - 1] == u {
                            weights[kept - 1] += weight;
                        } else {
                            self.neighbours[kept] = u;
                            weights[kept] = weight;
                            kept += 1;
                        }
                    }
                }
            }
        }
        let nodes = self.len();
        self.offsets[nodes] = kept;
        self.neighbours.truncate(kept);
        if let Some(weights) = &mut self.weights {
            weights.truncate(kept);
        }
        before - kept
    }

    /// Refuses merged weights that are not finite: finite weights may add up to infinity.
    fn check_merged(&self) -> Result<()> {
        let Some(at) = self.weights.iter().flatten().position(|weight| !weight.is_finite()) else {
            return Ok(());
        };
        let (to, from) =
            (self.offsets.partition_point(|start| *start <= at) - 1, self.neighbours[at]);
        let what = format!("weights of the edges between nodes {from} and {to}");
        Err(Error::inconsistent(what, "a finite sum", "infinity"))
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is no node at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether messages flow one way only.
    pub fn is_directed(&self) -> bool {
        self.directed
    }

    /// Number of edges: each undirected edge counts once.
    pub fn edges(&self) -> usize {
        if self.directed { self.neighbours.len() } else { self.neighbours.len() / 2 }
    }

    /// Number of stored entries: each undirected edge counts twice.
    pub fn arcs(&self) -> usize {
        self.neighbours.len()
    }

    /// Number of nodes that send to `v`.
    pub fn degree(&self, v: usize) -> usize {
        self.offsets[v + 1] - self.offsets[v]
    }

    /// The nodes that send to `v`, in increasing order.
    pub fn neighbours(&self, v: usize) -> &[u32] {
        &self.neighbours[self.arc_range(v)]
    }

    /// The range of row `v` in [`Adjacency::indices`] and [`Adjacency::weights`].
    pub fn arc_range(&self, v: usize) -> std::ops::Range<usize> {
        self.offsets[v]..self.offsets[v + 1]
    }

    /// Row boundaries, n + 1 of them.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The neighbours of all rows, one after the other.
    pub fn indices(&self) -> &[u32] {
        &self.neighbours
    }

    /// One weight per arc, aligned with [`Adjacency::indices`]; `None` means all 1.
    pub fn weights(&self) -> Option<&[f32]> {
        self.weights.as_deref()
    }

    /// The same graph with one more node for each of `owners`, joined to that node alone, both ways
    /// and with weight 1.
    ///
    /// The new nodes are numbered after the old ones, in the order of `owners`; a node may own
    /// several.
    ///
    /// # Panics
    /// If an owner does not exist.
    #[must_use]
    pub fn with_leaves(&self, owners: &[u32]) -> Self {
        let mut leaves = vec![Vec::new(); self.len()];
        for (i, &v) in owners.iter().enumerate() {
            leaves[v as usize].push((self.len() + i) as u32);
        }
        let mut offsets = vec![0];
        let mut neighbours = Vec::with_capacity(self.arcs() + 2 * owners.len());
        let mut weights =
            self.weights.as_ref().map(|_| Vec::with_capacity(self.arcs() + 2 * owners.len()));
        for (v, leaves) in leaves.iter().enumerate() {
            neighbours.extend_from_slice(self.neighbours(v));
            neighbours.extend_from_slice(leaves);
            if let (Some(to), Some(from)) = (&mut weights, &self.weights) {
                to.extend_from_slice(&from[self.arc_range(v)]);
                to.extend(leaves.iter().map(|_| 1.0));
            }
            offsets.push(neighbours.len());
        }
        for &v in owners {
            neighbours.push(v);
            weights.iter_mut().for_each(|weights| weights.push(1.0));
            offsets.push(neighbours.len());
        }
        Self { offsets, neighbours, weights, directed: self.directed }
    }

    /// The subgraph on `nodes` (increasing global ids), with local ids in that order.
    ///
    /// Edges with only one end in `nodes` are dropped; the caller counts them.
    ///
    /// # Panics
    /// If `nodes` is not strictly increasing or names a node that does not exist.
    pub fn induced(&self, nodes: &[u32]) -> Self {
        assert!(nodes.windows(2).all(|w| w[0] < w[1]), "node ids must increase");
        let mut local = vec![u32::MAX; self.len()];
        for (i, &v) in nodes.iter().enumerate() {
            local[v as usize] = i as u32;
        }
        let mut offsets = Vec::with_capacity(nodes.len() + 1);
        offsets.push(0);
        let mut neighbours = Vec::new();
        let mut weights = self.weights.as_ref().map(|_| Vec::new());
        for &v in nodes {
            for at in self.arc_range(v as usize) {
                let u = local[self.neighbours[at] as usize];
                if u != u32::MAX {
                    neighbours.push(u);
                    if let (Some(to), Some(from)) = (&mut weights, &self.weights) {
                        to.push(from[at]);
                    }
                }
            }
            offsets.push(neighbours.len());
        }
        Self { offsets, neighbours, weights, directed: self.directed }
    }
}

/// Row boundaries before duplicates are merged; self-loops are not counted.
fn row_offsets(nodes: usize, edges: &[(u32, u32)], directed: bool) -> Vec<usize> {
    let mut offsets = vec![0usize; nodes + 1];
    for &(source, target) in edges.iter().filter(|(a, b)| a != b) {
        offsets[target as usize + 1] += 1;
        if !directed {
            offsets[source as usize + 1] += 1;
        }
    }
    for v in 0..nodes {
        offsets[v + 1] += offsets[v];
    }
    offsets
}

fn check_edges(nodes: usize, edges: &[(u32, u32)], weights: Option<&[f32]>) -> Result<()> {
    if nodes > u32::MAX as usize {
        return Err(Error::inconsistent(
            "graph",
            "fewer than 2^32 nodes",
            format!("{nodes} nodes"),
        ));
    }
    if let Some(at) = edges.iter().position(|&(a, b)| a.max(b) as usize >= nodes) {
        let (a, b) = edges[at];
        let expected = format!("node indices below {nodes}");
        return Err(Error::inconsistent(format!("edge {at}"), expected, format!("({a}, {b})")));
    }
    let Some(weights) = weights else { return Ok(()) };
    if weights.len() != edges.len() {
        let expected = format!("{} (one per edge)", edges.len());
        return Err(Error::inconsistent("edge weights", expected, weights.len().to_string()));
    }
    match weights.iter().position(|w| !(w.is_finite() && *w > 0.0)) {
        Some(at) => Err(Error::inconsistent(
            format!("weight of edge {at}"),
            "a finite number above 0",
            weights[at].to_string(),
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn weights_of_duplicates_add_up() {
        let (a, _) =
            Adjacency::from_edges(3, &[(0, 1), (1, 0), (1, 2)], Some(&[1.0, 2.5, 4.0]), false)
                .unwrap();
        assert_eq!(a.neighbours(1), [0, 2]);
        assert_eq!(a.weights().unwrap()[a.arc_range(1)], [3.5, 4.0]);
        assert_eq!(a.edges(), 2);
    }

    #[test]
    fn directed_edges_reach_the_target_only() {
        let (a, counts) =
            Adjacency::from_edges(3, &[(0, 1), (1, 0), (0, 2), (0, 2)], None, true).unwrap();
        assert_eq!(
            (a.neighbours(0), a.neighbours(1), a.neighbours(2)),
            (&[1][..], &[0][..], &[0][..])
        );
        assert_eq!((a.edges(), counts.duplicates), (3, 1));
    }

    #[test]
    fn bad_edges_and_weights_are_named() {
        let message = |edges: &[(u32, u32)], weights: Option<&[f32]>| {
            Adjacency::from_edges(2, edges, weights, false).unwrap_err().to_string()
        };
        assert_eq!(
            message(&[(0, 1), (0, 2)], None),
            "edge 1: expected node indices below 2, found (0, 2)"
        );
        assert!(message(&[(0, 1)], Some(&[f32::NAN])).contains("weight of edge 0"));
        assert!(message(&[(0, 1)], Some(&[])).contains("edge weights"));
        let sum = message(&[(0, 1), (1, 0)], Some(&[3e38, 3e38]));
        assert_eq!(
            sum,
            "weights of the edges between nodes 1 and 0: expected a finite sum, found infinity"
        );
    }

    proptest! {
        #[test]
        fn rows_are_sorted_symmetric_and_loop_free(edges in prop::collection::vec((0u32..12, 0u32..12), 0..60)) {
            let (a, counts) = Adjacency::from_edges(12, &edges, None, false).unwrap();
            let mut distinct: Vec<_> = edges.iter().filter(|(x, y)| x != y).map(|&(x, y)| (x.min(y), x.max(y))).collect();
            let pairs = distinct.len();
            distinct.sort_unstable();
            distinct.dedup();
            prop_assert_eq!(a.edges(), distinct.len());
            prop_assert_eq!(counts.duplicates, pairs - distinct.len());
            for v in 0..12 {
                prop_assert!(a.neighbours(v).windows(2).all(|w| w[0] < w[1]));
                for &u in a.neighbours(v) {
                    prop_assert!(u as usize != v && a.neighbours(u as usize).contains(&(v as u32)));
                }
            }
        }

        #[test]
        fn leaves_are_joined_to_their_owners_and_can_be_removed(
            edges in prop::collection::vec((0u32..10, 0u32..10), 0..40),
            owners in prop::collection::vec(0u32..10, 0..12),
            weighted in any::<bool>(),
            directed in any::<bool>(),
        ) {
            let weights: Vec<f32> = (0..edges.len()).map(|i| 0.5 + i as f32).collect();
            let (a, _) = Adjacency::from_edges(10, &edges, weighted.then_some(&weights[..]), directed).unwrap();
            let with = a.with_leaves(&owners);
            prop_assert_eq!(with.len(), 10 + owners.len());
            prop_assert_eq!(with.arcs(), a.arcs() + 2 * owners.len());
            for v in 0..with.len() {
                prop_assert!(with.neighbours(v).windows(2).all(|w| w[0] < w[1]));
            }
            for (i, &v) in owners.iter().enumerate() {
                prop_assert_eq!(with.neighbours(10 + i), [v]);
                prop_assert!(with.neighbours(v as usize).contains(&(10 + i as u32)));
            }
            prop_assert_eq!(with.weights().map(<[f32]>::len), weighted.then_some(with.arcs()));
            prop_assert_eq!(with.induced(&(0..10).collect::<Vec<_>>()), a);
        }

        #[test]
        fn induced_keeps_exactly_the_inner_edges(
            edges in prop::collection::vec((0u32..10, 0u32..10), 0..40),
            keep in prop::collection::vec(any::<bool>(), 10),
        ) {
            let (a, _) = Adjacency::from_edges(10, &edges, None, false).unwrap();
            let nodes: Vec<u32> = (0..10).filter(|&v| keep[v as usize]).collect();
            let inner = a.induced(&nodes);
            for (i, &v) in nodes.iter().enumerate() {
                let back: Vec<u32> = inner.neighbours(i).iter().map(|&u| nodes[u as usize]).collect();
                let expected: Vec<u32> = a.neighbours(v as usize).iter().copied().filter(|&u| keep[u as usize]).collect();
                prop_assert_eq!(back, expected);
            }
        }
    }
}
