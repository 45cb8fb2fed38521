//! Message passing: y = P·x, ∂x = Pᵀ·g. P is a constant, and so is the noise of a noisy tape.

use crate::kernels::spmm::spmm;
use crate::tape::{Backward, Operation};
use crate::view::Block;
use crate::{Matrix, Real, Tape, Var, View};

impl<'a, T: Real> Tape<'a, T> {
    /// P · x for layer `l` of a view.
    pub(crate) fn propagate(&mut self, view: &'a View<T>, l: usize, x: Var) -> Var {
        self.aggregate(view.block(l), view.frontier(l + 1), 2 * l, x)
    }

    /// The same by the operator between nodes exactly two hops apart.
    ///
    /// # Panics
    /// If the plan of the view does not require it.
    pub(crate) fn propagate_two_hops(&mut self, view: &'a View<T>, l: usize, x: Var) -> Var {
        self.aggregate(view.block(l).two_hops(), view.frontier(l + 1), 2 * l + 1, x)
    }

    /// P · x, whose rows are `nodes`; `number` identifies the aggregation within a pass, so that
    /// each has noise of its own.
    fn aggregate(&mut self, block: &'a Block<T>, nodes: &[u32], number: usize, x: Var) -> Var {
        let input = self.value(x);
        let mut out = self.pool().take(block.matrix.rows(), input.columns());
        let stride = out.stride();
        spmm(&block.matrix, None, input.data(), out.data_mut(), stride);
        self.noise().add_to(&mut out, nodes, number);
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
