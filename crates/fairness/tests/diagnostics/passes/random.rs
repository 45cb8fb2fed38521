//! Small random networks: some nodes isolated, features sparse or dense, messages plain or weighed
//! anew.

use boostfgl_fairness::diagnostics::Network;
use boostfgl_graph::{Adjacency, Features, Graph, Labels, SparseRows, Stream};
use boostfgl_nn::backbones::{Architecture, Backbone, build};
use boostfgl_nn::{Inputs, Matrix, Params, Propagation, Real};

/// What to draw.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    pub(crate) seed: u64,
    pub(crate) backbone: &'static str,
    pub(crate) layers: usize,
    pub(crate) nodes: usize,
    /// Expected neighbours of a node.
    pub(crate) degree: f64,
    pub(crate) columns: usize,
    pub(crate) dense: bool,
    pub(crate) boosted: bool,
    pub(crate) directed: bool,
}

pub(crate) const CLASSES: usize = 3;

/// A graph, a network and its messages.
pub(crate) struct Case<T: Real> {
    graph: Graph,
    backbone: Box<dyn Backbone<T>>,
    params: Params<T>,
    inputs: Inputs<T>,
    propagation: Propagation<T>,
    two_layer_gcn: bool,
}

impl Kind {
    pub(crate) fn draw<T: Real>(self) -> Case<T> {
        let graph = self.graph();
        let architecture =
            Architecture { inputs: self.columns, hidden: 6, classes: CLASSES, layers: self.layers };
        let backbone = build::<T>(self.backbone, architecture).unwrap();
        let mut inputs = Inputs::new(&graph);
        inputs.set_operator(graph.adjacency(), backbone.plan().operator);
        // Small enough that no softmax is saturated: 1 − p would have few digits in a backward
        // pass.
        let mut stream = Stream::new(self.seed, "params", &[]);
        let shapes = backbone.shapes();
        let tensors = shapes.iter().map(|shape| {
            let values: Vec<T> =
                (0..shape.rows * shape.columns).map(|_| T::of(0.4 * stream.normal())).collect();
            Matrix::from_rows(shape.rows, shape.columns, &values)
        });
        let params = Params::from_tensors(&shapes, tensors.collect());
        // Some messages are silenced, as a gate would.
        let mut stream = Stream::new(self.seed, "boost", &[]);
        let factor = |x: &T| {
            T::of(x.f64() * if stream.below(8) == 0 { 0.0 } else { 0.2 + 2.0 * stream.unit() })
        };
        let propagation = match self.boosted {
            true => inputs
                .propagation()
                .with_values(inputs.propagation().csr().values().iter().map(factor).collect()),
            false => inputs.propagation().clone(),
        };
        let two_layer_gcn = self.backbone == "gcn" && self.layers == 2;
        Case { graph, backbone, params, inputs, propagation, two_layer_gcn }
    }

    fn graph(self) -> Graph {
        let mut stream = Stream::new(self.seed, "graph", &[]);
        // The last node never has an edge.
        let joined = self.nodes as u32 - 1;
        let probability = self.degree / f64::from(joined.max(1));
        let pairs = (0..joined).flat_map(|v| (0..v).map(move |u| (u, v)));
        let edges: Vec<(u32, u32)> = pairs.filter(|_| stream.unit() < probability).collect();
        let (adjacency, _) =
            Adjacency::from_edges(self.nodes, &edges, None, self.directed).unwrap();
        let labels: Vec<i64> = (0..self.nodes).map(|_| stream.below(CLASSES) as i64).collect();
        let labels = Labels::from_integers(&labels, CLASSES).unwrap();
        Graph::new("random", adjacency, self.features(&mut stream), labels).unwrap()
    }

    fn features(self, stream: &mut Stream) -> Features {
        let mut number = || (2.0 * stream.unit() - 1.0) as f32;
        if self.dense {
            let values = (0..self.nodes * self.columns).map(|_| number()).collect();
            return Features::dense(self.nodes, self.columns, values).unwrap();
        }
        let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for v in 0..self.nodes {
            // Up to three words; one node has none.
            for word in 0..(v % 4).min(self.columns) {
                indices.push((word * (self.columns / 3).max(1) % self.columns) as u32);
                values.push(number());
            }
            offsets.push(indices.len());
        }
        Features::Sparse(SparseRows::new(self.columns, &offsets, &indices, &values).unwrap())
    }
}

impl<T: Real> Case<T> {
    pub(crate) fn network(&self) -> Network<'_, T> {
        Network {
            backbone: &*self.backbone,
            two_layer_gcn: self.two_layer_gcn,
            params: &self.params,
            adjacency: self.graph.adjacency(),
            inputs: &self.inputs,
            propagation: &self.propagation,
        }
    }

    /// All nodes but each fifth, which has no label.
    pub(crate) fn label(&self, v: usize) -> Option<u32> {
        self.graph.labels().get(v).filter(|_| v % 5 != 4)
    }

    pub(crate) fn labelled(&self) -> (Vec<u32>, Vec<u32>) {
        (0..self.graph.len()).filter_map(|v| self.label(v).map(|y| (v as u32, y))).unzip()
    }
}
