//! The client's side of a boost: weights of nodes and edges, and a summary for the server.
//!
//! ```text
//! model of the round ─► class distributions ─► scored ─► d̄
//!      ─► node_weights, propagation ─► E epochs ─► summary
//! ```

use super::Summary;
use crate::local_data::LocalData;
use boostfgl_nn::{Matrix, Propagation, Real, StateVisitor};

/// The client's side of a boost. Every hook has a default that changes nothing.
///
/// Hooks are called a few times per round, never per node: they return whole vectors.
pub trait ClientBoost<T: Real>: Send {
    /// Called once for every model that is scored, before the hooks that depend on scores. A boost
    /// may compute here what it needs of a model more than once.
    fn scored(&mut self, _data: &LocalData<T>, _probabilities: &Matrix<T>) {}

    /// Weights αᵥ of the training nodes in the loss of this round, in the order of
    /// [`LocalData::training`]. Weights of several boosts are multiplied.
    fn node_weights(&self, _nodes: &ScoredNodes<'_, T>) -> Option<Vec<T>> {
        None
    }

    /// The propagation of this round's training in place of `base`, with the same pattern. `base`
    /// is the plain operator, or what an earlier boost made of it.
    fn propagation(
        &self,
        _nodes: &ScoredNodes<'_, T>,
        _base: &Propagation<T>,
    ) -> Option<Propagation<T>> {
        None
    }

    /// Whether evaluation uses [`ClientBoost::propagation`], too, recomputed from the evaluated
    /// model. Otherwise evaluation uses the plain operator.
    fn boosts_evaluation(&self) -> bool {
        false
    }

    /// Whether the propagation of the client's last round, in place of the plain one, gives the
    /// class distributions that nodes are scored by.
    fn boosts_scoring(&self) -> bool {
        false
    }

    /// The fairness summary that goes up after training. The first boost that gives one decides.
    fn summary(&self, _nodes: &TrainedNodes<'_, T>) -> Option<Summary> {
        None
    }

    /// Saves or restores the state that the boost keeps between rounds. Names of its parts should
    /// contain the name of the boost.
    ///
    /// # Errors
    /// As [`Stateful::visit`](boostfgl_nn::Stateful::visit).
    fn visit(&mut self, _visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        Ok(())
    }
}

/// The nodes of a client, scored by one model.
pub struct ScoredNodes<'a, T> {
    /// The client's data.
    pub data: &'a LocalData<T>,
    /// The predicted class distribution of every local node, one row each.
    pub probabilities: &'a Matrix<T>,
    /// The difficulty d̄ᵥ of every local node.
    pub difficulty: &'a [T],
}

/// The training nodes of a client after local training.
pub struct TrainedNodes<'a, T> {
    /// The client's data.
    pub data: &'a LocalData<T>,
    /// Logits under the trained model and the training propagation.
    pub logits: &'a Matrix<T>,
    /// The row of `logits` of each training node, if it is not the node's place among them.
    pub(crate) rows: Option<&'a [u32]>,
    /// The difficulty d̄ᵥ of every local node.
    pub difficulty: &'a [T],
}

impl<T: Real> TrainedNodes<'_, T> {
    /// The predicted class of the training node in place `i` of [`LocalData::training`].
    pub fn predicted_class(&self, i: usize) -> u32 {
        let row = self.rows.map_or(i, |rows| rows[i] as usize);
        crate::client::argmax(self.logits.row(row))
    }
}
