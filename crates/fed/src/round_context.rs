//! The inputs of clients: for the whole run, and for one round of it.

use crate::Setup;
use crate::boost::BoostPlugin;
use boostfgl_nn::backbones::Backbone;
use boostfgl_nn::{Params, Pool, Real};
use boostfgl_protocol::{Message, Model};
use std::sync::Arc;

/// The inputs that all clients of a run share.
pub(crate) struct RunContext<T: Real> {
    pub(crate) setup: Setup,
    pub(crate) backbone: Box<dyn Backbone<T>>,
    /// The boosts that are on, in the order in which they act.
    pub(crate) boosts: Vec<Arc<dyn BoostPlugin<T>>>,
    /// Training nodes of each class, of all clients together.
    pub(crate) class_counts: Vec<usize>,
}

/// The model that a client starts from or is evaluated with.
#[derive(Clone, Copy)]
pub(crate) enum ModelSource<'a, T> {
    /// The server gives one.
    Server(&'a Params<T>),
    /// The client's own.
    Own,
}

impl<'a, T> ModelSource<'a, T> {
    /// The model itself, where `own` is the client's.
    pub(crate) fn or_own(self, own: &'a Params<T>) -> &'a Params<T> {
        match self {
            Self::Server(model) => model,
            Self::Own => own,
        }
    }
}

impl<'a, T: Real> From<Option<&'a Model<T>>> for ModelSource<'a, T> {
    /// A server rule gives no model where clients have their own.
    fn from(given: Option<&'a Model<T>>) -> Self {
        given.map_or(Self::Own, |model| Self::Server(model.params()))
    }
}

/// The inputs of one client for one round or one evaluation.
pub(crate) struct RoundContext<'a, T: Real> {
    pub(crate) run: &'a RunContext<T>,
    /// Rounds done before this one.
    pub(crate) rounds_done: usize,
    /// The model to start from or to evaluate.
    pub(crate) model: ModelSource<'a, T>,
    /// The server's message.
    pub(crate) message: Option<&'a Message<T>>,
    pub(crate) pool: &'a Pool<T>,
}
