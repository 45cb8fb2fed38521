//! Clients, a server, and one round of theirs.

use crate::aggregate::{self, Update};
use crate::attack::{self, Attack, HonestUpdate};
use crate::boost::{Boost, BoostConfig, ModelBoost};
use crate::client::{Client, ClientSettings};
use crate::config::{Model, Optimizer, Protocol};
use crate::local_data::LocalData;
use crate::methods::{
    self, MethodConfigs, MethodContext, MethodInfo, Round, SenderFacts, ServerRule,
};
use crate::observer::{ClientRecord, Inspected, Inspection, Observer};
use crate::screen::{self, Envelope, Expected, Form, Reason, Refusal, Screen};
use crate::submission::Submission;
use crate::training::Trace;
use crate::{Combination, Error, Message, Result, wire};
use boostfgl_graph::Stream;
use boostfgl_nn::backbones::{self, Architecture, Backbone};
use boostfgl_nn::{Params, Pool, Real, StateVisitor};
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Everything a run is told, beside the data.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Seed of initialisation, dropout, message noise and participation.
    pub seed: u64,
    /// The method.
    pub method: &'static MethodInfo,
    /// The boosts that are on.
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
    /// What updates have to be like to be used.
    pub screen: screen::Config,
    /// How models are combined, whatever the method.
    pub aggregation: aggregate::Config,
    /// Who attacks, in tests and experiments.
    pub attack: attack::Config,
}

/// Changes a message on its way to the server.
pub(crate) type Tamper<T> = Box<dyn FnOnce(&mut Message<T>) + Send + Sync>;

/// A federation that is ready to run.
pub struct Federation<T: Real> {
    pub(crate) setup: Setup,
    pub(crate) backbone: Box<dyn Backbone<T>>,
    pub(crate) clients: Vec<Client<T>>,
    pub(crate) server: Box<dyn ServerRule<T>>,
    model_boost: Option<ModelBoost>,
    screen: Screen,
    attack: Option<Attack<T>>,
    /// What becomes of one client's message of the next round, if somebody wants to see what the
    /// server makes of it.
    pub(crate) tampered: Option<(usize, Tamper<T>)>,
    /// One per worker: buffers are shared by the clients that a thread happens to run.
    pub(crate) pools: Mutex<Vec<Pool<T>>>,
    parameters: usize,
    /// Training nodes of each class, of all clients together.
    pub(crate) counts: Vec<usize>,
    /// Whose preparation failed, to be told with the first round.
    pub(crate) unprepared: Vec<Refusal>,
    pub(crate) nodes: usize,
}

/// What a run leaves behind.
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
    /// How the run went.
    pub trace: Trace,
}

impl<T: Real> Federation<T> {
    /// Prepares clients and server. Model parameters are drawn from the seed.
    ///
    /// # Errors
    /// If a setting is out of range, the backbone is unknown, or no client has a training node.
    pub fn new(setup: Setup, data: Vec<LocalData<T>>) -> Result<Self> {
        setup.model.check()?;
        let architecture = Architecture {
            inputs: data.first().map_or(0, LocalData::width),
            hidden: setup.model.hidden,
            classes: data.first().map_or(0, LocalData::classes),
            layers: setup.model.layers,
        };
        let backbone = backbones::build::<T>(&setup.model.backbone, architecture)?;
        let initial = Params::glorot(&backbone.shapes(), setup.seed);
        Self::from_model(setup, data, backbone, &initial)
    }

    /// Like [`Federation::new`], starting from a given model.
    ///
    /// # Errors
    /// As [`Federation::new`].
    pub fn from_model(
        setup: Setup,
        mut data: Vec<LocalData<T>>,
        backbone: Box<dyn Backbone<T>>,
        initial: &Params<T>,
    ) -> Result<Self> {
        setup.model.check()?;
        setup.protocol.check()?;
        setup.optimizer.check()?;
        setup.boost.check()?;
        setup.methods.check()?;
        setup.screen.check()?;
        setup.attack.check()?;
        methods::check(setup.method, &setup.boosts, &setup.model, backbone.plan())?;
        let able = data.iter().filter(|data| data.training_nodes() > 0).count();
        methods::check_rule(setup.method, setup.aggregation, setup.protocol.taking_part(able))?;
        let attackers = methods::attackers(setup.method, &setup.attack, data.len())?;
        if setup.attack.kind.mislabels() {
            attackers.iter().for_each(|&k| data[k].mislabel());
        }
        if data.iter().all(|d| d.training_nodes() == 0) {
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
        let mut counts = vec![0usize; data[0].classes()];
        for data in &data {
            counts.iter_mut().zip(data.training_counts()).for_each(|(sum, n)| *sum += n);
        }
        let nodes = data.iter().map(LocalData::len).sum();
        let context = MethodContext {
            setup: &setup,
            initial,
            backbone: &*backbone,
            clients: data.len(),
            able: data.iter().map(|data| data.training_nodes() > 0).collect(),
            features: data[0].width(),
            classes: data[0].classes(),
            archive: Arc::default(),
        };
        let server = methods::server(&context);
        let rules: Vec<_> = data.iter().map(|data| methods::client(&context, data)).collect();
        let settings = client_settings(&setup);
        let clients: Vec<Client<T>> = data
            .into_par_iter()
            .zip(rules)
            .map(|(data, rule)| Client::new(data, rule, &*backbone, initial, &settings, &counts))
            .collect();
        let model_boost =
            setup.boosts.contains(&Boost::Model).then(|| ModelBoost::new(&setup.boost.model));
        Ok(Self {
            parameters: initial.count(),
            pools: Mutex::new(Vec::new()),
            screen: Screen::new(&setup.screen, clients.len()),
            attack: Attack::new(&setup.attack, attackers, clients.len()),
            tampered: None,
            setup,
            backbone,
            clients,
            server,
            model_boost,
            counts,
            unprepared: Vec::new(),
            nodes,
        })
    }

    /// Number of parameters P.
    pub fn parameters(&self) -> usize {
        self.parameters
    }

    /// Number of classes C.
    pub(crate) fn classes(&self) -> usize {
        self.counts.len()
    }

    /// Rounds in all: those that were asked for and those that the method adds.
    pub fn rounds(&self) -> usize {
        self.setup.protocol.rounds + (self.setup.method.further_rounds)(&self.setup.methods)
    }

    /// Runs all rounds.
    ///
    /// # Errors
    /// If all clients of a round diverge, or fewer updates than the quorum can be used.
    pub fn run(self, observers: &mut [&mut dyn Observer<T>]) -> Result<Outcome<T>> {
        let mut course = self.begin(observers)?;
        while !course.is_over() {
            course.step(observers)?;
        }
        Ok(course.finish())
    }

    /// Takes down what clients and server remember, or puts it back where nothing has happened yet.
    pub(crate) fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.within("server", |visitor| self.server.visit(visitor))?;
        let settings = client_settings(&self.setup);
        let clients = std::mem::take(&mut self.clients);
        for (k, client) in clients.into_iter().enumerate() {
            let client = visitor.within(&format!("client {k}"), |visitor| {
                let mut client =
                    client.visit_graph(&*self.backbone, &settings, &self.counts, visitor)?;
                client.visit(&settings, visitor)?;
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

    /// The models that clients start the next round from; clients that start from the same one
    /// share it.
    pub(crate) fn starts(&mut self) -> Vec<Start<T>> {
        let Self { clients, server, .. } = self;
        let mut starts: Vec<Start<T>> = Vec::with_capacity(clients.len());
        for (k, client) in clients.iter_mut().enumerate() {
            let given = server.start(k);
            let earlier = (0..k).find(
                |&j| matches!((given, server.start(j)), (Some(a), Some(b)) if std::ptr::eq(a, b)),
            );
            let received = match earlier {
                Some(j) => Arc::clone(&starts[j].received),
                None => Arc::new(given.unwrap_or(client.local()).clone()),
            };
            // Before the round: training moves what the rule deploys by, too.
            let deployed = client.deployed(Some(&received));
            starts.push(Start { received, deployed, shared: given.is_some() });
        }
        starts
    }

    /// Shows the inside of a round to those who asked for it.
    pub(crate) fn inspect(
        &mut self,
        round: usize,
        starts: &[Start<T>],
        done: &Done<T>,
        observers: &mut [&mut dyn Observer<T>],
    ) {
        let Self { setup, backbone, clients, server, .. } = self;
        let Done { records, combination, forged, .. } = done;
        let judged: Vec<Option<Params<T>>> = clients
            .iter_mut()
            .enumerate()
            .map(|(k, client)| client.deployed(server.evaluated(k)))
            .collect();
        let inspected = |(k, judged): (usize, Option<Params<T>>)| {
            let (client, start) = (&clients[k], &starts[k]);
            let took = records.iter().position(|record| record.client == k);
            let tensors = 0..start.received.tensors().len();
            Inspected {
                data: client.data(),
                received: &start.received,
                start: Cow::Borrowed(start.deployed.as_ref().unwrap_or(&start.received)),
                // What arrived, whatever was trained.
                trained: took.map(|_| {
                    forged
                        .iter()
                        .find(|(from, _)| *from == k)
                        .map_or(client.local(), |(_, model)| model)
                }),
                judged: judged.map_or(
                    Cow::Borrowed(server.evaluated(k).unwrap_or(client.local())),
                    Cow::Owned,
                ),
                // Who sat out has α and β of an earlier round.
                node_weights: took.and_then(|_| client.node_weights()),
                propagation: took
                    .map_or(client.data().inputs().propagation(), |_| client.propagation()),
                size: client.size(setup.protocol.client_weight),
                weights: combination
                    .as_ref()
                    .filter(|_| start.shared)
                    .zip(took)
                    .map(|(all, at)| tensors.map(|t| all.weights(t)[at]).collect()),
                gap: took.and_then(|at| records[at].gap),
            }
        };
        let clients = judged.into_iter().enumerate().map(inspected).collect();
        let rounds = setup.protocol.rounds;
        let inspection =
            Inspection { round, rounds, backbone: &**backbone, model: &setup.model, clients };
        observers.iter_mut().filter(|o| o.inspects()).for_each(|o| o.inspect(&inspection));
    }

    /// Local training of the participants, screening of what they send, and aggregation of what is
    /// left.
    pub(crate) fn round(&mut self, round: usize) -> Result<Done<T>> {
        let participants = self.participants(round);
        let (mut took, mut refused) = self.train(round, &participants)?;
        self.attack(round, &mut took);
        refused.extend(self.screen(round, &mut took));
        self.recover(&took, &refused);
        let needed = self.setup.screen.needed(participants.len());
        if took.len() < needed {
            let (participants, usable) = (participants.len(), took.len());
            return Err(Error::Quorum { round, participants, needed, usable, refused });
        }
        let combination = self.aggregate(round, &took, &refused)?;
        // What went wrong before the first round is told with it, and is no verdict on an update of
        // it.
        refused.splice(..0, std::mem::take(&mut self.unprepared));
        self.check_finite(round)?;
        let records = self.records(&took, combination.as_ref());
        let forged =
            took.into_iter().filter_map(|one| Some((one.client, one.forged?.model?))).collect();
        Ok(Done { records, combination, refused, forged })
    }

    /// Whether what the clients will be given is finite: updates that are may still overflow
    /// together.
    fn check_finite(&self, round: usize) -> Result<()> {
        if !self.setup.screen.enabled {
            return Ok(());
        }
        let (mut models, mut messages): (Vec<&Params<T>>, Vec<&Message<T>>) =
            (Vec::new(), Vec::new());
        for k in 0..self.clients.len() {
            models.extend(self.server.start(k).into_iter().chain(self.server.evaluated(k)));
            messages.extend(self.server.tell(k));
        }
        // What clients share is looked at once.
        models.sort_unstable_by_key(|model| std::ptr::from_ref(*model));
        models.dedup_by(|a, b| std::ptr::eq(*a, *b));
        messages.sort_unstable_by_key(|message| std::ptr::from_ref(*message));
        messages.dedup_by(|a, b| std::ptr::eq(*a, *b));
        match models.iter().all(|model| model.is_finite())
            && messages.iter().all(|message| message.is_finite())
        {
            true => Ok(()),
            false => Err(Error::ServerDiverged { round }),
        }
    }

    /// Local training of the participants; those that fail are refused.
    fn train(
        &mut self,
        round: usize,
        participants: &[usize],
    ) -> Result<(Vec<Submission<T>>, Vec<Refusal>)> {
        let Self { setup, backbone, clients, server, pools, .. } = self;
        let settings = client_settings(setup);
        let train = |(k, client): (usize, &mut Client<T>)| {
            let started = Instant::now();
            let pool = borrow(pools);
            let (start, heard) = (server.start(k), server.tell(k));
            let received = wire::count_down(start, heard);
            let trained = client.train(&**backbone, start, heard, round - 1, &settings, &pool);
            give_back(pools, pool);
            let seconds = started.elapsed().as_secs_f64();
            (
                k,
                trained.map(|trained| Submission {
                    client: k,
                    trained,
                    received,
                    seconds,
                    forged: None,
                }),
            )
        };
        let trained: Vec<_> = match setup.screen.deadline_seconds {
            // One after the other: a thread that waits for a piece of its own work may take up
            // another client's, whose time would count as its own.
            Some(_) => clients
                .iter_mut()
                .enumerate()
                .filter(|(k, _)| participants.contains(k))
                .map(train)
                .collect(),
            None => clients
                .par_iter_mut()
                .enumerate()
                .filter(|(k, _)| participants.contains(k))
                .map(train)
                .collect(),
        };
        // If all failed, the first of them is reported, not the one that happened to finish first.
        let hopeless = !setup.screen.enabled || trained.iter().all(|(_, trained)| trained.is_err());
        let (mut took, mut refused) = (Vec::new(), Vec::new());
        for (client, trained) in trained {
            match trained {
                Ok(one) => took.push(one),
                Err(error) if hopeless => return Err(error),
                Err(error) => refused.push(Refusal {
                    client,
                    round,
                    reason: Reason::Failed(error.to_string()),
                }),
            }
        }
        Ok((took, refused))
    }

    /// Lets attackers, and whoever tampers, replace what is sent.
    fn attack(&mut self, round: usize, took: &mut [Submission<T>]) {
        let Self { setup, clients, server, attack, tampered, .. } = self;
        if let Some((client, tamper)) = tampered.take()
            && let Some(one) = took.iter_mut().find(|one| one.client == client)
        {
            tamper(&mut one.trained.upload.message);
        }
        let Some(attack) = attack else { return };
        let weight = setup.protocol.client_weight;
        let honest = took.iter().map(|one| {
            let (k, message) = (one.client, &one.trained.upload.message);
            let form = update_form(&**server, &clients[k], k, round - 1, message);
            let shows_distance = server.moved(message).is_some();
            let given = (server.start(k), server.tell(k));
            one.honest_update(&clients[k], given, form, shows_distance, weight)
        });
        let honest: Vec<HonestUpdate<'_, T>> = honest.collect();
        let forged = attack.forge(round, &honest);
        drop(honest);
        for (one, forged) in took.iter_mut().zip(forged) {
            forged.into_iter().for_each(|forged| one.replace(forged));
        }
    }

    /// Takes away what the screen refuses.
    fn screen(&mut self, round: usize, took: &mut Vec<Submission<T>>) -> Vec<Refusal> {
        let Self { setup, backbone, clients, server, screen, .. } = self;
        let weight = setup.protocol.client_weight;
        let enrolled: Vec<f64> = clients.iter().map(|client| client.size(weight)).collect();
        let given = (0..clients.len()).map(|k| (server.start(k), server.tell(k))).collect();
        let form = |one: &Envelope<'_, T>| {
            update_form(&**server, &clients[one.from], one.from, round - 1, one.message)
        };
        let moved = |one: &Envelope<'_, T>| server.moved(one.message);
        let (shapes, summaries) = (backbone.shapes(), setup.boosts.contains(&Boost::Model));
        let (form, moved) = (&form, &moved);
        let expected =
            Expected { round, shapes: &shapes, enrolled: &enrolled, given, form, moved, summaries };
        let arrived: Vec<Envelope<'_, T>> = took
            .iter()
            .flat_map(|one| one.envelopes(&clients[one.client], round, weight))
            .collect();
        let verdicts = screen.examine(&arrived, &expected);
        let usable: Vec<usize> = arrived
            .iter()
            .zip(&verdicts)
            .filter(|(_, verdict)| verdict.is_none())
            .map(|(one, _)| one.from)
            .collect();
        let refused: Vec<Refusal> = arrived
            .iter()
            .zip(verdicts)
            .filter_map(|(one, verdict)| {
                verdict.map(|reason| Refusal { client: one.from, round, reason })
            })
            .collect();
        drop(arrived);
        took.retain(|one| usable.contains(&one.client));
        refused
    }

    /// Brings clients whose updates are not used back to where they started, so that they can take
    /// part again.
    fn recover(&mut self, took: &[Submission<T>], refused: &[Refusal]) {
        for Refusal { client, reason, .. } in refused {
            if took.iter().all(|one| one.client != *client) {
                self.clients[*client].recover(self.server.start(*client), reason.is_numeric());
            }
        }
    }

    /// Hands what is left to the method.
    fn aggregate(
        &mut self,
        round: usize,
        took: &[Submission<T>],
        refused: &[Refusal],
    ) -> Result<Option<Combination>> {
        let Self { setup, backbone, clients, server, model_boost, pools, .. } = self;
        let weight = setup.protocol.client_weight;
        let updates: Vec<Update<'_, T>> =
            took.iter().map(|one| one.update(&clients[one.client], weight)).collect();
        let refused_as = |like: fn(&Reason) -> bool| -> usize {
            let out = |client: &usize| took.iter().all(|one| one.client != *client);
            let clients = refused.iter().filter(|r| like(&r.reason)).map(|r| r.client).filter(out);
            clients.collect::<BTreeSet<usize>>().len()
        };
        let (bad, doubtful) = (refused_as(Reason::is_suspect), refused_as(Reason::is_doubtful));
        let aggregation = setup.aggregation.after(bad, doubtful, updates.len());
        let pool = borrow(pools);
        let context = Round {
            done: round - 1,
            boost: model_boost.as_ref(),
            backbone: &**backbone,
            pool: &pool,
            aggregation,
        };
        let combination = server.aggregate(&updates, &context);
        give_back(pools, pool);
        combination.map_err(|error| error.in_round(round))
    }

    /// The clients of a round: a seeded choice among those that have something to train on, in
    /// client order.
    fn participants(&self, round: usize) -> Vec<usize> {
        let mut able: Vec<usize> = (0..self.clients.len())
            .filter(|&k| self.clients[k].data().training_nodes() > 0)
            .collect();
        let wanted = self.setup.protocol.taking_part(able.len());
        if wanted < able.len() {
            Stream::new(self.setup.seed, "participation", &[round as u64]).shuffle(&mut able);
            able.truncate(wanted);
            able.sort_unstable();
        }
        able
    }

    /// What arrived from every client that was used.
    fn records(
        &self,
        trained: &[Submission<T>],
        combination: Option<&Combination>,
    ) -> Vec<ClientRecord> {
        let weights = combination.map(Combination::mean_weights);
        let trust = combination.and_then(Combination::trust);
        let record = |(i, took): (usize, &Submission<T>)| ClientRecord {
            client: took.client,
            loss: took.trained.loss,
            update_norm: took.trained.norm,
            weight: weights.as_ref().map(|w| w[i]),
            trust: trust.map(|t| t[i]),
            gap: took.summary().map(|s| s.gap),
            bytes_up: wire::bytes(self.sent(took)),
            bytes_down: wire::bytes(took.received),
            seconds: took.seconds,
        };
        trained.iter().enumerate().map(record).collect()
    }

    /// How many numbers a client sent.
    fn sent(&self, took: &Submission<T>) -> usize {
        let upload = &took.trained.upload;
        let sent = if upload.model { self.parameters } else { 0 }
            + usize::from(upload.size)
            + took.message().count();
        // Under model boosting two more numbers go up: the gap and the minority's mean difficulty.
        if sent > 0 && self.model_boost.is_some() { sent + 2 } else { sent }
    }

    pub(crate) fn mean_loss(&self, records: &[ClientRecord]) -> f64 {
        let size = |r: &ClientRecord| self.clients[r.client].data().training_nodes() as f64;
        records.iter().map(|r| r.loss * size(r)).sum::<f64>()
            / records.iter().map(size).sum::<f64>()
    }

    /// Predictions for every node of the global graph, and the accuracy on validation nodes.
    pub(crate) fn evaluate(&mut self, round: usize) -> Result<(Vec<u32>, Option<f64>)> {
        let Self { setup, backbone, clients, server, pools, .. } = self;
        let settings = client_settings(setup);
        let local: Vec<Result<Vec<u32>>> = clients
            .par_iter_mut()
            .enumerate()
            .map(|(k, client)| {
                let pool = borrow(pools);
                let model = server.evaluated(k);
                let starts_next = match (model, server.start(k)) {
                    (Some(model), Some(start)) => std::ptr::eq(model, start),
                    (None, None) => true,
                    _ => false,
                };
                let predictions =
                    client.predict(&**backbone, model, round, starts_next, &settings, &pool);
                give_back(pools, pool);
                predictions
            })
            .collect();
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

/// The form that an update of client `k` must have after `done` rounds.
fn update_form<T: Real>(
    server: &dyn ServerRule<T>,
    client: &Client<T>,
    k: usize,
    done: usize,
    message: &Message<T>,
) -> Form {
    let data = client.data();
    let labelled = data.training_nodes() as f64;
    let reach = (data.adjacency().arcs() + data.len()) as f64;
    server.form(&SenderFacts { client: k, done, labelled, reach, message })
}

/// What a client starts a round from, for observers.
pub(crate) struct Start<T> {
    received: Arc<Params<T>>,
    /// What its rule computes with in place of it, if it differs.
    deployed: Option<Params<T>>,
    /// Whether the server gave it: otherwise the network stays with the client, whatever else is
    /// aggregated.
    shared: bool,
}

/// What came of a round.
pub(crate) struct Done<T> {
    pub(crate) records: Vec<ClientRecord>,
    pub(crate) combination: Option<Combination>,
    pub(crate) refused: Vec<Refusal>,
    /// Models that were used in place of those that their clients trained.
    forged: Vec<(usize, Params<T>)>,
}

pub(crate) fn client_settings(setup: &Setup) -> ClientSettings<'_> {
    ClientSettings {
        seed: setup.seed,
        rounds: setup.protocol.rounds,
        epochs: setup.protocol.epochs,
        dropout: setup.model.dropout,
        message_noise: setup.model.message_noise,
        loss: setup.protocol.loss,
        optimizer: &setup.optimizer,
        boost: &setup.boost,
        boosts: &setup.boosts,
    }
}

pub(crate) fn borrow<T: Real>(pools: &Mutex<Vec<Pool<T>>>) -> Pool<T> {
    pools.lock().ok().and_then(|mut pools| pools.pop()).unwrap_or_default()
}

pub(crate) fn give_back<T: Real>(pools: &Mutex<Vec<Pool<T>>>, pool: Pool<T>) {
    if let Ok(mut pools) = pools.lock() {
        pools.push(pool);
    }
}
