//! Optimisers: one fused pass over parameters, gradients and state.

mod adam;
mod sgd;

pub use adam::{Adam, AdamConfig};
pub use sgd::{Sgd, SgdConfig};

use crate::{Matrix, Params, Real, Result, StateVisitor};

/// Moves parameters against their gradient, remembering what it needs between steps.
pub trait Optimizer<T: Real>: Send {
    /// One step. `gradients` has the shapes of the parameters.
    fn step(&mut self, params: &mut Params<T>, gradients: &[Matrix<T>]);

    /// One step away from `from` into `params`, whose old numbers do not matter: what a client does
    /// first in a round, without copying the broadcast model.
    fn step_from(&mut self, from: &Params<T>, params: &mut Params<T>, gradients: &[Matrix<T>]) {
        params.copy_from(from);
        self.step(params, gradients);
    }

    /// Forgets everything, as if just made.
    fn reset(&mut self);

    /// Takes down what it remembers, or puts it back; `params` is what it moves.
    ///
    /// # Errors
    /// As [`Stateful::visit`](crate::Stateful::visit).
    fn visit(&mut self, params: &Params<T>, visitor: &mut StateVisitor<'_>) -> Result<()>;
}

/// A buffer per tensor, made when the shapes are first seen.
fn like<T: Real>(state: &mut Vec<Matrix<T>>, params: &Params<T>) {
    if state.is_empty() {
        *state = params.tensors().iter().map(|t| Matrix::zeros(t.rows(), t.columns())).collect();
    }
}
