//! The server's side of a method.

use crate::Result;
use crate::aggregate::{self, Combination, Contribution};
use crate::boost::ServerBoosts;
use crate::screen::{DistanceRange, Form};
use boostfgl_nn::backbones::Backbone;
use boostfgl_nn::{Params, Pool, Real, StateVisitor};
use boostfgl_protocol::{Message, Model};
use std::sync::Arc;

/// The server's side of a method.
pub trait ServerRule<T: Real>: Send + Sync {
    /// The model client `k` starts the next round from; `None` if it continues from its own.
    fn start(&self, client: usize) -> Option<&Model<T>>;

    /// What client `k` is sent at the start of a round in addition to the model.
    fn tell(&self, _client: usize) -> Option<&Arc<Message<T>>> {
        None
    }

    /// The form that an update must have: the screen refuses every other one. By default a model
    /// and nothing else.
    fn form(&self, _turn: &SenderFacts<'_, T>) -> Form {
        Form::model()
    }

    /// The least and the most that each combined tensor can have moved, where a message of this
    /// form shows it in place of a model. The norms that a client sends are then only compared with
    /// it.
    fn moved(&self, _message: &Message<T>) -> Option<Vec<DistanceRange>> {
        None
    }

    /// The model that is evaluated on client `k`'s graph; `None` if that is the client's own.
    fn evaluated(&self, client: usize) -> Option<&Model<T>> {
        self.start(client)
    }

    /// Combines the updates of a round, given in client order. Returns their weights, if they were
    /// combined.
    ///
    /// # Errors
    /// If the updates cannot be combined.
    fn aggregate(
        &mut self,
        updates: &[Contribution<'_, T>],
        round: &Round<'_, T>,
    ) -> Result<Option<Combination>>;

    /// Saves the state that the server keeps between rounds, or restores it in one that was just
    /// made.
    ///
    /// # Errors
    /// As [`Stateful::visit`](boostfgl_nn::Stateful::visit).
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()>;

    /// The final models: one for all clients, one each, or none if clients keep their own.
    fn models(&self) -> Vec<&Params<T>>;
}

/// Facts about the sender of an update, which the form of the update depends on.
pub struct SenderFacts<'a, T> {
    /// The client that sent it.
    pub client: usize,
    /// Rounds done before this one.
    pub done: usize,
    /// The number of training nodes that the client was enrolled with.
    pub labelled: f64,
    /// Σᵥ (dᵥ + 1), its arcs and nodes together, likewise.
    pub reach: f64,
    /// What it sent. It is not trusted, but may select one of the forms of the method.
    pub message: &'a Message<T>,
}

/// What a server rule is given for a round, in addition to the updates.
pub struct Round<'a, T: Real> {
    /// Rounds done before this one.
    pub done: usize,
    /// The boosts that weigh updates: for [`Combination::new`].
    pub boost: ServerBoosts<'a, T>,
    /// The network.
    pub backbone: &'a dyn Backbone<T>,
    /// Buffers.
    pub pool: &'a Pool<T>,
    /// How models are combined: for [`Combination::combine`].
    pub aggregation: aggregate::Config,
}
