//! Some rows of a matrix: y = x[rows]; ∂x has g in those rows and 0 elsewhere.

use crate::tape::{Backward, Operation};
use crate::{Matrix, Real, Tape, Var};

impl<T: Real> Tape<'_, T> {
    /// The rows `rows` of x, in that order. A row may be taken more than once.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn select_rows(&mut self, x: Var, rows: &[u32]) -> Var {
        let from = self.value(x);
        let mut out = self.pool().take(rows.len(), from.columns());
        for (i, &r) in rows.iter().enumerate() {
            out.row_mut(i).copy_from_slice(from.row(r as usize));
        }
        let of = from.rows();
        self.record(&[x], out, SelectRows { x, rows: rows.to_vec(), of })
    }
}

struct SelectRows {
    x: Var,
    rows: Vec<u32>,
    /// How many rows x has.
    of: usize,
}

impl<T: Real> Operation<T> for SelectRows {
    fn backward(self: Box<Self>, _: Var, gradient: Matrix<T>, to: &mut Backward<'_, '_, T>) {
        let mut out = to.pool().take(self.of, gradient.columns());
        out.data_mut().fill(T::ZERO);
        for (i, &r) in self.rows.iter().enumerate() {
            for (sum, g) in out.row_mut(r as usize).iter_mut().zip(gradient.row(i)) {
                *sum += *g;
            }
        }
        to.add(self.x, out);
        to.recycle(gradient);
    }
}
