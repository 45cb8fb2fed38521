//! y = x + b, row by row, in place of x; ∂b = Σ rows of g.

use crate::kernels::elementwise;
use crate::parallel;
use crate::tape::{Backward, Operation};
use crate::{Matrix, Real, Tape, Var};

impl<T: Real> Tape<'_, T> {
    /// x + bias. Overwrites x.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn add_bias(&mut self, x: Var, bias: Var) -> Var {
        let mut out = self.take(x);
        {
            let bias = self.value(bias);
            assert_eq!(bias.columns(), out.columns(), "shapes of x + b");
            elementwise::add_bias(out.data_mut(), bias.data());
        }
        self.record(&[x, bias], out, AddBias { x, bias })
    }
}

struct AddBias {
    x: Var,
    bias: Var,
}

impl<T: Real> Operation<T> for AddBias {
    fn backward(self: Box<Self>, _: Var, gradient: Matrix<T>, to: &mut Backward<'_, '_, T>) {
        if to.needs_gradient(self.bias) {
            to.add(self.bias, sum_rows(&gradient, to));
        }
        if to.needs_gradient(self.x) {
            to.add(self.x, gradient);
        } else {
            to.recycle(gradient);
        }
    }
}

/// The sum of the rows of a gradient, as a 1-row matrix.
pub(super) fn sum_rows<T: Real>(gradient: &Matrix<T>, to: &Backward<'_, '_, T>) -> Matrix<T> {
    let mut out = to.pool().take(1, gradient.columns());
    let stride = gradient.stride();
    parallel::partial_sums(gradient.rows(), out.data_mut(), |rows, out| {
        elementwise::sum_rows(&gradient.data()[rows.start * stride..rows.end * stride], out);
    });
    out
}
