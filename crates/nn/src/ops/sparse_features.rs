//! Sparse features times weights: y = X·W, ∂W = Xᵀ·g. X is a constant and stays sparse.

use crate::kernels::spmm::spmm;
use crate::tape::{Backward, Operation};
use crate::{Csr, Matrix, Real, Tape, Var};

impl<'a, T: Real> Tape<'a, T> {
    /// X[rows] · W. `transpose` is X[rows]ᵀ, without which the result cannot be differentiated.
    pub(crate) fn sparse_features(
        &mut self,
        x: &Csr<T>,
        rows: &[u32],
        transpose: Option<&'a Csr<T>>,
        weights: Var,
    ) -> Var {
        let right = self.value(weights);
        let mut out = self.pool().take(rows.len(), right.columns());
        let stride = out.stride();
        spmm(x, Some(rows), right.data(), out.data_mut(), stride);
        self.record(&[weights], out, SparseFeatures { transpose, weights })
    }

    /// The same product taken from `product`, which holds X·W of all nodes.
    pub(crate) fn remembered_features(
        &mut self,
        product: &Matrix<T>,
        rows: &[u32],
        transpose: &'a Csr<T>,
        weights: Var,
    ) -> Var {
        let mut out = self.pool().take(rows.len(), product.columns());
        for (i, &v) in rows.iter().enumerate() {
            out.row_mut(i).copy_from_slice(product.row(v as usize));
        }
        self.record(&[weights], out, SparseFeatures { transpose: Some(transpose), weights })
    }
}

struct SparseFeatures<'a, T> {
    transpose: Option<&'a Csr<T>>,
    weights: Var,
}

impl<T: Real> Operation<T> for SparseFeatures<'_, T> {
    fn backward(self: Box<Self>, _: Var, gradient: Matrix<T>, to: &mut Backward<'_, '_, T>) {
        let Some(transpose) = self.transpose else {
            panic!("a view made for evaluation was differentiated");
        };
        let mut out = to.pool().take(transpose.rows(), gradient.columns());
        let stride = out.stride();
        spmm(transpose, None, gradient.data(), out.data_mut(), stride);
        to.add(self.weights, out);
        to.recycle(gradient);
    }
}
