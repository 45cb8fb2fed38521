//! y = tanh(x), in place of x; ∂x = g·(1 − y²).

use crate::kernels::tanh::{tanh, tanh_gradient};
use crate::parallel;
use crate::tape::{Backward, Operation};
use crate::{Matrix, Real, Tape, Var};

/// The cost of one exponential, in multiply-adds.
const COST: usize = 8;

impl<T: Real> Tape<'_, T> {
    /// tanh(x), number by number. Overwrites x.
    pub fn tanh(&mut self, x: Var) -> Var {
        let mut out = self.take(x);
        let (stride, work) = (out.stride(), out.data().len() * COST);
        parallel::over_rows(out.data_mut(), stride, work, |_, rows| tanh(rows));
        self.record(&[x], out, Tanh { x })
    }
}

struct Tanh {
    x: Var,
}

impl<T: Real> Operation<T> for Tanh {
    fn backward(
        self: Box<Self>,
        output: Var,
        mut gradient: Matrix<T>,
        to: &mut Backward<'_, '_, T>,
    ) {
        let (stride, work) = (gradient.stride(), gradient.data().len());
        let output = to.value(output);
        parallel::over_rows(gradient.data_mut(), stride, work, |rows, chunk| {
            tanh_gradient(chunk, &output.data()[rows.start * stride..rows.end * stride]);
        });
        to.add(self.x, gradient);
    }
}
