//! y = x + (c + wₖ)·z with a learnt number wₖ, in place of x; ∂x = g, ∂z = (c + wₖ)·g, ∂wₖ = ⟨g,
//! z⟩.

use crate::kernels::reduce;
use crate::parallel;
use crate::tape::{Backward, Operation};
use crate::{Matrix, Real, Tape, Var};

impl<T: Real> Tape<'_, T> {
    /// x + (c + wₖ)·z, where wₖ is number `k` of the row `weights`; without x it is taken as 0.
    /// Overwrites x.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn add_scaled(&mut self, x: Option<Var>, z: Var, c: T, (weights, k): (Var, usize)) -> Var {
        let mut out = match x {
            Some(x) => self.take(x),
            None => self.pool().take(self.value(z).rows(), self.value(z).columns()),
        };
        let (other, scale) = (self.value(z), c + self.value(weights).row(0)[k]);
        assert_eq!(
            (out.rows(), out.columns()),
            (other.rows(), other.columns()),
            "shapes of x + w·z"
        );
        let (stride, work) = (out.stride(), out.data().len());
        parallel::over_rows(out.data_mut(), stride, work, |rows, chunk| {
            let other = &other.data()[rows.start * stride..rows.end * stride];
            if x.is_some() {
                reduce::add_scaled(chunk, other, scale)
            } else {
                reduce::scale(chunk, other, scale)
            }
        });
        let inputs = [weights, z, x.unwrap_or(z)];
        self.record(&inputs, out, AddScaled { x, z, c, weights, k })
    }
}

struct AddScaled<T> {
    x: Option<Var>,
    z: Var,
    c: T,
    weights: Var,
    k: usize,
}

impl<T: Real> Operation<T> for AddScaled<T> {
    fn backward(self: Box<Self>, _: Var, gradient: Matrix<T>, to: &mut Backward<'_, '_, T>) {
        // All of these read g, so the part that takes its buffer over comes last.
        if to.needs_gradient(self.weights) {
            let mut out = to.pool().take(1, to.value(self.weights).columns());
            out.data_mut().fill(T::ZERO);
            out.row_mut(0)[self.k] = T::of(inner(&gradient, to.value(self.z)));
            to.add(self.weights, out);
        }
        if to.needs_gradient(self.z) {
            let scale = self.c + to.value(self.weights).row(0)[self.k];
            let part = super::blend::scaled(&gradient, scale, to);
            to.add(self.z, part);
        }
        match self.x {
            Some(x) if to.needs_gradient(x) => to.add(x, gradient),
            _ => to.recycle(gradient),
        }
    }
}

/// Σ aᵢⱼ bᵢⱼ, in `f64`: one number of a whole matrix, whose rounding errors would add up.
fn inner<T: Real>(a: &Matrix<T>, b: &Matrix<T>) -> f64 {
    let (stride, mut sum) = (a.stride(), [0.0f64]);
    parallel::partial_sums(a.rows(), &mut sum, |rows, out| {
        let range = rows.start * stride..rows.end * stride;
        out[0] = reduce::inner_product(&a.data()[range.clone()], &b.data()[range]);
    });
    sum[0]
}
