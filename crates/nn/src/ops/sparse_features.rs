//! Sparse features times weights: y = X·W, ∂W = Xᵀ·g. X is a constant and stays sparse.

use crate::feature_rows::FeatureRows;
use crate::tape::{Backward, Operation};
use crate::{Matrix, Real, Tape, Var};

impl<'a, T: Real> Tape<'a, T> {
    /// X · W.
    pub(crate) fn sparse_features(&mut self, x: &'a FeatureRows<T>, weights: Var) -> Var {
        let out = x.multiply(self.value(weights), self.pool());
        self.record(&[weights], out, SparseFeatures { x, weights })
    }

    /// The same product from the cache `product`, which holds X·W of all nodes.
    pub(crate) fn cached_features(
        &mut self,
        product: &Matrix<T>,
        x: &'a FeatureRows<T>,
        weights: Var,
    ) -> Var {
        let mut out = self.pool().take(x.nodes().len(), product.columns());
        for (i, &v) in x.nodes().iter().enumerate() {
            out.row_mut(i).copy_from_slice(product.row(v as usize));
        }
        self.record(&[weights], out, SparseFeatures { x, weights })
    }
}

struct SparseFeatures<'a, T> {
    x: &'a FeatureRows<T>,
    weights: Var,
}

impl<T: Real> Operation<T> for SparseFeatures<'_, T> {
    fn backward(self: Box<Self>, _: Var, gradient: Matrix<T>, to: &mut Backward<'_, '_, T>) {
        let out = self.x.transposed_multiply(&gradient, to.pool());
        to.add(self.weights, out);
        to.recycle(gradient);
    }
}
