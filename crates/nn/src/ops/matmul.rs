//! Dense product: y = a·b, ∂a = g·bᵀ, ∂b = aᵀ·g.

use crate::kernels::gemm;
use crate::tape::{Backward, Operation};
use crate::{Matrix, Real, Tape, Var};

impl<T: Real> Tape<'_, T> {
    /// a · b.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn matmul(&mut self, a: Var, b: Var) -> Var {
        let (left, right) = (self.value(a), self.value(b));
        let mut out = self.pool().take(left.rows(), right.columns());
        gemm::multiply(left, right, &mut out);
        self.record(&[a, b], out, Matmul { a, b })
    }
}

struct Matmul {
    a: Var,
    b: Var,
}

impl<T: Real> Operation<T> for Matmul {
    fn backward(self: Box<Self>, _: Var, gradient: Matrix<T>, to: &mut Backward<'_, '_, T>) {
        if to.needs_gradient(self.b) {
            let mut out = to.pool().take(to.value(self.b).rows(), gradient.columns());
            gemm::transposed_multiply(to.value(self.a), &gradient, &mut out);
            to.add(self.b, out);
        }
        if to.needs_gradient(self.a) {
            let mut out = to.pool().take(gradient.rows(), to.value(self.b).rows());
            gemm::multiply_transposed(&gradient, to.value(self.b), &mut out);
            to.add(self.a, out);
        }
        to.recycle(gradient);
    }
}
