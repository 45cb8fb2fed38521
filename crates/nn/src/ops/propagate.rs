//! Message passing: y = P·x, ∂x = Pᵀ·g. P itself is a constant.

use crate::kernels::spmm::spmm;
use crate::tape::{Backward, Operation};
use crate::view::Block;
use crate::{Matrix, Real, Tape, Var};

impl<'a, T: Real> Tape<'a, T> {
    /// P · x for one layer of a view.
    pub(crate) fn propagate(&mut self, block: &'a Block<T>, x: Var) -> Var {
        let input = self.value(x);
        let mut out = self.pool().take(block.matrix.rows(), input.columns());
        let stride = out.stride();
        spmm(&block.matrix, None, input.data(), out.data_mut(), stride);
        self.record(&[x], out, Propagate { block, x })
    }
}

struct Propagate<'a, T> {
    block: &'a Block<T>,
    x: Var,
}

impl<T: Real> Operation<T> for Propagate<'_, T> {
    fn backward(self: Box<Self>, _: Var, gradient: Matrix<T>, to: &mut Backward<'_, '_, T>) {
        let Some((transpose, _)) = &self.block.transpose else {
            panic!("a view made for evaluation was differentiated");
        };
        let mut out = to.pool().take(transpose.rows(), gradient.columns());
        let stride = out.stride();
        spmm(transpose, None, gradient.data(), out.data_mut(), stride);
        to.add(self.x, out);
        to.recycle(gradient);
    }
}
