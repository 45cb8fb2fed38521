//! A client's graph as the kernels like it.

use crate::{Csr, Matrix, Propagation, Real};
use boostfgl_graph::{Adjacency, Features, Graph};
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

    /// The features of the same nodes and of further ones, whose rows `further` holds, on the graph `adjacency`. Where
    /// features are sparse they stay so; only the further rows are stored in full.
    ///
    /// # Panics
    /// If the widths differ or `adjacency` does not have as many nodes.
    #[must_use]
    pub fn extended(&self, adjacency: &Adjacency, further: &Matrix<T>) -> Self {
        assert_eq!(further.columns(), self.width, "further rows of the same width");
        assert_eq!(adjacency.len(), self.nodes + further.rows(), "one row of features per node");
        let features = match &self.features {
            FeatureMatrix::Sparse(x) => FeatureMatrix::Sparse(Arc::new(x.with_dense_rows(further))),
            FeatureMatrix::Dense(x) => {
                let mut all = Matrix::zeros(adjacency.len(), self.width);
                let (own, rest) = all.data_mut().split_at_mut(x.data().len());
                own.copy_from_slice(x.data());
                rest.copy_from_slice(further.data());
                FeatureMatrix::Dense(Arc::new(all))
            }
        };
        Self { nodes: adjacency.len(), width: self.width, features, propagation: Propagation::gcn(adjacency) }
    }

    /// Writes the features of node `v` out in full.
    ///
    /// # Panics
    /// If `to` is not as long as there are features, or there is no such node.
    pub fn write_row(&self, v: usize, to: &mut [T]) {
        assert_eq!(to.len(), self.width, "room for a row of features");
        match &self.features {
            FeatureMatrix::Dense(x) => to.copy_from_slice(x.row(v)),
            FeatureMatrix::Sparse(x) => {
                to.fill(T::ZERO);
                // An entry that is stored twice counts twice, as in a product.
                x.row_range(v).for_each(|k| to[x.indices()[k] as usize] += x.values()[k]);
            }
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

    /// The plain propagation of the graph.
    pub fn propagation(&self) -> &Propagation<T> {
        &self.propagation
    }

    pub(crate) fn features(&self) -> &FeatureMatrix<T> {
        &self.features
    }
}
