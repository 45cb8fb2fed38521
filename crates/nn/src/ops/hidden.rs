//! The step between layers: y = dropout(relu(x + b)), in place of x; ∂x = g where y > 0, scaled.

use crate::kernels::elementwise;
use crate::parallel;
use crate::tape::{Backward, Operation};
use crate::{Dropout, Matrix, Real, Tape, Var};

impl<T: Real> Tape<'_, T> {
    /// dropout(relu(x + bias)) for hidden layer `layer`, whose rows are `nodes`. Overwrites x.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn hidden(
        &mut self,
        x: Var,
        bias: Var,
        nodes: &[u32],
        dropout: Dropout,
        layer: usize,
    ) -> Var {
        let mut out = self.take(x);
        if self.saves_pre_activation() {
            let mut input = self.pool().take(out.rows(), out.columns());
            input.copy_from(&out);
            elementwise::add_bias(input.data_mut(), self.value(bias).data());
            self.save_pre_activation(input);
        }
        let mask = dropout.mask::<T>(layer);
        {
            let bias = self.value(bias);
            assert_eq!(
                (bias.columns(), nodes.len()),
                (out.columns(), out.rows()),
                "shapes of x + b"
            );
            let (stride, work) = (out.stride(), out.data().len());
            parallel::over_rows(out.data_mut(), stride, work, |rows, chunk| {
                elementwise::bias_relu_dropout(chunk, bias.data(), &nodes[rows], mask);
            });
        }
        self.record(&[x, bias], out, Hidden { x, bias, scale: mask.scale })
    }
}

struct Hidden<T> {
    x: Var,
    bias: Var,
    scale: T,
}

impl<T: Real> Operation<T> for Hidden<T> {
    fn backward(
        self: Box<Self>,
        output: Var,
        mut gradient: Matrix<T>,
        to: &mut Backward<'_, '_, T>,
    ) {
        // The output is the mask: it is positive where a number survived ReLU and dropout.
        {
            let output = to.value(output);
            let (stride, work) = (gradient.stride(), gradient.data().len());
            parallel::over_rows(gradient.data_mut(), stride, work, |rows, chunk| {
                let output = &output.data()[rows.start * stride..rows.end * stride];
                elementwise::bias_relu_dropout_gradient(chunk, output, self.scale);
            });
        }
        if to.needs_gradient(self.bias) {
            to.add(self.bias, super::bias::sum_rows(&gradient, to));
        }
        if to.needs_gradient(self.x) {
            to.add(self.x, gradient);
        } else {
            to.recycle(gradient);
        }
    }
}
