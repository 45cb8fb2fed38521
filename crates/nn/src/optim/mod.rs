//! Optimisers: one fused pass over parameters, gradients and state.

mod adam;
mod sgd;

pub use adam::{Adam, AdamConfig};
pub use sgd::{Sgd, SgdConfig};

use crate::{Matrix, Params, Real, Result, StateVisitor};

/// An optimiser and its state between steps.
pub trait Optimizer<T: Real>: Send {
    /// One step. `gradients` has the shapes of the parameters.
    fn step(&mut self, params: &mut Params<T>, gradients: &[Matrix<T>]);

    /// One step from `from` into `params`, whose old numbers are overwritten. The first step of a
    /// round uses it to avoid a copy of the broadcast model.
    fn step_from(&mut self, from: &Params<T>, params: &mut Params<T>, gradients: &[Matrix<T>]) {
        params.copy_from(from);
        self.step(params, gradients);
    }

    /// Resets the state to that of a new optimiser.
    fn reset(&mut self);

    /// Saves or restores the state; `params` are the parameters it belongs to.
    ///
    /// # Errors
    /// As [`Stateful::visit`](crate::Stateful::visit).
    fn visit(&mut self, params: &Params<T>, visitor: &mut StateVisitor<'_>) -> Result<()>;
}

/// Creates a buffer of zeros per tensor, if there is none yet.
fn ensure_buffers<T: Real>(state: &mut Vec<Matrix<T>>, params: &Params<T>) {
    if state.is_empty() {
        *state = params.tensors().iter().map(|t| Matrix::zeros(t.rows(), t.columns())).collect();
    }
}
