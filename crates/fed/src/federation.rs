//! The loop over rounds.

use crate::aggregate::Update;
use crate::boost::{Boost, BoostConfig, ModelBoost};
use crate::client::{Client, Instructions, LocalData, Trained};
use crate::config::{Model, Optimizer, Protocol, ReportedRound};
use crate::methods::{self, MethodInfo, ServerRule};
use crate::observer::{ClientRecord, Observer, RoundRecord};
use crate::{Combination, Error, Result, wire};
use boostfgl_graph::Stream;
use boostfgl_nn::backbones::{self, Architecture, Backbone};
use boostfgl_nn::{Params, Pool, Real};
use rayon::prelude::*;
use std::sync::Mutex;
use std::time::Instant;

/// Everything a run is told, beside the data.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Seed of initialisation, dropout and participation.
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
    /// Mass q of the minority classes in a client's fairness gap.
    pub minority_ratio: f64,
}

/// A federation that is ready to run.
pub struct Federation<T: Real> {
    setup: Setup,
    backbone: Box<dyn Backbone<T>>,
    clients: Vec<Client<T>>,
    server: Box<dyn ServerRule<T>>,
    model_boost: Option<ModelBoost>,
    /// One per worker: buffers are shared by the clients that a thread happens to run.
    pools: Mutex<Vec<Pool<T>>>,
    parameters: usize,
    nodes: usize,
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
        data: Vec<LocalData<T>>,
        backbone: Box<dyn Backbone<T>>,
        initial: &Params<T>,
    ) -> Result<Self> {
        setup.model.check()?;
        setup.protocol.check()?;
        setup.optimizer.check()?;
        setup.boost.check()?;
        if data.iter().all(|d| d.training_nodes() == 0) {
            return Err(Error::NothingToTrain);
        }
        let mut counts = vec![0usize; data[0].classes()];
        for data in &data {
            counts.iter_mut().zip(data.training_counts()).for_each(|(sum, n)| *sum += n);
        }
        let nodes = data.iter().map(LocalData::len).sum();
        let told = instructions(&setup);
        let clients: Vec<Client<T>> =
            data.into_par_iter().map(|d| Client::new(d, &*backbone, initial, &told, &counts)).collect();
        let server = methods::server(setup.method, initial, clients.len());
        let model_boost = setup.boosts.contains(&Boost::Model).then(|| ModelBoost::new(&setup.boost.model));
        Ok(Self {
            parameters: initial.count(),
            pools: Mutex::new(Vec::new()),
            setup,
            backbone,
            clients,
            server,
            model_boost,
            nodes,
        })
    }

    /// Number of parameters P.
    pub fn parameters(&self) -> usize {
        self.parameters
    }

    /// Runs all rounds.
    ///
    /// # Errors
    /// If a client diverges.
    pub fn run(mut self, observers: &mut [&mut dyn Observer]) -> Result<Outcome<T>> {
        let rounds = self.setup.protocol.rounds;
        let mut best: Option<(f64, Outcome<T>)> = None;
        let (mut up, mut down) = (0, 0);
        for round in 1..=rounds {
            let started = Instant::now();
            let records = self.round(round)?;
            up += records.iter().map(|r| r.bytes_up).sum::<u64>();
            down += records.iter().map(|r| r.bytes_down).sum::<u64>();
            let due = round % self.setup.protocol.eval_every == 0 || round == rounds;
            let evaluation = due.then(|| self.evaluate(round));
            let record = RoundRecord {
                round,
                rounds,
                loss: self.mean_loss(&records),
                clients: &records,
                predictions: evaluation.as_ref().map(|(predictions, _)| predictions.as_slice()),
                val_accuracy: evaluation.as_ref().and_then(|(_, accuracy)| *accuracy),
                seconds: started.elapsed().as_secs_f64(),
            };
            observers.iter_mut().for_each(|o| o.round(&record));
            if let Some((predictions, accuracy)) = evaluation {
                self.keep(&mut best, round, predictions, accuracy);
            }
        }
        let Some((_, mut outcome)) = best else { unreachable!("the last round is always evaluated") };
        (outcome.bytes_up, outcome.bytes_down) = (up, down);
        Ok(outcome)
    }

    /// Remembers a round if it is the one to report so far.
    fn keep(&self, best: &mut Option<(f64, Outcome<T>)>, round: usize, predictions: Vec<u32>, accuracy: Option<f64>) {
        let last = round == self.setup.protocol.rounds;
        let score = accuracy.unwrap_or(0.0);
        let wanted = match self.setup.protocol.report {
            ReportedRound::Last => last,
            // Without validation nodes every round scores alike: then the last one is reported.
            ReportedRound::BestVal => {
                best.as_ref().is_none_or(|(so_far, _)| score > *so_far) || (accuracy.is_none() && last)
            }
        };
        if wanted {
            let models = self.server.models().into_iter().cloned().collect();
            *best = Some((score, Outcome { round, models, predictions, bytes_up: 0, bytes_down: 0 }));
        }
    }

    /// Local training of the participants and aggregation.
    fn round(&mut self, round: usize) -> Result<Vec<ClientRecord>> {
        let participants = self.participants(round);
        let Self { setup, backbone, clients, server, model_boost, pools, .. } = self;
        let told = instructions(setup);
        let trained = clients
            .par_iter_mut()
            .enumerate()
            .filter(|(k, _)| participants.contains(k))
            .map(|(k, client)| {
                let started = Instant::now();
                let pool = borrow(pools);
                let trained = client.train(&**backbone, server.start(k), round - 1, &told, &pool);
                give_back(pools, pool);
                trained.map(|t| (k, t, started.elapsed().as_secs_f64()))
            })
            .collect::<Vec<_>>();
        // If several clients failed, the first of them is reported, not the one that happened to finish first.
        let trained = trained.into_iter().collect::<Result<Vec<(usize, Trained, f64)>>>()?;
        let updates: Vec<Update<'_, T>> = trained
            .iter()
            .map(|(k, trained, _)| Update {
                client: *k,
                params: clients[*k].local(),
                norm: trained.norm,
                tensor_norms: &trained.tensor_norms,
                size: clients[*k].size(told.client_weight),
                summary: trained.summary,
            })
            .collect();
        let combination = server.aggregate(&updates, model_boost.as_ref())?;
        Ok(self.records(&trained, combination.as_ref()))
    }

    /// The clients of a round: a seeded choice among those that have something to train on, in client order.
    fn participants(&self, round: usize) -> Vec<usize> {
        let mut able: Vec<usize> =
            (0..self.clients.len()).filter(|&k| self.clients[k].data().training_nodes() > 0).collect();
        let wanted = (self.setup.protocol.participation * able.len() as f64).round().max(1.0) as usize;
        if wanted < able.len() {
            Stream::new(self.setup.seed, "participation", &[round as u64]).shuffle(&mut able);
            able.truncate(wanted);
            able.sort_unstable();
        }
        able
    }

    fn records(&self, trained: &[(usize, Trained, f64)], combination: Option<&Combination>) -> Vec<ClientRecord> {
        let weights = combination.map(Combination::mean_weights);
        let trust = combination.and_then(Combination::trust);
        // Under model boosting two more numbers go up: the gap and the minority's mean difficulty.
        let extra = if self.model_boost.is_some() && (self.setup.method.up)(self.parameters) > 0 { 2 } else { 0 };
        let record = |(i, (client, trained, seconds)): (usize, &(usize, Trained, f64))| ClientRecord {
            client: *client,
            loss: trained.loss,
            update_norm: trained.norm,
            weight: weights.as_ref().map(|w| w[i]),
            trust: trust.map(|t| t[i]),
            gap: trained.summary.map(|s| s.gap),
            bytes_up: wire::bytes((self.setup.method.up)(self.parameters) + extra),
            bytes_down: wire::bytes((self.setup.method.down)(self.parameters)),
            seconds: *seconds,
        };
        trained.iter().enumerate().map(record).collect()
    }

    fn mean_loss(&self, records: &[ClientRecord]) -> f64 {
        let size = |r: &ClientRecord| self.clients[r.client].data().training_nodes() as f64;
        records.iter().map(|r| r.loss * size(r)).sum::<f64>() / records.iter().map(size).sum::<f64>()
    }

    /// Predictions for every node of the global graph, and the accuracy on validation nodes.
    fn evaluate(&mut self, round: usize) -> (Vec<u32>, Option<f64>) {
        let Self { backbone, clients, server, pools, .. } = self;
        let local: Vec<(Vec<u32>, (usize, usize))> = clients
            .par_iter_mut()
            .enumerate()
            .map(|(k, client)| {
                let pool = borrow(pools);
                let model = server.evaluated(k);
                let starts_next = std::ptr::eq(model, server.start(k));
                let predictions = client.predict(&**backbone, model, round, starts_next, &pool);
                give_back(pools, pool);
                let validated = client.validate(&predictions);
                (predictions, validated)
            })
            .collect();
        let mut global = vec![0u32; self.nodes];
        let (mut hits, mut total) = (0, 0);
        for (client, (predictions, validated)) in clients.iter().zip(local) {
            for (&v, class) in client.nodes().iter().zip(predictions) {
                global[v as usize] = class;
            }
            hits += validated.0;
            total += validated.1;
        }
        (global, (total > 0).then(|| hits as f64 / total as f64))
    }
}

fn instructions(setup: &Setup) -> Instructions<'_> {
    Instructions {
        seed: setup.seed,
        epochs: setup.protocol.epochs,
        dropout: setup.model.dropout,
        loss: setup.protocol.loss,
        optimizer: &setup.optimizer,
        boost: &setup.boost,
        boosts: &setup.boosts,
        client_weight: setup.protocol.client_weight,
        minority_ratio: setup.minority_ratio,
    }
}

fn borrow<T: Real>(pools: &Mutex<Vec<Pool<T>>>) -> Pool<T> {
    pools.lock().ok().and_then(|mut pools| pools.pop()).unwrap_or_default()
}

fn give_back<T: Real>(pools: &Mutex<Vec<Pool<T>>>, pool: Pool<T>) {
    if let Ok(mut pools) = pools.lock() {
        pools.push(pool);
    }
}
