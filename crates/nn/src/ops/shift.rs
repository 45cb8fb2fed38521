//! y = x + c for given numbers c, in place of x; ∂x = g.

use crate::tape::{Backward, Operation};
use crate::{Matrix, Real, Tape, Var};

impl<T: Real> Tape<'_, T> {
    /// x + c, number by number, for noise or other constants. Overwrites x.
    ///
    /// # Panics
    /// If the shapes differ.
    pub fn shift(&mut self, x: Var, c: &Matrix<T>) -> Var {
        let mut out = self.take(x);
        assert_eq!((out.rows(), out.columns()), (c.rows(), c.columns()), "shapes of x + c");
        out.data_mut().iter_mut().zip(c.data()).for_each(|(x, c)| *x += *c);
        self.record(&[x], out, Shift { x })
    }
}

struct Shift {
    x: Var,
}

impl<T: Real> Operation<T> for Shift {
    fn backward(self: Box<Self>, _: Var, gradient: Matrix<T>, to: &mut Backward<'_, '_, T>) {
        to.add(self.x, gradient);
    }
}
