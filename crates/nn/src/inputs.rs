//! A client's graph as the kernels like it.

use crate::{Csr, Matrix, Propagation, Real};
use boostfgl_graph::{Features, Graph};
use std::sync::Arc;

/// Features and propagation of one graph, in the number type of the model.
#[derive(Clone, Debug)]
pub struct Inputs<T> {
    nodes: usize,
    width: usize,
    features: FeatureMatrix<T>,
    propagation: Propagation<T>,
}

/// Node features: sparse ones are never densified.
#[derive(Clone, Debug)]
pub(crate) enum FeatureMatrix<T> {
    Sparse(Arc<Csr<T>>),
    Dense(Arc<Matrix<T>>),
}

impl<T: Real> Inputs<T> {
    /// Converts a graph; propagation is GCN's.
    pub fn new(graph: &Graph) -> Self {
        let features = match graph.features() {
            Features::Sparse(x) => {
                let values = x.values().iter().map(|&x| T::of(f64::from(x))).collect();
                let csr = Csr::new(x.columns(), x.offsets().to_vec(), x.indices().to_vec(), values);
                FeatureMatrix::Sparse(Arc::new(csr))
            }
            Features::Dense { rows, columns, values } => {
                let values: Vec<T> = values.iter().map(|&x| T::of(f64::from(x))).collect();
                FeatureMatrix::Dense(Arc::new(Matrix::from_rows(*rows, *columns, &values)))
            }
        };
        Self {
            nodes: graph.len(),
            width: graph.features().columns(),
            features,
            propagation: Propagation::gcn(graph.adjacency()),
        }
    }

    /// The same graph with other, dense features: numbers that `f32` cannot hold, or features made on the way.
    ///
    /// # Panics
    /// If there is not one row per node.
    pub fn with_dense_features(graph: &Graph, features: &Matrix<T>) -> Self {
        assert_eq!(features.rows(), graph.len(), "one row of features per node");
        Self {
            nodes: graph.len(),
            width: features.columns(),
            features: FeatureMatrix::Dense(Arc::new(features.clone())),
            propagation: Propagation::gcn(graph.adjacency()),
        }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Number of features.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Whether features are stored densely.
    pub fn is_dense(&self) -> bool {
        matches!(self.features, FeatureMatrix::Dense(_))
    }

    /// ⟨xᵥ, xᵤ⟩ of the features of two nodes, in `f64`.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn feature_dot(&self, v: usize, u: usize) -> f64 {
        match &self.features {
            FeatureMatrix::Dense(x) => x.row(v).iter().zip(x.row(u)).map(|(a, b)| a.f64() * b.f64()).sum(),
            FeatureMatrix::Sparse(x) => sparse_dot(x, v, u),
        }
    }

    /// The plain propagation of the graph.
    pub fn propagation(&self) -> &Propagation<T> {
        &self.propagation
    }

    pub(crate) fn features(&self) -> &FeatureMatrix<T> {
        &self.features
    }
}

/// ⟨row v, row u⟩ of a matrix whose columns increase inside a row.
fn sparse_dot<T: Real>(x: &Csr<T>, v: usize, u: usize) -> f64 {
    let (mut a, mut b) = (x.row_range(v), x.row_range(u));
    let mut sum = 0.0;
    while let (Some(i), Some(j)) = (a.clone().next(), b.clone().next()) {
        let (left, right) = (x.indices()[i], x.indices()[j]);
        if left == right {
            sum += x.values()[i].f64() * x.values()[j].f64();
        }
        if left <= right {
            a.next();
        }
        if right <= left {
            b.next();
        }
    }
    sum
}
