//! What a side of a run is made from: before features and classes are known, for the whole run, and
//! for one round of it.

use crate::boost::BoostPlugin;
use crate::methods::{self, Layout, MethodPlugin};
use crate::registry::Chosen;
use crate::{Error, Registry, Result, Setup, attack};
use boostfgl_nn::backbones::{self, Architecture, Backbone};
use boostfgl_nn::{Params, Pool, Real};
use boostfgl_protocol::{Message, Model, Version};
use std::sync::{Arc, Mutex, OnceLock};

/// A run before its features and classes are known, which clients agree on when they join. Sides
/// that are in one process share it, and with it the network and the model before the first round.
pub(crate) struct RunPlan<T: Real> {
    pub(crate) setup: Setup,
    /// BLAKE3 of the settings, which must be the same on all sides.
    pub(crate) settings: [u8; 32],
    /// What makes the two sides of the method.
    pub(crate) method: Arc<dyn MethodPlugin<T>>,
    /// The boosts that are on, in the order in which they act.
    boosts: Vec<Arc<dyn BoostPlugin<T>>>,
    /// Whether clients reveal their predictions to the server, as only a simulation may.
    pub(crate) simulated: bool,
    opened: OnceLock<Opened<T>>,
}

/// A run with its network.
pub(crate) struct Opened<T: Real> {
    pub(crate) run: Arc<RunContext<T>>,
    /// The model before the first round.
    pub(crate) initial: Arc<Params<T>>,
    /// Number of features and classes.
    sizes: (usize, usize),
}

impl<T: Real> Clone for Opened<T> {
    fn clone(&self) -> Self {
        let (run, initial) = (Arc::clone(&self.run), Arc::clone(&self.initial));
        Self { run, initial, sizes: self.sizes }
    }
}

impl<T: Real> RunPlan<T> {
    /// The plan of a simulation.
    ///
    /// # Errors
    /// If a setting is out of range, or the registry does not have the method.
    pub(crate) fn simulation(mut setup: Setup, registry: &Registry<T>) -> Result<Self> {
        setup.check_ranges()?;
        let chosen = registry.chosen(&setup)?;
        let settings = setup.digest(&chosen.settings());
        let Chosen { method, boosts, .. } = chosen;
        // A name means what the registry says it means.
        setup.method = method.info();
        Ok(Self { settings, method, boosts, simulated: true, opened: OnceLock::new(), setup })
    }

    /// The plan of a run whose sides share messages only.
    ///
    /// # Errors
    /// If the settings are those of a simulation.
    pub(crate) fn between_machines(setup: Setup, registry: &Registry<T>) -> Result<Self> {
        if setup.attack.kind != attack::Kind::None {
            let key = "attack.kind";
            let (expected, found) =
                ("none outside of a simulation", format!("{:?}", setup.attack.kind));
            return Err(Error::Setting { key, expected: expected.into(), found });
        }
        if setup.method.layout == Layout::Whole {
            let reason = "one place holds all data: there are no clients";
            let (method, what) = (setup.method.name, "clients on other machines".into());
            return Err(Error::Refused { method, what, reason });
        }
        Ok(Self { simulated: false, ..Self::simulation(setup, registry)? })
    }

    /// Whether clients must say how many training nodes of each class they have, and learn the sums.
    pub(crate) fn counts_classes(&self) -> bool {
        self.boosts.iter().any(|boost| boost.needs_class_counts(&self.setup.boost))
    }

    /// The run for this number of features and classes.
    ///
    /// # Errors
    /// If the backbone is unknown, or the method cannot run on it.
    pub(crate) fn open(&self, sizes: (usize, usize)) -> Result<Opened<T>> {
        if let Some(opened) = self.opened.get().filter(|opened| opened.sizes == sizes) {
            return Ok(opened.clone());
        }
        let (inputs, classes) = sizes;
        let (hidden, layers) = (self.setup.model.hidden, self.setup.model.layers);
        let architecture = Architecture { inputs, hidden, classes, layers };
        let backbone = backbones::build::<T>(&self.setup.model.backbone, architecture)?;
        let initial = Arc::new(Params::glorot(&backbone.shapes(), self.setup.seed));
        self.open_with(sizes, backbone, initial)
    }

    /// The same with a network and a model at hand.
    pub(crate) fn open_with(
        &self,
        sizes: (usize, usize),
        backbone: Box<dyn Backbone<T>>,
        initial: Arc<Params<T>>,
    ) -> Result<Opened<T>> {
        let setup = self.setup.clone();
        methods::check(setup.method, &setup.boosts, &setup.model, backbone.plan())?;
        let run = Arc::new(RunContext {
            parameters: backbone.shapes().iter().map(|shape| shape.rows * shape.columns).sum(),
            backbone,
            boosts: self.boosts.clone(),
            simulated: self.simulated,
            pools: Pools::default(),
            setup,
        });
        let opened = Opened { run, initial, sizes };
        // The first one is shared with sides that are opened later.
        let _ = self.opened.set(opened.clone());
        Ok(opened)
    }
}

/// What every side of a run has before anything is sent. In one process the sides share it.
pub(crate) struct RunContext<T: Real> {
    pub(crate) setup: Setup,
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
    /// Number of exchanges between `clients` clients before the first round.
    pub(crate) fn exchanges(&self, clients: usize) -> usize {
        (self.setup.method.exchanges)(&self.setup.methods, clients)
    }

    /// Number of rounds: those of the protocol and those that the method adds.
    pub(crate) fn rounds(&self) -> usize {
        self.setup.rounds()
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

/// Which model a client computes with: two with the same key have the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ModelKey {
    /// Rounds done when it was made.
    pub(crate) rounds_done: usize,
    /// Its version; `None` for the client's own.
    pub(crate) version: Option<Version>,
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

impl<T: Real> RoundContext<'_, T> {
    /// Which model this is.
    pub(crate) fn model_key(&self) -> ModelKey {
        let version = match self.model {
            ModelSource::Server(model) => Some(model.version()),
            ModelSource::Own => None,
        };
        ModelKey { rounds_done: self.rounds_done, version }
    }
}
