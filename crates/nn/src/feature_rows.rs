//! Rows of a feature matrix that is sparse except for its last rows.

use crate::kernels::gemm;
use crate::kernels::spmm::spmm;
use crate::{Csr, Matrix, Pool, Real};
use std::sync::Arc;

/// The features of some nodes: sparse rows first, then dense rows of nodes that were
/// [added](crate::Inputs::extended). For a dense row a sparse product would take several times as
/// long as a dense one.
#[derive(Debug)]
pub(crate) struct FeatureRows<T> {
    x: Arc<Csr<T>>,
    /// The nodes, increasing.
    nodes: Arc<Vec<u32>>,
    /// The dense features of the last of them.
    full: Option<Arc<Matrix<T>>>,
    /// Xᵀ of the sparse rows, for the gradient of the weights.
    transpose: Option<Csr<T>>,
}

impl<T: Real> FeatureRows<T> {
    /// The features of `nodes` (increasing): `x` has those of the first nodes, `full` those of the
    /// nodes after them.
    pub(crate) fn new(
        x: &Arc<Csr<T>>,
        full: Option<&Arc<Matrix<T>>>,
        nodes: &Arc<Vec<u32>>,
        differentiable: bool,
    ) -> Self {
        let (sparse, rest) = nodes.split_at(nodes.partition_point(|&v| (v as usize) < x.rows()));
        let full = full.filter(|_| !rest.is_empty()).map(|full| {
            if rest.len() == full.rows() {
                return Arc::clone(full);
            }
            Arc::new(full.rows_at(&rest.iter().map(|&v| v - x.rows() as u32).collect::<Vec<_>>()))
        });
        let transpose = differentiable.then(|| x.transpose_of(Some(sparse)).0);
        Self { x: Arc::clone(x), nodes: Arc::clone(nodes), full, transpose }
    }

    pub(crate) fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    pub(crate) fn is_differentiable(&self) -> bool {
        self.transpose.is_some()
    }

    /// Number of nodes with sparse features.
    fn sparse(&self) -> usize {
        self.nodes.len() - self.full.as_ref().map_or(0, |full| full.rows())
    }

    /// X·W.
    pub(crate) fn multiply(&self, weights: &Matrix<T>, pool: &Pool<T>) -> Matrix<T> {
        let mut out = pool.take(self.nodes.len(), weights.columns());
        let stride = out.stride();
        let (sparse, rest) = out.data_mut().split_at_mut(self.sparse() * stride);
        spmm(&self.x, Some(&self.nodes[..self.sparse()]), weights.data(), sparse, stride);
        if let Some(full) = &self.full {
            gemm::multiply_rows(full, weights, rest);
        }
        out
    }

    /// Xᵀ·g.
    ///
    /// # Panics
    /// If the view was made for evaluation.
    pub(crate) fn transposed_multiply(&self, gradient: &Matrix<T>, pool: &Pool<T>) -> Matrix<T> {
        let Some(transpose) = &self.transpose else {
            panic!("a view made for evaluation was differentiated");
        };
        let mut out = pool.take(transpose.rows(), gradient.columns());
        let stride = out.stride();
        spmm(transpose, None, gradient.data(), out.data_mut(), stride);
        if let Some(full) = &self.full {
            let mut further = pool.take(transpose.rows(), gradient.columns());
            gemm::transposed_multiply_rows(
                full,
                &gradient.data()[self.sparse() * stride..],
                &mut further,
            );
            out.data_mut().iter_mut().zip(further.data()).for_each(|(sum, x)| *sum += *x);
            pool.put(further);
        }
        out
    }
}
