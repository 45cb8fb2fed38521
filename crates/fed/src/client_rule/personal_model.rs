//! Hooks of evaluation: what predicts in place of the plain model.

use super::ClientContext;
use crate::Result;
use boostfgl_nn::{Matrix, Params, Real};

/// What a client is evaluated with. By default the model that it is given.
pub trait PersonalModel<T: Real> {
    /// The parameters that are evaluated in place of `model`, if they differ from it.
    fn deploy(&mut self, _model: &Params<T>) -> Option<Params<T>> {
        None
    }

    /// The probability of every class for every local node, if something other than the backbone
    /// predicts.
    ///
    /// # Errors
    /// If it cannot be computed.
    fn predict(&mut self, _context: &ClientContext<'_, T>) -> Result<Option<Matrix<T>>> {
        Ok(None)
    }
}
