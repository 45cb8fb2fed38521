//! A client's graph in the layout that the kernels read.

use crate::propagation::two_hops;
use crate::{Csr, Matrix, Operator, Propagation, Real};
use boostfgl_graph::{Adjacency, Features, Graph};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Features and propagation of one graph, in the number type of the model.
#[derive(Clone, Debug)]
pub struct Inputs<T> {
    nodes: usize,
    width: usize,
    features: FeatureMatrix<T>,
    /// The dense features of nodes that were added to a graph with sparse features.
    full: Option<Arc<Matrix<T>>>,
    operator: Operator,
    propagation: Propagation<T>,
    /// Computed on first use: only H2GCN reads nodes two hops away at once.
    two_hops: OnceLock<Csr<T>>,
}

/// Node features: sparse ones are never densified.
#[derive(Clone, Debug)]
pub(crate) enum FeatureMatrix<T> {
    Sparse(Arc<Csr<T>>),
    Dense(Arc<Matrix<T>>),
}

impl<T: Real> Inputs<T> {
    /// Converts a graph; propagation is GCN's until [`Inputs::set_operator`].
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
            full: None,
            operator: Operator::Gcn,
            propagation: Propagation::gcn(graph.adjacency()),
            two_hops: OnceLock::new(),
        }
    }

    /// The same graph with other, dense features: numbers that `f32` cannot represent, or computed
    /// features.
    ///
    /// # Panics
    /// If there is not one row per node.
    pub fn with_dense_features(graph: &Graph, features: &Matrix<T>) -> Self {
        assert_eq!(features.rows(), graph.len(), "one row of features per node");
        Self {
            nodes: graph.len(),
            width: features.columns(),
            features: FeatureMatrix::Dense(Arc::new(features.clone())),
            full: None,
            operator: Operator::Gcn,
            propagation: Propagation::gcn(graph.adjacency()),
            two_hops: OnceLock::new(),
        }
    }

    /// Sets the plain propagation to that of `operator`, which has to be the one in the
    /// [`ViewPlan`](crate::backbones::ViewPlan) of the network. `adjacency` is the graph that these
    /// inputs were made of.
    ///
    /// # Panics
    /// If it has another number of nodes or edges.
    pub fn set_operator(&mut self, adjacency: &Adjacency, operator: Operator) {
        let entries = adjacency.arcs() + adjacency.len();
        assert_eq!(
            (adjacency.len(), entries),
            (self.nodes, self.propagation.csr().non_zeros()),
            "the same graph"
        );
        if operator != self.operator {
            (self.operator, self.propagation) = (operator, Propagation::of(operator, adjacency));
        }
    }

    /// The inputs with further nodes, whose features `further` holds, on the graph `adjacency`.
    /// Sparse features stay sparse, and only the further rows are dense.
    ///
    /// # Panics
    /// If the widths differ or `adjacency` does not have as many nodes.
    #[must_use]
    pub fn extended(&self, adjacency: &Adjacency, further: &Matrix<T>) -> Self {
        assert_eq!(further.columns(), self.width, "further rows of the same width");
        assert_eq!(adjacency.len(), self.nodes + further.rows(), "one row of features per node");
        let (features, full) = match (&self.features, &self.full) {
            (FeatureMatrix::Sparse(x), None) => {
                (FeatureMatrix::Sparse(Arc::clone(x)), Some(further.clone()))
            }
            (FeatureMatrix::Sparse(x), Some(full)) => {
                (FeatureMatrix::Sparse(Arc::clone(x)), Some(full.followed_by(further)))
            }
            (FeatureMatrix::Dense(x), _) => {
                (FeatureMatrix::Dense(Arc::new(x.followed_by(further))), None)
            }
        };
        Self {
            nodes: adjacency.len(),
            width: self.width,
            features,
            full: full.map(Arc::new),
            operator: self.operator,
            propagation: Propagation::of(self.operator, adjacency),
            two_hops: OnceLock::new(),
        }
    }

    /// The features of node `v`.
    fn row(&self, v: usize) -> Row<'_, T> {
        match &self.features {
            FeatureMatrix::Dense(x) => Row::Full(x.row(v)),
            FeatureMatrix::Sparse(x) if v < x.rows() => Row::Sparse(x, x.row_range(v)),
            FeatureMatrix::Sparse(x) => match &self.full {
                Some(full) => Row::Full(full.row(v - x.rows())),
                None => panic!("there is no node {v}"),
            },
        }
    }

    /// Writes the features of node `v` as a dense row.
    ///
    /// # Panics
    /// If `to` does not have one number per feature, or there is no such node.
    pub fn write_row(&self, v: usize, to: &mut [T]) {
        assert_eq!(to.len(), self.width, "one number per feature");
        match self.row(v) {
            Row::Full(row) => to.copy_from_slice(row),
            Row::Sparse(x, range) => {
                to.fill(T::ZERO);
                // Added, since an entry that is stored twice counts twice in a product.
                range.for_each(|k| to[x.indices()[k] as usize] += x.values()[k]);
            }
        }
    }

    /// Calls `visit(column, value)` for the features of node `v` that are stored: all of them if
    /// features are dense. A column that is stored twice is visited twice, as in a product.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn visit_row(&self, v: usize, mut visit: impl FnMut(usize, T)) {
        match self.row(v) {
            Row::Full(row) => {
                row.iter().enumerate().for_each(|(column, &value)| visit(column, value))
            }
            Row::Sparse(x, range) => {
                range.for_each(|k| visit(x.indices()[k] as usize, x.values()[k]))
            }
        }
    }

    /// Number of stored features of all nodes: nodes × width if they are dense.
    pub fn stored(&self) -> usize {
        let full = self.full.as_ref().map_or(0, |full| full.rows() * full.columns());
        match &self.features {
            FeatureMatrix::Dense(x) => x.rows() * x.columns(),
            FeatureMatrix::Sparse(x) => x.non_zeros() + full,
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

    /// ⟨xᵥ, xᵤ⟩ of the features of two nodes, in `f64`.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn feature_dot(&self, v: usize, u: usize) -> f64 {
        match (self.row(v), self.row(u)) {
            (Row::Full(a), Row::Full(b)) => a.iter().zip(b).map(|(a, b)| a.f64() * b.f64()).sum(),
            (Row::Sparse(x, a), Row::Sparse(_, b)) => sparse_dot(x, a, b),
            (Row::Sparse(x, range), Row::Full(row)) | (Row::Full(row), Row::Sparse(x, range)) => {
                range.map(|k| x.values()[k].f64() * row[x.indices()[k] as usize].f64()).sum()
            }
        }
    }

    /// The plain propagation of the graph.
    pub fn propagation(&self) -> &Propagation<T> {
        &self.propagation
    }

    /// The operator of the plain propagation.
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// The normalised matrix of nodes exactly two hops apart, see [`two_hops`].
    pub(crate) fn two_hops(&self) -> &Csr<T> {
        self.two_hops.get_or_init(|| two_hops(self.propagation.csr()))
    }

    /// The features of all nodes, or of those that come before the rows in [`Inputs::full`].
    pub(crate) fn features(&self) -> &FeatureMatrix<T> {
        &self.features
    }

    /// The dense features of nodes that were added to a graph with sparse features.
    pub(crate) fn full(&self) -> Option<&Arc<Matrix<T>>> {
        self.full.as_ref()
    }

    /// The features of all nodes as one matrix.
    pub(crate) fn features_together(&self) -> FeatureMatrix<T> {
        match (&self.features, &self.full) {
            (FeatureMatrix::Sparse(x), Some(full)) => {
                FeatureMatrix::Sparse(Arc::new(x.with_dense_rows(full)))
            }
            (features, _) => features.clone(),
        }
    }
}

/// The features of one node.
enum Row<'a, T> {
    Full(&'a [T]),
    /// A matrix, and the range of its entries.
    Sparse(&'a Csr<T>, Range<usize>),
}

/// ⟨a, b⟩ of two rows of a matrix whose columns increase inside a row, by merging them.
fn sparse_dot<T: Real>(x: &Csr<T>, mut a: Range<usize>, mut b: Range<usize>) -> f64 {
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
