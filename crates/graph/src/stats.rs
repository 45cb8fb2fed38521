//! A graph in numbers.

use serde::Serialize;

use crate::groups::{HOMOPHILY_THRESHOLD, edge_homophily, node_homophily};
use crate::{Adjacency, Graph};

/// The statistics of a graph that `boostfgl data show` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stats {
    /// Number of nodes n.
    pub nodes: usize,
    /// Number of edges; an undirected edge counts once.
    pub edges: usize,
    /// Number of features d.
    pub features: usize,
    /// Share of the n·d feature values that are not 0.
    pub non_zeros: f64,
    /// Number of classes C.
    pub classes: usize,
    /// Labelled nodes of each class.
    pub class_counts: Vec<usize>,
    /// Nodes without a label.
    pub unlabelled: usize,
    /// Nodes without edges.
    pub isolated: usize,
    /// Connected components (weak ones in a directed graph); isolated nodes are components too.
    pub components: usize,
    /// Mean number of neighbours.
    pub mean_degree: f64,
    /// Largest number of neighbours.
    pub max_degree: usize,
    /// Share of edges inside a class (see [`edge_homophily`]).
    pub edge_homophily: Option<f64>,
    /// Mean of φ(v) over the nodes that have one (see [`node_homophily`]).
    pub node_homophily: Option<f64>,
    /// Share of nodes with φ(v) ≤ 0.5 among those that have φ.
    pub heterophilous: Option<f64>,
}

impl Stats {
    /// Measures `graph`. Time O(n + m + non-zeros).
    pub fn of(graph: &Graph) -> Self {
        let adjacency = graph.adjacency();
        let (n, columns) = (graph.len(), graph.features().columns());
        let class_counts = graph.labels().counts(0..n);
        let components = Components::of(adjacency);
        let phi: Vec<f64> = node_homophily(graph).into_iter().flatten().collect();
        Self {
            nodes: n,
            edges: adjacency.edges(),
            features: columns,
            non_zeros: share(graph.features().non_zeros(), n * columns).unwrap_or(0.0),
            classes: graph.classes(),
            unlabelled: n - class_counts.iter().sum::<usize>(),
            class_counts,
            isolated: components.singletons(),
            components: components.count,
            mean_degree: share(adjacency.arcs(), n).unwrap_or(0.0),
            max_degree: (0..n).map(|v| adjacency.degree(v)).max().unwrap_or(0),
            edge_homophily: edge_homophily(graph),
            node_homophily: (!phi.is_empty()).then(|| phi.iter().sum::<f64>() / phi.len() as f64),
            heterophilous: share(
                phi.iter().filter(|&&phi| phi <= HOMOPHILY_THRESHOLD).count(),
                phi.len(),
            ),
        }
    }
}

fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Union–find over the edges, by size, with path halving: works for directed rows as well.
struct Components {
    parent: Vec<u32>,
    size: Vec<u32>,
    count: usize,
}

impl Components {
    fn of(adjacency: &Adjacency) -> Self {
        let n = adjacency.len();
        let mut sets = Self { parent: (0..n as u32).collect(), size: vec![1; n], count: n };
        for v in 0..n {
            for &u in adjacency.neighbours(v) {
                sets.join(v as u32, u);
            }
        }
        sets
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        if a == b {
            return;
        }
        let (small, large) =
            if self.size[a as usize] < self.size[b as usize] { (a, b) } else { (b, a) };
        self.parent[small as usize] = large;
        self.size[large as usize] += self.size[small as usize];
        self.count -= 1;
    }

    fn root(&mut self, mut v: u32) -> u32 {
        while self.parent[v as usize] != v {
            self.parent[v as usize] = self.parent[self.parent[v as usize] as usize];
            v = self.parent[v as usize];
        }
        v
    }

    /// Components of one node. There are no self-loops, so these nodes have no edge.
    fn singletons(&self) -> usize {
        (0..self.parent.len())
            .filter(|&v| self.parent[v] as usize == v && self.size[v] == 1)
            .count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Features, Labels, SparseRows};

    /// A triangle 0–1–2 with a tail 2–3, a pair 4–5, and node 6 alone; node 3 has no label.
    fn graph(directed: bool) -> Graph {
        let edges = [(0, 1), (1, 2), (0, 2), (2, 3), (4, 5)];
        Graph::new(
            "hand-made",
            Adjacency::from_edges(7, &edges, None, directed).unwrap().0,
            Features::Sparse(
                SparseRows::new(2, &[0, 1, 3, 3, 3, 3, 3, 3], &[0, 0, 1], &[1.0; 3]).unwrap(),
            ),
            Labels::from_integers(&[0, 0, 1, -1, 1, 1, 0], 3).unwrap(),
        )
        .unwrap()
    }

    #[test]
    fn a_hand_made_graph_is_measured() {
        let stats = Stats::of(&graph(false));
        // φ: 0 → 1/2, 1 → 1/2, 2 → 0/2 (3 has no label), 4 → 1, 5 → 1; 3 and 6 have none.
        let expected = Stats {
            nodes: 7,
            edges: 5,
            features: 2,
            non_zeros: 3.0 / 14.0,
            classes: 3,
            class_counts: vec![3, 3, 0],
            unlabelled: 1,
            isolated: 1,
            components: 3,
            mean_degree: 10.0 / 7.0,
            max_degree: 3,
            edge_homophily: Some(0.5),
            node_homophily: Some(0.6),
            heterophilous: Some(0.6),
        };
        assert_eq!(stats, expected);
        assert!(serde_json::to_string(&stats).unwrap().contains(r#""class_counts":[3,3,0]"#));
    }

    #[test]
    fn direction_does_not_split_components() {
        let stats = Stats::of(&graph(true));
        assert_eq!((stats.edges, stats.components, stats.isolated), (5, 3, 1));
    }

    #[test]
    fn a_graph_without_edges_or_features_has_no_shares() {
        let (adjacency, _) = Adjacency::from_edges(2, &[], None, false).unwrap();
        let labels = Labels::from_integers(&[0, 0], 1).unwrap();
        let graph =
            Graph::new("bare", adjacency, Features::dense(2, 0, Vec::new()).unwrap(), labels)
                .unwrap();
        let stats = Stats::of(&graph);
        assert_eq!(
            (stats.edge_homophily, stats.node_homophily, stats.heterophilous),
            (None, None, None)
        );
        assert_eq!((stats.non_zeros, stats.isolated, stats.components), (0.0, 2, 2));
    }
}
