//! An operator that combines edges and similarity: Â = E + diag(s)·B·diag(s).

use super::SimilarityRelation;
use crate::kernels::spmm::spmm;
use crate::{Csr, Matrix, Pool, Real};

/// Â = E + diag(s)·B·diag(s), with a sparse E and a symmetric 0/1 relation B. B has many entries
/// but needs no multiplications, which is why the two are not one sparse matrix.
#[derive(Clone, Debug)]
pub struct SmoothingOperator<T> {
    edges: Csr<T>,
    /// Eᵀ.
    back: Csr<T>,
    similarity: Option<(Vec<T>, SimilarityRelation)>,
}

impl<T: Real> SmoothingOperator<T> {
    /// The operator with one entry of s per node.
    ///
    /// # Panics
    /// If the parts are not square or of different sizes.
    pub fn new(edges: Csr<T>, scale: Vec<T>, similarity: SimilarityRelation) -> Self {
        assert_eq!(
            (edges.rows(), edges.rows()),
            (scale.len(), similarity.len()),
            "parts of one size"
        );
        Self { similarity: Some((scale, similarity)), ..edges.into() }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.edges.rows()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Â·y.
    pub fn product(&self, y: &Matrix<T>, pool: &Pool<T>) -> Matrix<T> {
        self.sum(&self.edges, y, pool)
    }

    /// Âᵀ·y.
    pub fn transposed_product(&self, y: &Matrix<T>, pool: &Pool<T>) -> Matrix<T> {
        self.sum(&self.back, y, pool)
    }

    fn sum(&self, edges: &Csr<T>, y: &Matrix<T>, pool: &Pool<T>) -> Matrix<T> {
        assert_eq!(y.rows(), self.len(), "a row per node");
        let mut out = pool.take(self.len(), y.columns());
        let stride = out.stride();
        spmm(edges, None, y.data(), out.data_mut(), stride);
        if let Some((scale, similarity)) = &self.similarity {
            similarity.add_scaled_product(scale, y, &mut out, pool);
        }
        out
    }
}

impl<T: Real> From<Csr<T>> for SmoothingOperator<T> {
    /// Edges alone.
    ///
    /// # Panics
    /// If the matrix is not square.
    fn from(edges: Csr<T>) -> Self {
        assert_eq!(edges.rows(), edges.columns(), "an operator on nodes");
        Self { back: edges.transpose_of(None).0, edges, similarity: None }
    }
}
