//! Side by side: y = [a ‖ b]; ∂a and ∂b are the two parts of g.

use crate::tape::{Backward, Operation};
use crate::{Matrix, Real, Tape, Var};

impl<T: Real> Tape<'_, T> {
    /// [a ‖ b], row by row.
    ///
    /// # Panics
    /// If they do not have the same number of rows.
    pub fn concat(&mut self, a: Var, b: Var) -> Var {
        let (left, right) = (self.value(a), self.value(b));
        assert_eq!(left.rows(), right.rows(), "rows of [a ‖ b]");
        let at = left.columns();
        let mut out = self.pool().take(left.rows(), at + right.columns());
        for r in 0..out.rows() {
            out.row_mut(r)[..at].copy_from_slice(left.row(r));
            out.row_mut(r)[at..].copy_from_slice(right.row(r));
        }
        self.record(&[a, b], out, Concat { a, b, at })
    }
}

struct Concat {
    a: Var,
    b: Var,
    /// The first column of b.
    at: usize,
}

impl<T: Real> Operation<T> for Concat {
    fn backward(self: Box<Self>, _: Var, gradient: Matrix<T>, to: &mut Backward<'_, '_, T>) {
        for (input, columns) in [(self.a, 0..self.at), (self.b, self.at..gradient.columns())] {
            if to.wants(input) {
                let mut out = to.pool().take(gradient.rows(), columns.len());
                for r in 0..out.rows() {
                    out.row_mut(r).copy_from_slice(&gradient.row(r)[columns.clone()]);
                }
                to.add(input, out);
            }
        }
        to.recycle(gradient);
    }
}
