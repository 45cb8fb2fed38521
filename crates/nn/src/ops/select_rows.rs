//! Some rows of a matrix: y = x[rows]; ∂x has g in those rows and 0 elsewhere.

use crate::tape::{Backward, Operation};
use crate::view::Block;
use crate::{Matrix, Real, Tape, Var};
use std::borrow::Cow;

impl<'a, T: Real> Tape<'a, T> {
    /// The rows `rows` of x, in that order. A row may be taken more than once.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn select_rows(&mut self, x: Var, rows: impl Into<Cow<'a, [u32]>>) -> Var {
        let rows = rows.into();
        let from = self.value(x);
        let mut out = self.pool().take(rows.len(), from.columns());
        for (i, &r) in rows.iter().enumerate() {
            out.row_mut(i).copy_from_slice(from.row(r as usize));
        }
        let source_rows = from.rows();
        self.record(&[x], out, SelectRows { x, rows, source_rows })
    }

    /// The rows of x that belong to the receivers of a layer, where x has a row per sender; x
    /// itself if these are all.
    pub(crate) fn own_rows(&mut self, block: &'a Block<T>, x: Var) -> Var {
        match block.own() {
            Some(rows) => self.select_rows(x, rows),
            None => x,
        }
    }
}

struct SelectRows<'a> {
    x: Var,
    rows: Cow<'a, [u32]>,
    /// Number of rows of x.
    source_rows: usize,
}

impl<T: Real> Operation<T> for SelectRows<'_> {
    fn backward(self: Box<Self>, _: Var, gradient: Matrix<T>, to: &mut Backward<'_, '_, T>) {
        let mut out = to.pool().take(self.source_rows, gradient.columns());
        out.data_mut().fill(T::ZERO);
        // Added, not copied: a row may have been selected more than once.
        for (i, &r) in self.rows.iter().enumerate() {
            for (sum, g) in out.row_mut(r as usize).iter_mut().zip(gradient.row(i)) {
                *sum += *g;
            }
        }
        to.add(self.x, out);
        to.recycle(gradient);
    }
}
