//! Concatenation of columns: y = [x₁ | x₂ | …]; the gradient of each part is its columns of g.

use crate::parallel;
use crate::tape::{Backward, Operation};
use crate::{Matrix, Real, Tape, Var};

impl<T: Real> Tape<'_, T> {
    /// The columns of all `parts`, in that order.
    ///
    /// # Panics
    /// If they differ in their number of rows, or there is none.
    pub fn concat(&mut self, parts: &[Var]) -> Var {
        let values: Vec<&Matrix<T>> = parts.iter().map(|&part| self.value(part)).collect();
        let (rows, columns) = (values[0].rows(), values.iter().map(|x| x.columns()).sum());
        assert!(values.iter().all(|x| x.rows() == rows), "as many rows in each part");
        let mut out = self.pool().take(rows, columns);
        let (stride, work) = (out.stride(), out.data().len());
        parallel::over_rows(out.data_mut(), stride, work, |rows, chunk| {
            for (row, out) in rows.zip(chunk.chunks_exact_mut(stride)) {
                let mut at = 0;
                for x in &values {
                    out[at..at + x.columns()].copy_from_slice(x.row(row));
                    at += x.columns();
                }
            }
        });
        let widths = values.iter().map(|x| x.columns()).collect();
        self.record(parts, out, Concat { parts: parts.to_vec(), widths })
    }
}

struct Concat {
    parts: Vec<Var>,
    widths: Vec<usize>,
}

impl<T: Real> Operation<T> for Concat {
    fn backward(self: Box<Self>, _: Var, gradient: Matrix<T>, to: &mut Backward<'_, '_, T>) {
        let mut at = 0;
        for (&part, &width) in self.parts.iter().zip(&self.widths) {
            if to.needs_gradient(part) {
                let mut out = to.pool().take(gradient.rows(), width);
                let (stride, work) = (out.stride(), out.data().len());
                parallel::over_rows(out.data_mut(), stride, work, |rows, chunk| {
                    for (row, out) in rows.zip(chunk.chunks_exact_mut(stride)) {
                        out[..width].copy_from_slice(&gradient.row(row)[at..at + width]);
                    }
                });
                to.add(part, out);
            }
            at += width;
        }
        to.recycle(gradient);
    }
}
