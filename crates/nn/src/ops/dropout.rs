//! y = dropout(x), in place of x. The mask is a function of (key, node, column) and is computed
//! again in the backward pass, since a 0 of x does not show whether it was dropped.

use crate::dropout::Mask;
use crate::kernels::elementwise;
use crate::parallel;
use crate::tape::{Backward, Operation};
use crate::{Dropout, Matrix, Real, Tape, Var};

impl<'a, T: Real> Tape<'a, T> {
    /// dropout(x) for hidden layer `layer`, whose rows are `nodes`. Overwrites x.
    ///
    /// # Panics
    /// If there is not one row per node.
    pub fn dropout(&mut self, x: Var, nodes: &'a [u32], dropout: Dropout, layer: usize) -> Var {
        let mut out = self.take(x);
        assert_eq!(nodes.len(), out.rows(), "one row per node");
        let mask = dropout.mask::<T>(layer);
        drop_numbers(&mut out, nodes, mask);
        self.record(&[x], out, Drop { x, nodes, mask })
    }
}

struct Drop<'a, T> {
    x: Var,
    nodes: &'a [u32],
    mask: Mask<T>,
}

impl<T: Real> Operation<T> for Drop<'_, T> {
    fn backward(self: Box<Self>, _: Var, mut gradient: Matrix<T>, to: &mut Backward<'_, '_, T>) {
        drop_numbers(&mut gradient, self.nodes, self.mask);
        to.add(self.x, gradient);
    }
}

fn drop_numbers<T: Real>(x: &mut Matrix<T>, nodes: &[u32], mask: Mask<T>) {
    let (stride, work) = (x.stride(), x.data().len());
    parallel::over_rows(x.data_mut(), stride, work, |rows, chunk| {
        elementwise::dropout(chunk, stride, &nodes[rows], mask);
    });
}
