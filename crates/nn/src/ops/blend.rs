//! y = a·x + b·z with constants a and b, in place of x; ∂x = a·g, ∂z = b·g.

use crate::kernels::{elementwise, reduce};
use crate::parallel;
use crate::tape::{Backward, Operation};
use crate::{Matrix, Real, Tape, Var};

impl<T: Real> Tape<'_, T> {
    /// a·x + b·z, given as `(a, x)` and `(b, z)`. Overwrites x.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn blend(&mut self, (a, x): (T, Var), (b, z): (T, Var)) -> Var {
        let mut out = self.take(x);
        let other = self.value(z);
        assert_eq!(
            (out.rows(), out.columns()),
            (other.rows(), other.columns()),
            "shapes of a·x + b·z"
        );
        let (stride, work) = (out.stride(), out.data().len());
        parallel::over_rows(out.data_mut(), stride, work, |rows, chunk| {
            elementwise::blend(chunk, &other.data()[rows.start * stride..rows.end * stride], a, b);
        });
        self.record(&[x, z], out, Blend { a, x, b, z })
    }
}

struct Blend<T> {
    a: T,
    x: Var,
    b: T,
    z: Var,
}

impl<T: Real> Operation<T> for Blend<T> {
    fn backward(self: Box<Self>, _: Var, gradient: Matrix<T>, to: &mut Backward<'_, '_, T>) {
        if to.needs_gradient(self.z) {
            let part = scaled(&gradient, self.b, to);
            to.add(self.z, part);
        }
        if to.needs_gradient(self.x) {
            let part = scaled(&gradient, self.a, to);
            to.add(self.x, part);
        }
        to.recycle(gradient);
    }
}

/// `scale` · gradient in a buffer of its own.
pub(super) fn scaled<T: Real>(
    gradient: &Matrix<T>,
    scale: T,
    to: &Backward<'_, '_, T>,
) -> Matrix<T> {
    let mut out = to.pool().take(gradient.rows(), gradient.columns());
    let (stride, work) = (out.stride(), out.data().len());
    parallel::over_rows(out.data_mut(), stride, work, |rows, chunk| {
        reduce::scale(chunk, &gradient.data()[rows.start * stride..rows.end * stride], scale);
    });
    out
}
