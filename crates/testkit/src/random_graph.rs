//! Small random graphs with dense or sparse features.

use boostfgl_graph::{Adjacency, Features, Graph, Labels, SparseRows, Stream};

/// The share of zeros in sparse features.
const ZEROS: f64 = 0.6;

/// The size and kind of a random graph.
#[derive(Clone, Copy, Debug)]
pub struct RandomGraph {
    /// The number of nodes.
    pub nodes: usize,
    /// The number of drawn pairs; loops and repetitions leave fewer edges.
    pub pairs: usize,
    /// The number of feature columns.
    pub width: usize,
    /// The number of classes.
    pub classes: usize,
    /// Whether features are stored as sparse rows.
    pub sparse: bool,
    /// Whether edges have weights from 0.5 to 1.5.
    pub weighted: bool,
    /// Whether edges are directed.
    pub directed: bool,
}

impl RandomGraph {
    /// Draws edges, weights, features and labels, in this order.
    ///
    /// # Panics
    /// If there are no nodes or no classes.
    pub fn draw(self, stream: &mut Stream) -> Graph {
        let edges: Vec<(u32, u32)> = (0..self.pairs)
            .map(|_| (stream.below(self.nodes) as u32, stream.below(self.nodes) as u32))
            .collect();
        let weights: Option<Vec<f32>> =
            self.weighted.then(|| edges.iter().map(|_| 0.5 + stream.unit() as f32).collect());
        let adjacency =
            Adjacency::from_edges(self.nodes, &edges, weights.as_deref(), self.directed);
        let (adjacency, _) = adjacency.expect("edges lie within the graph");
        let features = self.features(stream);
        let labels: Vec<i64> = (0..self.nodes).map(|_| stream.below(self.classes) as i64).collect();
        let labels = Labels::from_integers(&labels, self.classes).expect("labels are in range");
        Graph::new("random", adjacency, features, labels).expect("all parts have the same nodes")
    }

    /// Normal numbers, many of them 0 if features are sparse.
    fn features(self, stream: &mut Stream) -> Features {
        let (rows, width) = (self.nodes, self.width);
        let mut values: Vec<f32> = Vec::with_capacity(rows * width);
        for _ in 0..rows * width {
            let is_zero = self.sparse && stream.unit() < ZEROS;
            values.push(if is_zero { 0.0 } else { stream.normal() as f32 });
        }
        if !self.sparse {
            return Features::dense(rows, width, values).expect("every node has a row");
        }
        // Zeros are stored as entries, too: kernels must give the same result as for absent ones.
        let offsets: Vec<usize> = (0..=rows).map(|row| row * width).collect();
        let columns: Vec<u32> = (0..rows * width).map(|at| (at % width) as u32).collect();
        let sparse = SparseRows::new(width, &offsets, &columns, &values);
        Features::Sparse(sparse.expect("columns are sorted and in range"))
    }
}
