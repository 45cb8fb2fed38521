//! y = tanh(x), in place of x; ∂x = g·(1 − y²).

use crate::kernels::elementwise;
use crate::parallel;
use crate::tape::{Backward, Operation};
use crate::{Matrix, Real, Tape, Var};

impl<T: Real> Tape<'_, T> {
    /// tanh(x). Overwrites x.
    pub fn tanh(&mut self, x: Var) -> Var {
        let mut out = self.take(x);
        let (stride, work) = (out.stride(), out.data().len() * 8);
        parallel::over_rows(out.data_mut(), stride, work, |_, rows| elementwise::tanh(rows));
        self.record(&[x], out, Tanh { x })
    }
}

struct Tanh {
    x: Var,
}

impl<T: Real> Operation<T> for Tanh {
    fn backward(self: Box<Self>, output: Var, mut gradient: Matrix<T>, to: &mut Backward<'_, '_, T>) {
        let y = to.value(output);
        let (stride, work) = (gradient.stride(), gradient.data().len());
        parallel::over_rows(gradient.data_mut(), stride, work, |rows, chunk| {
            elementwise::tanh_gradient(chunk, &y.data()[rows.start * stride..rows.end * stride]);
        });
        to.add(self.x, gradient);
    }
}
