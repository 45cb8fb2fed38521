//! The weighted graph of one Louvain level.

use std::borrow::Cow;

use boostfgl_graph::Adjacency;

/// A symmetric weighted graph with self-loops.
///
/// The first level reads the rows of the input where they are: at the size of ogbn-products a copy
/// with weights would cost 1.5 GB.
pub(super) struct Level<'a> {
    offsets: Cow<'a, [usize]>,
    neighbours: Cow<'a, [u32]>,
    weights: Weights<'a>,
    /// Twice the weight inside the community that a node represents: the diagonal of the merged
    /// matrix. Counted twice, because an edge contributes to the degrees of both of its ends.
    loops: Vec<f64>,
    degrees: Vec<f64>,
    total: f64,
}

enum Weights<'a> {
    Unit,
    Given(Cow<'a, [f32]>),
    Merged(Vec<f64>),
}

impl<'a> Level<'a> {
    /// The first level: the graph itself, or A + Aᵀ if it is directed.
    pub(super) fn of(adjacency: &'a Adjacency) -> Self {
        if adjacency.is_directed() { Self::symmetric(adjacency) } else { Self::borrowed(adjacency) }
    }

    fn borrowed(adjacency: &'a Adjacency) -> Self {
        let weights = adjacency
            .weights()
            .map_or(Weights::Unit, |weights| Weights::Given(Cow::Borrowed(weights)));
        Self::new(
            Cow::Borrowed(adjacency.offsets()),
            Cow::Borrowed(adjacency.indices()),
            weights,
            adjacency.len(),
        )
    }

    /// A + Aᵀ: Q is that of undirected graphs, so the direction is dropped and the weights of the
    /// two directions add up.
    fn symmetric(directed: &Adjacency) -> Self {
        let edges: Vec<(u32, u32)> = (0..directed.len())
            .flat_map(|v| directed.neighbours(v).iter().map(move |&source| (source, v as u32)))
            .collect();
        // Without weights each direction counts 1, so that edges in both directions weigh 2.
        let ones;
        let weights = match directed.weights() {
            Some(weights) => weights,
            None => {
                ones = vec![1.0; edges.len()];
                &ones
            }
        };
        let (both, _) = Adjacency::from_edges(directed.len(), &edges, Some(weights), false)
            .expect("edges and weights come from an adjacency that was checked");
        let weights = both
            .weights()
            .map_or(Weights::Unit, |weights| Weights::Given(Cow::Owned(weights.to_vec())));
        let (offsets, neighbours) = (both.offsets().to_vec(), both.indices().to_vec());
        Self::new(Cow::Owned(offsets), Cow::Owned(neighbours), weights, directed.len())
    }

    fn new(
        offsets: Cow<'a, [usize]>,
        neighbours: Cow<'a, [u32]>,
        weights: Weights<'a>,
        nodes: usize,
    ) -> Self {
        Self::with_loops(offsets, neighbours, weights, vec![0.0; nodes])
    }

    fn with_loops(
        offsets: Cow<'a, [usize]>,
        neighbours: Cow<'a, [u32]>,
        weights: Weights<'a>,
        loops: Vec<f64>,
    ) -> Self {
        let mut level =
            Self { offsets, neighbours, weights, degrees: loops.clone(), loops, total: 0.0 };
        // The order of these sums is fixed, because their rounding can decide a move.
        for v in 0..level.len() {
            let mut degree = level.loops[v];
            level.each_arc(v, |_, weight| degree += weight);
            level.degrees[v] = degree;
            level.total += degree;
        }
        level
    }

    /// Number of nodes.
    pub(super) fn len(&self) -> usize {
        self.loops.len()
    }

    /// 2m: the sum of all weighted degrees.
    pub(super) fn total(&self) -> f64 {
        self.total
    }

    /// The weighted degree of `v`, its loop included.
    pub(super) fn degree(&self, v: usize) -> f64 {
        self.degrees[v]
    }

    /// The weighted degrees of all nodes.
    pub(super) fn degrees(&self) -> &[f64] {
        &self.degrees
    }

    /// Calls `visit` with every neighbour of `v` other than itself, and the weight of the edge.
    #[inline]
    pub(super) fn each_arc(&self, v: usize, mut visit: impl FnMut(u32, f64)) {
        let range = self.offsets[v]..self.offsets[v + 1];
        let neighbours = &self.neighbours[range.clone()];
        match &self.weights {
            Weights::Unit => neighbours.iter().for_each(|&u| visit(u, 1.0)),
            Weights::Given(weights) => {
                neighbours
                    .iter()
                    .zip(&weights[range])
                    .for_each(|(&u, &weight)| visit(u, f64::from(weight)));
            }
            Weights::Merged(weights) => {
                neighbours.iter().zip(&weights[range]).for_each(|(&u, &weight)| visit(u, weight));
            }
        }
    }

    /// The graph in which each of `count` communities is one node. Time O(n + m).
    pub(super) fn merged(&self, community: &[u32], count: usize) -> Level<'static> {
        let (starts, members) = members(community, count);
        let mut offsets = vec![0];
        let (mut neighbours, mut weights) = (Vec::new(), Vec::new());
        let mut loops = vec![0.0; count];
        let mut link = vec![0.0; count];
        for c in 0..count {
            let row = neighbours.len();
            for &v in &members[starts[c]..starts[c + 1]] {
                loops[c] += self.loops[v as usize];
                self.each_arc(v as usize, |u, weight| {
                    let other = community[u as usize];
                    // An edge inside the community is visited from both ends, so its weight enters
                    // the loop twice, as in the diagonal of the merged matrix.
                    if other as usize == c {
                        loops[c] += weight;
                        return;
                    }
                    // Weights are positive: 0 means that this community is met for the first time.
                    // Rows need no sorting, their order is that of the edges and deterministic.
                    if link[other as usize] == 0.0 {
                        neighbours.push(other);
                    }
                    link[other as usize] += weight;
                });
            }
            // Taking the sums leaves `link` all zero for the next community.
            for &other in &neighbours[row..] {
                weights.push(std::mem::take(&mut link[other as usize]));
            }
            offsets.push(neighbours.len());
        }
        Level::with_loops(
            Cow::Owned(offsets),
            Cow::Owned(neighbours),
            Weights::Merged(weights),
            loops,
        )
    }
}

/// The nodes sorted by community, in node order inside each, and where each community starts.
fn members(community: &[u32], count: usize) -> (Vec<usize>, Vec<u32>) {
    let mut starts = vec![0usize; count + 1];
    for &c in community {
        starts[c as usize + 1] += 1;
    }
    for c in 0..count {
        starts[c + 1] += starts[c];
    }
    let mut next = starts.clone();
    let mut members = vec![0u32; community.len()];
    for (v, &c) in community.iter().enumerate() {
        members[next[c as usize]] = v as u32;
        next[c as usize] += 1;
    }
    (starts, members)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_keeps_the_total_weight() {
        let edges = [(0, 1), (1, 2), (0, 2), (2, 3)];
        let (adjacency, _) = Adjacency::from_edges(4, &edges, None, false).unwrap();
        let level = Level::of(&adjacency);
        let merged = level.merged(&[0, 0, 0, 1], 2);
        assert_eq!((level.total(), merged.total()), (8.0, 8.0));
        assert_eq!(merged.loops, [6.0, 0.0]);
        assert_eq!(merged.degrees(), [7.0, 1.0]);
        merged.each_arc(1, |u, weight| assert_eq!((u, weight), (0, 1.0)));
    }
}
