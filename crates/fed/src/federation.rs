//! The federation: clients and server, ready to run.
//!
//! `round` is a single round, `inspection` what observers may see of it.

mod inspection;
mod round;

pub(crate) use round::Done;

use crate::attack::{self, Attack};
use crate::boost::{Boost, BoostConfig, Registry, ServerBoost, Stacked};
use crate::client::Client;
use crate::config::{Model, Optimizer, Protocol};
use crate::local_data::LocalData;
use crate::methods::{self, MethodConfigs, MethodContext, MethodInfo, ServerRule};
use crate::observer::Observer;
use crate::round_context::{RoundContext, RunContext};
use crate::screen::{self, Refusal, Screen};
use crate::training::Trace;
use crate::{Error, Message, Result, aggregate};
use boostfgl_nn::backbones::{self, Architecture, Backbone};
use boostfgl_nn::{Params, Pool, Real, StateVisitor};
use boostfgl_protocol::Enrolment;
use rayon::prelude::*;
use std::sync::{Arc, Mutex};

/// All settings of a run, without the data.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Seed of initialisation, dropout, message noise and participation.
    pub seed: u64,
    /// The method.
    pub method: &'static MethodInfo,
    /// The built-in boosts that are on.
    pub boosts: Vec<Boost>,
    /// Rounds, epochs, participation.
    pub protocol: Protocol,
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
}

impl Setup {
    /// Checks the range of every setting.
    fn check_ranges(&self) -> Result<()> {
        self.model.check()?;
        self.protocol.check()?;
        self.optimizer.check()?;
        self.boost.check()?;
        self.methods.check()?;
        self.screen.check()?;
        self.attack.check()
    }
}

/// Changes a message on its way to the server.
pub(crate) type Tamper<T> = Box<dyn FnOnce(&mut Message<T>) + Send + Sync>;

/// A federation that is ready to run.
pub struct Federation<T: Real> {
    pub(crate) context: RunContext<T>,
    pub(crate) clients: Vec<Client<T>>,
    pub(crate) server: Box<dyn ServerRule<T>>,
    server_boosts: Stacked<T>,
    screen: Screen,
    attack: Option<Attack<T>>,
    /// A change of one client's message in the next round, for tests of the server.
    pub(crate) tampered: Option<(usize, Tamper<T>)>,
    /// One per worker: buffers are shared by the clients that a thread happens to run.
    pub(crate) pools: Mutex<Vec<Pool<T>>>,
    parameters: usize,
    /// What clients said about themselves when they joined.
    pub(crate) enrolled: Vec<Enrolment>,
    /// Whether every update has a fairness summary.
    summaries: bool,
    /// Whether observers ask for the inside of every round.
    pub(crate) inspected: bool,
    /// Clients whose preparation failed; reported with round 1.
    pub(crate) unprepared: Vec<Refusal>,
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
    /// Bytes sent by all clients together.
    pub bytes_up: u64,
    /// Bytes received by all clients together.
    pub bytes_down: u64,
    /// How training developed.
    pub trace: Trace,
}

impl<T: Real> Federation<T> {
    /// Prepares clients and server. Model parameters are drawn from the seed.
    ///
    /// # Errors
    /// If a setting is out of range, the backbone is unknown, or no client has a training node.
    pub fn new(setup: Setup, data: Vec<LocalData<T>>) -> Result<Self> {
        Self::with_boosts(setup, data, &Registry::builtin())
    }

    /// Like [`Federation::new`], with boosts from a registry: those of [`Setup::boosts`], and those
    /// that were added to it.
    ///
    /// # Errors
    /// As [`Federation::new`].
    pub fn with_boosts(
        setup: Setup,
        data: Vec<LocalData<T>>,
        registry: &Registry<T>,
    ) -> Result<Self> {
        setup.model.check()?;
        let architecture = Architecture {
            inputs: data.first().map_or(0, LocalData::width),
            hidden: setup.model.hidden,
            classes: data.first().map_or(0, LocalData::classes),
            layers: setup.model.layers,
        };
        let backbone = backbones::build::<T>(&setup.model.backbone, architecture)?;
        let initial = Params::glorot(&backbone.shapes(), setup.seed);
        Self::assemble(setup, data, backbone, &initial, registry)
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
        Self::assemble(setup, data, backbone, initial, &Registry::builtin())
    }

    fn assemble(
        setup: Setup,
        mut data: Vec<LocalData<T>>,
        backbone: Box<dyn Backbone<T>>,
        initial: &Params<T>,
        registry: &Registry<T>,
    ) -> Result<Self> {
        setup.check_ranges()?;
        methods::check(setup.method, &setup.boosts, &setup.model, backbone.plan())?;
        let enrolled: Vec<Enrolment> = data.iter().map(LocalData::enrolment).collect();
        let able: Vec<bool> = enrolled.iter().map(|client| client.training > 0).collect();
        let taking_part = setup.protocol.taking_part(able.iter().filter(|able| **able).count());
        methods::check_rule(setup.method, setup.aggregation, taking_part)?;
        let attackers = methods::attackers(setup.method, &setup.attack, data.len())?;
        if setup.attack.kind.mislabels() {
            attackers.iter().for_each(|&k| data[k].mislabel());
        }
        check_data(&setup, &data)?;
        let method = MethodContext {
            setup: &setup,
            initial,
            backbone: &*backbone,
            clients: data.len(),
            able,
            features: data[0].width(),
            classes: data[0].classes(),
            archive: Arc::default(),
        };
        let server = methods::server(&method);
        let rules: Vec<_> = data.iter().map(|data| methods::client(&method, data)).collect();
        let nodes = data.iter().map(LocalData::len).sum();
        let class_counts = class_counts(&enrolled);
        let boosts = registry.active(&setup.boosts);
        let context = RunContext { boosts, class_counts, setup, backbone };
        let clients: Vec<Client<T>> = data
            .into_par_iter()
            .zip(rules)
            .map(|(data, rule)| Client::new(&context, data, rule, initial))
            .collect();
        let setup = &context.setup;
        let server_sides = context.boosts.iter().filter_map(|boost| boost.server(&setup.boost));
        Ok(Self {
            parameters: initial.count(),
            enrolled,
            summaries: clients.iter().any(Client::summarises),
            inspected: false,
            pools: Mutex::new(Vec::new()),
            screen: Screen::new(&setup.screen, clients.len()),
            attack: Attack::new(&setup.attack, attackers, clients.len()),
            tampered: None,
            server_boosts: Stacked::new(server_sides.collect()),
            context,
            clients,
            server,
            unprepared: Vec::new(),
            nodes,
        })
    }

    /// The settings of the run.
    pub(crate) fn setup(&self) -> &Setup {
        &self.context.setup
    }

    /// Number of parameters P.
    pub fn parameters(&self) -> usize {
        self.parameters
    }

    /// Number of classes C.
    pub(crate) fn classes(&self) -> usize {
        self.context.class_counts.len()
    }

    /// Number of rounds: those of the protocol and those that the method adds.
    pub fn rounds(&self) -> usize {
        let setup = self.setup();
        setup.protocol.rounds + (setup.method.further_rounds)(&setup.methods)
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

    /// Saves the state of clients and server, or restores it in a federation that has done no
    /// round.
    pub(crate) fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.within("server", |visitor| self.server.visit(visitor))?;
        self.server_boosts.visit(visitor)?;
        let clients = std::mem::take(&mut self.clients);
        for (k, client) in clients.into_iter().enumerate() {
            let client = visitor.within(&format!("client {k}"), |visitor| {
                let mut client = client.visit_graph(&self.context, visitor)?;
                client.visit(&self.context, visitor)?;
                Ok(client)
            })?;
            self.clients.push(client);
        }
        visitor.visit("screen", &mut self.screen)?;
        let model = self.clients[0].local();
        match &mut self.attack {
            Some(attack) => visitor.within("attack", |visitor| attack.visit(model, visitor)),
            None => Ok(()),
        }
    }

    /// Predictions for every node of the global graph, and the accuracy on validation nodes.
    pub(crate) fn evaluate(&mut self, round: usize) -> Result<(Vec<u32>, Option<f64>)> {
        let Self { context, clients, server, pools, .. } = self;
        let predict = |(k, client): (usize, &mut Client<T>)| {
            let pool = borrow(pools);
            let model = server.evaluated(k);
            let starts_next = match (model, server.start(k)) {
                (Some(model), Some(start)) => model.version() == start.version(),
                (None, None) => true,
                _ => false,
            };
            let model = model.into();
            let evaluation = RoundContext {
                run: context,
                rounds_done: round,
                model,
                message: None,
                pool: &pool,
            };
            let predictions = client.predict(&evaluation, starts_next);
            give_back(pools, pool);
            predictions
        };
        let local: Vec<Result<Vec<u32>>> =
            clients.par_iter_mut().enumerate().map(predict).collect();
        let mut global = vec![0u32; self.nodes];
        let (mut hits, mut total) = (0, 0);
        for (client, local) in clients.iter().zip(local) {
            let predictions = local?;
            let validated = client.validate(&predictions);
            for (&v, class) in client.nodes().iter().zip(predictions) {
                global[v as usize] = class;
            }
            hits += validated.0;
            total += validated.1;
        }
        Ok((global, (total > 0).then(|| hits as f64 / total as f64)))
    }
}

/// Checks that there is something to train on and something to train with.
fn check_data<T: Real>(setup: &Setup, data: &[LocalData<T>]) -> Result<()> {
    if data.iter().all(|data| data.training_nodes() == 0) {
        return Err(Error::NothingToTrain);
    }
    if data[0].width() == 0 {
        let reason = "its nodes have no features, from which every network here starts";
        return Err(Error::Refused {
            method: setup.method.name,
            what: "these data".into(),
            reason,
        });
    }
    Ok(())
}

/// Training nodes of each class, of all clients together.
fn class_counts(enrolled: &[Enrolment]) -> Vec<usize> {
    let mut counts = vec![0usize; enrolled[0].class_counts.len()];
    for client in enrolled {
        counts.iter_mut().zip(&client.class_counts).for_each(|(sum, n)| *sum += *n as usize);
    }
    counts
}

/// Takes a pool of buffers that no thread uses, or makes one.
pub(crate) fn borrow<T: Real>(pools: &Mutex<Vec<Pool<T>>>) -> Pool<T> {
    pools.lock().ok().and_then(|mut pools| pools.pop()).unwrap_or_default()
}

/// Gives a pool back for the next client.
pub(crate) fn give_back<T: Real>(pools: &Mutex<Vec<Pool<T>>>, pool: Pool<T>) {
    if let Ok(mut pools) = pools.lock() {
        pools.push(pool);
    }
}
