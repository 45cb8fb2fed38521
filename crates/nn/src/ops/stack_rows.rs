//! Matrices of one width stacked by rows; the gradient of each part is its rows of g.

use crate::tape::{Backward, Operation};
use crate::{Matrix, Real, Tape, Var};

impl<T: Real> Tape<'_, T> {
    /// The rows of all `parts`, in that order.
    ///
    /// # Panics
    /// If there is no part, or the widths differ.
    pub fn stack_rows(&mut self, parts: &[Var]) -> Var {
        let (mut rows, columns) = (0, self.value(parts[0]).columns());
        let at: Vec<(Var, usize)> = parts
            .iter()
            .map(|&part| {
                assert_eq!(self.value(part).columns(), columns, "parts of one width");
                rows += self.value(part).rows();
                (part, rows - self.value(part).rows())
            })
            .collect();
        let mut out = self.pool().take(rows, columns);
        let stride = out.stride();
        for &(part, start) in &at {
            let from = self.value(part).data();
            out.data_mut()[start * stride..][..from.len()].copy_from_slice(from);
        }
        self.record(parts, out, StackRows { at })
    }
}

struct StackRows {
    /// The parts, and the first row of each.
    at: Vec<(Var, usize)>,
}

impl<T: Real> Operation<T> for StackRows {
    fn backward(self: Box<Self>, _: Var, gradient: Matrix<T>, to: &mut Backward<'_, '_, T>) {
        let stride = gradient.stride();
        for &(part, start) in &self.at {
            if to.needs_gradient(part) {
                let mut out = to.pool().take(to.value(part).rows(), gradient.columns());
                let length = out.data().len();
                out.data_mut().copy_from_slice(&gradient.data()[start * stride..][..length]);
                to.add(part, out);
            }
        }
        to.recycle(gradient);
    }
}
