//! The step between layers with a learnt slope: y = dropout(prelu(x + b)), prelu(z) = z where z > 0
//! and q·z elsewhere.

use crate::tape::{Backward, Operation};
use crate::{Dropout, Matrix, Real, Tape, Var};

impl<T: Real> Tape<'_, T> {
    /// dropout(prelu(x + bias)) with a 1 × 1 `slope`, for hidden layer `layer` whose rows are
    /// `nodes`. Overwrites x.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn prelu(
        &mut self,
        x: Var,
        bias: Var,
        slope: Var,
        nodes: &[u32],
        dropout: Dropout,
        layer: usize,
    ) -> Var {
        let mut before = self.take(x);
        let (q, mask) = (self.value(slope).row(0)[0], dropout.mask::<T>(layer));
        let bias_row = self.value(bias);
        assert_eq!(
            (bias_row.columns(), nodes.len()),
            (before.columns(), before.rows()),
            "shapes of x + b"
        );
        let mut out = self.pool().take(before.rows(), before.columns());
        for (r, &node) in nodes.iter().enumerate() {
            let counter = mask.row(node);
            let rows =
                before.row_mut(r).iter_mut().zip(out.row_mut(r)).zip(bias_row.row(0)).enumerate();
            for (c, ((z, y), b)) in rows {
                let sum = *z + *b;
                let keep = if mask.keeps(counter, c as u32) { mask.scale } else { T::ZERO };
                *y = keep * if sum > T::ZERO { sum } else { q * sum };
                *z = sum;
            }
        }
        let operation = Prelu { x, bias, slope, before, nodes: nodes.to_vec(), dropout, layer };
        self.record(&[x, bias, slope], out, operation)
    }
}

struct Prelu<T> {
    x: Var,
    bias: Var,
    slope: Var,
    /// x + b.
    before: Matrix<T>,
    nodes: Vec<u32>,
    dropout: Dropout,
    layer: usize,
}

impl<T: Real> Operation<T> for Prelu<T> {
    fn backward(self: Box<Self>, _: Var, mut gradient: Matrix<T>, to: &mut Backward<'_, '_, T>) {
        let (q, mask) = (to.value(self.slope).row(0)[0], self.dropout.mask::<T>(self.layer));
        // The sign of z cannot be read from y, as it can for ReLU: q may be negative. So z was
        // stored, and the mask is computed again from its key.
        let mut to_slope = 0.0;
        for (r, &node) in self.nodes.iter().enumerate() {
            let counter = mask.row(node);
            for (c, (g, z)) in gradient.row_mut(r).iter_mut().zip(self.before.row(r)).enumerate() {
                let kept = if mask.keeps(counter, c as u32) { *g * mask.scale } else { T::ZERO };
                if *z > T::ZERO {
                    *g = kept;
                } else {
                    to_slope += (kept * *z).f64();
                    *g = kept * q;
                }
            }
        }
        if to.needs_gradient(self.slope) {
            let mut slope = to.pool().take(1, 1);
            slope.row_mut(0)[0] = T::of(to_slope);
            to.add(self.slope, slope);
        }
        if to.needs_gradient(self.bias) {
            to.add(self.bias, super::bias::sum_rows(&gradient, to));
        }
        to.recycle(self.before);
        to.add(self.x, gradient);
    }
}
