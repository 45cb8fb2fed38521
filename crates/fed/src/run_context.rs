//! What a side of a run is made from: for the whole run, and for one round of it.

use crate::Setup;
use crate::boost::BoostPlugin;
use boostfgl_nn::backbones::Backbone;
use boostfgl_nn::{Params, Pool, Real};
use boostfgl_protocol::{Message, Model};
use std::sync::{Arc, Mutex};

/// What every side of a run has before anything is sent. In one process the sides share it.
pub(crate) struct RunContext<T: Real> {
    pub(crate) setup: Setup,
    /// BLAKE3 of the settings, which must be the same on all sides.
    pub(crate) settings: [u8; 32],
    pub(crate) backbone: Box<dyn Backbone<T>>,
    /// Number of parameters P.
    pub(crate) parameters: usize,
    /// The boosts that are on, in the order in which they act.
    pub(crate) boosts: Vec<Arc<dyn BoostPlugin<T>>>,
    /// Whether clients reveal their predictions to the server, as only a simulation may.
    pub(crate) simulated: bool,
    pub(crate) pools: Pools<T>,
}

impl<T: Real> RunContext<T> {
    /// Whether clients must say how many training nodes of each class they have, and learn the sums.
    pub(crate) fn counts_classes(&self) -> bool {
        self.boosts.iter().any(|boost| boost.needs_class_counts(&self.setup.boost))
    }

    /// Number of exchanges between `clients` clients before the first round.
    pub(crate) fn exchanges(&self, clients: usize) -> usize {
        (self.setup.method.exchanges)(&self.setup.methods, clients)
    }

    /// Number of rounds: those of the protocol and those that the method adds.
    pub(crate) fn rounds(&self) -> usize {
        let setup = &self.setup;
        setup.protocol.rounds + (setup.method.further_rounds)(&setup.methods)
    }
}

/// Pools of buffers, one for each thread that works at the same time. Clients of one process share
/// them.
pub(crate) struct Pools<T>(Mutex<Vec<Pool<T>>>);

impl<T> Default for Pools<T> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<T: Real> Pools<T> {
    /// Works with a pool that no other thread uses, and puts it back.
    pub(crate) fn lend<R>(&self, work: impl FnOnce(&Pool<T>) -> R) -> R {
        let free = self.0.lock().ok().and_then(|mut pools| pools.pop());
        let pool = free.unwrap_or_default();
        let result = work(&pool);
        if let Ok(mut pools) = self.0.lock() {
            pools.push(pool);
        }
        result
    }
}

/// The model that a client starts from or is evaluated with.
#[derive(Clone, Copy)]
pub(crate) enum ModelSource<'a, T> {
    /// The server gives one.
    Server(&'a Model<T>),
    /// The client's own.
    Own,
}

impl<'a, T: Real> ModelSource<'a, T> {
    /// The model itself, where `own` is the client's.
    pub(crate) fn or_own(self, own: &'a Params<T>) -> &'a Params<T> {
        match self {
            Self::Server(model) => model.params(),
            Self::Own => own,
        }
    }
}

impl<'a, T: Real> From<Option<&'a Model<T>>> for ModelSource<'a, T> {
    /// A server rule gives no model where clients have their own.
    fn from(given: Option<&'a Model<T>>) -> Self {
        given.map_or(Self::Own, Self::Server)
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
