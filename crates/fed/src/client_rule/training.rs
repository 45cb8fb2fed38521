//! Hooks of a round: around local training, and what is sent afterwards.

use super::{BroadcastForm, ClientContext, Upload};
use crate::Result;
use boostfgl_nn::backbones::Extra;
use boostfgl_nn::{Matrix, Params, Reach, Real};
use boostfgl_protocol::Message;

/// What a client adds to FedAvg's local training. By default nothing.
pub trait TrainingHooks<T: Real> {
    /// For which nodes training passes compute their output: the least that
    /// [`extra`](Self::extra) needs.
    fn reach(&self) -> Reach {
        Reach::Output
    }

    /// Whether the rule evaluates the start model on all nodes, so that caching its predictions
    /// pays.
    fn inspects_start(&self) -> bool {
        false
    }

    /// The form of the server's message at the start of a round from the model
    /// `context.start()`. Any other message is refused before [`begin`](Self::begin).
    fn broadcast_form(&self, _context: &ClientContext<'_, T>) -> BroadcastForm {
        BroadcastForm::Nothing
    }

    /// Begins a round from the model `context.start()`, with the server's message, if it sends one.
    ///
    /// # Errors
    /// If the rule cannot run on this network.
    fn begin(
        &mut self,
        _context: &ClientContext<'_, T>,
        _message: Option<&Message<T>>,
    ) -> Result<()> {
        Ok(())
    }

    /// Replaces local training: leaves the trained model in `local` and returns the loss. `None`
    /// leaves training to the usual epochs.
    ///
    /// # Errors
    /// If training fails.
    fn train(
        &mut self,
        _context: &ClientContext<'_, T>,
        _local: &mut Params<T>,
    ) -> Result<Option<f64>> {
        Ok(None)
    }

    /// Computes the parameters that passes use in place of `model`, for
    /// [`effective`](Self::effective).
    fn reparametrise(&mut self, _context: &ClientContext<'_, T>, _model: &Params<T>) {}

    /// The parameters that passes use in place of the model, if they differ from it.
    fn effective(&self) -> Option<&Params<T>> {
        None
    }

    /// Further terms of the loss, from the logits of `context.view().nodes()` and the hidden
    /// representation of `context.view().hidden_nodes()`.
    fn extra(
        &self,
        _context: &ClientContext<'_, T>,
        _logits: &Matrix<T>,
        _hidden: Option<&Matrix<T>>,
    ) -> Extra<T> {
        Extra::default()
    }

    /// Changes gradients before the optimiser's step. They are taken with respect to the effective
    /// parameters, and the optimiser will move `model` by them.
    fn adjust(
        &mut self,
        _context: &ClientContext<'_, T>,
        _model: &Params<T>,
        _gradients: &mut [Matrix<T>],
    ) {
    }

    /// Ends a round and returns what goes up.
    ///
    /// # Errors
    /// If it cannot be computed.
    fn finish(&mut self, _context: &ClientContext<'_, T>, _local: &Params<T>) -> Result<Upload<T>> {
        Ok(Upload::model())
    }

    /// Called when the server refused this client's update, or when its training or its
    /// preparation failed: one-time messages are due again, and state that assumed acceptance is
    /// undone. `numeric` means that numbers were the reason, so that trained state may be
    /// corrupt.
    fn refused(&mut self, _numeric: bool) {}
}
