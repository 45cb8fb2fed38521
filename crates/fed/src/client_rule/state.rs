//! State of a rule between rounds, for checkpoints.

use crate::local_data::LocalData;
use boostfgl_nn::{Params, Real, StateVisitor};

/// The state that a rule keeps from one round to the next. By default none.
pub trait RuleState<T: Real> {
    /// Saves the state between rounds, or restores it into a rule that was just made; the next
    /// round must then give the same bits. Values that are computed anew in each round are not
    /// state.
    ///
    /// # Errors
    /// As [`Stateful::visit`](boostfgl_nn::Stateful::visit).
    fn visit(
        &mut self,
        _context: &StateContext<'_, T>,
        _visitor: &mut StateVisitor<'_>,
    ) -> boostfgl_nn::Result<()> {
        Ok(())
    }
}

/// What a rule may read while its state is saved or restored.
pub struct StateContext<'a, T: Real> {
    /// The client's data.
    pub data: &'a LocalData<T>,
    /// The client's own model, already restored.
    pub local: &'a Params<T>,
    /// The seed of the run.
    pub seed: u64,
}
