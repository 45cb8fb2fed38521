//! y = a + b; both gradients are g.

use crate::tape::{Backward, Operation};
use crate::{Matrix, Real, Tape, Var};

impl<T: Real> Tape<'_, T> {
    /// a + b.
    ///
    /// # Panics
    /// If the shapes differ.
    pub fn add(&mut self, a: Var, b: Var) -> Var {
        let (left, right) = (self.value(a), self.value(b));
        assert_eq!(
            (left.rows(), left.columns()),
            (right.rows(), right.columns()),
            "shapes of a + b"
        );
        let mut out = self.pool().take(left.rows(), left.columns());
        let terms = left.data().iter().zip(right.data());
        out.data_mut().iter_mut().zip(terms).for_each(|(out, (a, b))| *out = *a + *b);
        self.record(&[a, b], out, Add { a, b })
    }
}

struct Add {
    a: Var,
    b: Var,
}

impl<T: Real> Operation<T> for Add {
    fn backward(self: Box<Self>, _: Var, gradient: Matrix<T>, to: &mut Backward<'_, '_, T>) {
        // One input can take the buffer of g over; only two need a copy.
        if to.needs_gradient(self.a) && to.needs_gradient(self.b) {
            let mut copy = to.pool().take(gradient.rows(), gradient.columns());
            copy.copy_from(&gradient);
            to.add(self.a, copy);
        } else if to.needs_gradient(self.a) {
            return to.add(self.a, gradient);
        }
        to.add(self.b, gradient);
    }
}
