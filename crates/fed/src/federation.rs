//! A simulated federation: a server and all of its clients in one process, ready to run.
//!
//! It drives the two state machines as any other program would, and looks inside the clients where
//! observers ask for it: `inspection`. Nothing else here knows more than the server.

mod inspection;

use crate::boost::{Boost, BoostConfig};
use crate::client::Client;
use crate::config::{Loss, Model, MomentsOf, Optimizer, Protocol, Transport};
use crate::layers::{self, Crossing, Outbound};
use crate::local_data::LocalData;
use crate::methods::{self, MethodConfigs, MethodInfo};
use crate::observer::Observer;
use crate::predictor::Predictors;
use crate::run_context::{RunContext, RunPlan};
use crate::server::{Enrolling, Running, Server};
use crate::tally::Tally;
use crate::training::Trace;
use crate::transport::{Arrival, Ask, exchange};
use crate::{Next, Registry, Result, aggregate, attack, screen};
use boostfgl_nn::backbones::Backbone;
use boostfgl_nn::{Matrix, Params, Real, StateVisitor};
use std::sync::Arc;

/// All settings of a run, without the data.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Seed of initialisation, dropout, message noise and participation.
    pub seed: u64,
    /// The method: a built-in one, or the description of one that was added to the
    /// [`Registry`](crate::Registry).
    pub method: &'static MethodInfo,
    /// The built-in boosts that are on.
    pub boosts: Vec<Boost>,
    /// Rounds, epochs, participation.
    pub protocol: Protocol,
    /// Whose moments features are prepared with.
    pub moments: MomentsOf,
    /// The supervised loss.
    pub loss: Loss,
    /// The network.
    pub model: Model,
    /// The local optimiser.
    pub optimizer: Optimizer,
    /// Settings of the boosts.
    pub boost: BoostConfig,
    /// Settings of the methods.
    pub methods: MethodConfigs,
    /// Which updates the server accepts.
    pub screen: screen::Config,
    /// How models are combined, for every method.
    pub aggregation: aggregate::Config,
    /// Simulated malicious clients, for tests and experiments.
    pub attack: attack::Config,
    /// How messages cross between server and clients; it changes no digit.
    pub transport: Transport,
    /// How clients evaluate, in words that only have to be the same on all sides; empty in a
    /// simulation.
    pub evaluation: String,
    /// Whether the class probabilities of the reported round are kept. It changes no digit.
    pub probabilities: bool,
}

impl Setup {
    /// Number of rounds: those of the protocol and those that the method adds.
    pub fn rounds(&self) -> usize {
        self.protocol.rounds + (self.method.further_rounds)(&self.methods)
    }

    /// Checks the range of every setting.
    pub(crate) fn check_ranges(&self) -> Result<()> {
        self.loss.check()?;
        self.model.check()?;
        self.protocol.check()?;
        self.optimizer.check()?;
        self.boost.check()?;
        self.methods.check()?;
        self.screen.check()?;
        self.attack.check()
    }

    /// BLAKE3 of everything that both sides must agree on, and of the settings that `added` methods
    /// and boosts hold. Two programs of the same version write the same settings in the same way.
    pub(crate) fn digest(&self, added: &str) -> [u8; 32] {
        let Self { seed, method, protocol, model, optimizer, boost, methods, screen, .. } = self;
        let (evaluation, loss, moments) = (&self.evaluation, &self.loss, self.moments);
        let method = method.name;
        let boosts: Vec<&str> = self.boosts.iter().map(|boost| boost.name()).collect();
        let settings = (seed, method, boosts, protocol, model, optimizer, boost, methods, screen);
        let version = env!("CARGO_PKG_VERSION");
        *blake3::hash(
            format!("{version} {settings:?} {moments:?} {loss:?} {evaluation:?}{added}").as_bytes(),
        )
        .as_bytes()
    }
}

/// A federation that is ready to run.
pub struct Federation<T: Real> {
    pub(crate) run: Arc<RunContext<T>>,
    pub(crate) server: Running<T>,
    pub(crate) clients: Vec<Client<T>>,
    /// Layers on the way of updates, such as attacks.
    pub(crate) outbound: Vec<Box<dyn Outbound<T>>>,
    pub(crate) nodes: usize,
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Outcome<T> {
    /// The reported round.
    pub round: usize,
    /// Its models: one, or one per client where the method is personal.
    pub models: Vec<Params<T>>,
    /// Its predicted class of every node of the global graph.
    pub predictions: Vec<u32>,
    /// What clients predict with, apart from the models and their graphs.
    pub predictors: Predictors<T>,
    /// Its probability of every class for every node, a row per node, if
    /// [`Setup::probabilities`] asks for them.
    pub probabilities: Option<Matrix<T>>,
    /// Bytes that the method sent, from all clients together.
    pub bytes_up: u64,
    /// Bytes that the method sent to all clients together.
    pub bytes_down: u64,
    /// Bytes of all frames from the clients.
    pub framed_up: u64,
    /// Bytes of all frames to the clients.
    pub framed_down: u64,
    /// BLAKE3 of the server's models and of what each client has: its own model and its
    /// predictions. It is the same wherever the clients are.
    pub federation_digest: String,
    /// How training developed.
    pub trace: Trace,
}

impl<T: Real> Federation<T> {
    /// Prepares clients and server of a built-in method. Model parameters are drawn from the seed.
    ///
    /// # Errors
    /// If a setting is out of range, the method or the backbone is unknown, or no client has a
    /// training node.
    pub fn new(setup: Setup, data: Vec<LocalData<T>>) -> Result<Self> {
        Self::with_registry(setup, data, &Registry::builtin())
    }

    /// Like [`Federation::new`], with the methods and boosts of a registry: the method of
    /// [`Setup::method`], the boosts of [`Setup::boosts`], and those that were added to it.
    ///
    /// # Errors
    /// As [`Federation::new`].
    pub fn with_registry(
        setup: Setup,
        data: Vec<LocalData<T>>,
        registry: &Registry<T>,
    ) -> Result<Self> {
        let plan = RunPlan::simulation(setup, registry)?;
        plan.open(sizes(&data))?;
        Self::assemble(plan, data)
    }

    /// Like [`Federation::new`], starting from a given model.
    ///
    /// # Errors
    /// As [`Federation::new`].
    pub fn from_model(
        setup: Setup,
        data: Vec<LocalData<T>>,
        backbone: Box<dyn Backbone<T>>,
        initial: &Params<T>,
    ) -> Result<Self> {
        let plan = RunPlan::simulation(setup, &Registry::builtin())?;
        plan.open_with(sizes(&data), backbone, Arc::new(initial.clone()))?;
        Self::assemble(plan, data)
    }

    /// Lets the clients join a server.
    fn assemble(plan: RunPlan<T>, mut data: Vec<LocalData<T>>) -> Result<Self> {
        let setup = &plan.setup;
        let attackers = methods::attackers(setup.method, &setup.attack, data.len())?;
        if setup.attack.kind.mislabels() {
            attackers.iter().for_each(|&k| data[k].mislabel());
        }
        let nodes = data.iter().map(LocalData::len).sum();
        let (transport, plan) = (setup.transport, Arc::new(plan));
        let mut clients: Vec<Client<T>> =
            data.into_iter().map(|data| Client::new(&plan, data, None)).collect();
        let mut enrolling = Enrolling::new(&plan, clients.len());
        let ask = enrolling.next();
        let server = enrolling.hear(exchange(transport, &mut clients, &mut |_, _| {}, ask))?;
        let run = Arc::clone(&server.run);
        let outbound = layers::outbound(&server, attackers);
        let mut federation = Self { run, server, clients, outbound, nodes };
        // Every client now learns of the others.
        federation.exchange()?;
        Ok(federation)
    }

    /// The settings of the run.
    pub(crate) fn setup(&self) -> &Setup {
        &self.run.setup
    }

    /// Number of parameters P.
    pub fn parameters(&self) -> usize {
        self.run.parameters
    }

    /// Number of rounds: those of the protocol and those that the method adds.
    pub fn rounds(&self) -> usize {
        self.run.rounds()
    }

    /// Runs all rounds.
    ///
    /// # Errors
    /// If all clients of a round diverge, or fewer updates than the quorum can be used.
    pub fn run(self, observers: &mut [&mut dyn Observer<T>]) -> Result<Outcome<T>> {
        let mut training = self.begin(observers)?;
        while !training.is_over() {
            training.step(observers)?;
        }
        Ok(training.finish())
    }

    /// One exchange: what the server asks, and what becomes of it.
    pub(crate) fn exchange(&mut self) -> Result<()> {
        let Next::Ask(ask) = self.server.next() else { return Ok(()) };
        let arrivals = self.carry(ask);
        self.server.hear(arrivals)
    }

    fn carry(&mut self, ask: Ask<T>) -> Vec<Arrival<T>> {
        let Self { run, server, clients, outbound, .. } = self;
        let layers = &mut |clients: &[Client<T>], arrivals: &mut Vec<Arrival<T>>| {
            let crossing = Crossing { server, clients };
            outbound.iter_mut().for_each(|layer| layer.outbound(&crossing, arrivals));
        };
        exchange(run.setup.transport, clients, layers, ask)
    }

    /// Saves the state of clients and server, or restores it in a federation that has done no
    /// round.
    pub(crate) fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        self.server.visit(visitor)?;
        for (k, client) in self.clients.iter_mut().enumerate() {
            visitor.within(&format!("client {k}"), |visitor| client.visit(visitor))?;
        }
        let Self { clients, outbound, .. } = self;
        let model = clients[0].trainer().local();
        visitor.within("layers", |visitor| {
            outbound.iter_mut().try_for_each(|layer| layer.visit(model, visitor))
        })
    }
}

impl<T: Real> Server<T> {
    /// A server for this number of clients that are somewhere else. They tell it features and
    /// classes when they join. Their registries must have the same method and boosts.
    ///
    /// # Errors
    /// If a setting is out of range, the registry does not have the method, or the settings are
    /// those of a simulation.
    pub fn for_clients(setup: Setup, clients: usize, registry: &Registry<T>) -> Result<Self> {
        let plan = RunPlan::between_machines(setup, registry)?;
        Ok(Self::new(Enrolling::new(&Arc::new(plan), clients)))
    }
}

impl<T: Real> Client<T> {
    /// A client of a server that is somewhere else, with the settings of that server. `tally` counts
    /// its test nodes; without one it has none to be evaluated on.
    ///
    /// # Errors
    /// As [`Server::for_clients`].
    pub fn of_server(
        setup: Setup,
        data: LocalData<T>,
        tally: Option<Box<dyn Tally>>,
        registry: &Registry<T>,
    ) -> Result<Self> {
        let plan = RunPlan::between_machines(setup, registry)?;
        Ok(Self::new(&Arc::new(plan), data, tally))
    }
}

/// Number of features and classes of the clients of a simulation.
fn sizes<T: Real>(data: &[LocalData<T>]) -> (usize, usize) {
    data.first().map_or((0, 0), |data| (data.width(), data.classes()))
}
