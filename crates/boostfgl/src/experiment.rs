//! One method on one dataset over several seeds.

use crate::builder::ExperimentBuilder;
use crate::config::Config;
use crate::{Data, Error, Result, fingerprint, memory};
use boostfgl_fairness::Evaluation;
use boostfgl_fairness::diagnostics::{Diagnosis, DiagnosticKind, Settings};
use boostfgl_fed::boost::Boost;
use boostfgl_fed::methods::Layout;
use boostfgl_fed::{Federation, LocalData, Outcome, RoundRecord, Setup};
use boostfgl_graph::groups::{Groups, node_homophily};
use boostfgl_graph::{Graph, Role, Split};
use boostfgl_nn::Dense;
use boostfgl_partition::{ClientGraph, Partition, SplitRule};
use boostfgl_report::{Fingerprint, RoundRefusal, Summary};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// An experiment that is ready to run: a checked configuration and its graph.
#[derive(Clone)]
pub struct Experiment {
    config: Config,
    graph: Arc<Graph>,
    homophily: Arc<Vec<Option<f64>>>,
    fingerprint: Arc<Fingerprint>,
    diagnostics: Vec<DiagnosticKind>,
}

/// Somebody who is told how a run goes on.
pub trait Progress {
    /// A seed begins.
    fn seed(&mut self, _index: usize, _of: usize, _seed: u64) {}
    /// The graph is divided for the seed: who holds what, who is trained on, and who is at a
    /// disadvantage.
    fn divided(&mut self, _seed: u64, _partition: &Arc<Partition>, _groups: &Groups) {}
    /// Before the first round of a method that prepares: `done` of `of` steps are over.
    fn preparing(&mut self, _done: usize, _of: usize) {}
    /// Something that the user should know though the run goes on.
    fn note(&mut self, _text: &str) {}
    /// A round has ended.
    fn round(&mut self, _record: &RoundRecord<'_>, _evaluation: Option<&Evaluation>) {}
}

impl Progress for () {}

/// What a run leaves behind.
#[derive(Debug)]
pub struct Run {
    /// What stands in `summary.json`.
    pub summary: Summary,
    /// The seeds, in order.
    pub seeds: Vec<SeedRun>,
    /// What the user should know though nothing is lost, such as that no report could be written.
    pub note: Option<String>,
}

/// What one seed leaves behind.
#[derive(Debug)]
pub struct SeedRun {
    /// The seed.
    pub seed: u64,
    /// Who held what, and who was trained on.
    pub partition: Arc<Partition>,
    /// Minority and heterophilous nodes.
    pub groups: Groups,
    /// Models and predictions of the reported round.
    pub outcome: Outcome<f32>,
    /// For whom it works.
    pub evaluation: Evaluation,
    /// BLAKE3 of parameters and predictions.
    pub digest: String,
    /// What diagnostics found, if any watched.
    pub diagnosis: Option<Diagnosis>,
    /// The updates that were not used, and why.
    pub refused: Vec<Refused>,
}

/// An update that was not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// In which round, from 1.
    pub round: usize,
    /// Whose it was, and why.
    #[serde(flatten)]
    pub update: RoundRefusal,
}

impl Run {
    /// The updates that were not used, in a sentence: how many of which clients, and the first of
    /// them; `None` without any.
    pub fn refusals(&self) -> Option<String> {
        let refused = || {
            self.seeds
                .iter()
                .flat_map(|run| run.refused.iter().map(move |refusal| (run.seed, refusal)))
        };
        let (seed, first) = refused().next()?;
        let mut clients: BTreeMap<usize, usize> = BTreeMap::new();
        refused().for_each(|(_, refusal)| *clients.entry(refusal.update.client).or_insert(0) += 1);
        let each: Vec<String> =
            clients.iter().map(|(client, count)| format!("client {client}: {count}")).collect();
        let (all, each) = (refused().count(), each.join(", "));
        let updates = if all == 1 { "update was" } else { "updates were" };
        let Refused { round, update: RoundRefusal { client, text, .. } } = first;
        Some(format!(
            "{all} {updates} refused ({each}); the first, seed {seed}, client {client}, round \
             {round}: {text}"
        ))
    }
}

impl Experiment {
    /// Begins an experiment on a dataset by name, as on the command line.
    pub fn on(dataset: &str) -> ExperimentBuilder {
        ExperimentBuilder::on(dataset)
    }

    /// An experiment on a graph at hand. Features are scaled as the configuration says.
    ///
    /// # Errors
    /// If the configuration is out of range or asks for more clients than there are nodes.
    pub fn new(config: Config, graph: Graph) -> Result<Self> {
        config.check()?;
        if config.partition.partitioner != "file" && config.partition.clients > graph.len() {
            let (clients, nodes) = (config.partition.clients, graph.len());
            return Err(boostfgl_partition::Error::TooManyClients { clients, nodes }.into());
        }
        let fingerprint = Arc::new(fingerprint::of(&graph));
        let graph = graph.scaled(config.data.features.into());
        let homophily = Arc::new(node_homophily(&graph));
        Ok(Self { config, graph: Arc::new(graph), homophily, fingerprint, diagnostics: Vec::new() })
    }

    /// The same experiment, watched by these diagnostics. They change no digit of it.
    #[must_use]
    pub fn with_diagnostics(mut self, diagnostics: Vec<DiagnosticKind>) -> Self {
        self.diagnostics = diagnostics;
        self
    }

    /// The diagnostics that watch it.
    pub fn diagnostics(&self) -> &[DiagnosticKind] {
        &self.diagnostics
    }

    /// The same data under another configuration.
    ///
    /// # Errors
    /// If the configuration is out of range or scales features in another way.
    pub fn with_config(&self, config: Config) -> Result<Self> {
        config.check()?;
        if config.data != self.config.data {
            let reason =
                "expected the scaling of features that the data were read with, found another";
            return Err(Error::usage(
                "data.features",
                reason,
                "Read the data again under the other configuration.",
            ));
        }
        Ok(self.sharing(config))
    }

    fn sharing(&self, config: Config) -> Self {
        Self {
            config,
            graph: Arc::clone(&self.graph),
            homophily: Arc::clone(&self.homophily),
            fingerprint: Arc::clone(&self.fingerprint),
            diagnostics: self.diagnostics.clone(),
        }
    }

    /// Another method and other boosts on the same data.
    ///
    /// # Errors
    /// If the changed configuration is out of range.
    pub fn with_method(&self, method: &str, boosts: Option<Vec<Boost>>) -> Result<Self> {
        let config = Config { method: method.to_owned(), boosts, ..self.config.clone() };
        config.check()?;
        Ok(self.sharing(config))
    }

    /// The resolved configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// What data it is made on, as they were read.
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    /// φ of every node in the whole graph; `None` without neighbours.
    pub(crate) fn homophily(&self) -> &[Option<f64>] {
        &self.homophily
    }

    /// Refuses a run whose estimated need exceeds `allowed` bytes.
    ///
    /// # Errors
    /// [`Error::Memory`] with both numbers.
    pub fn check_memory(&self, allowed: u64, threads: usize) -> Result<()> {
        let needed = memory::estimate(&self.graph, &self.sized(), threads);
        if needed <= allowed {
            return Ok(());
        }
        Err(Error::Memory { needed_mib: needed >> 20, allowed_mib: allowed >> 20 })
    }

    /// Refuses a run that cannot fit into this machine, by far: one that might work goes ahead.
    /// Without an answer from the system every run does.
    ///
    /// # Errors
    /// [`Error::Machine`] with both numbers and the keys that decide.
    pub fn check_machine(&self) -> Result<()> {
        let Some(machine) = memory::machine() else { return Ok(()) };
        // The least that it can be: with one thread.
        let needed = memory::estimate(&self.graph, &self.sized(), 1);
        if needed <= memory::worth_a_try(machine) {
            return Ok(());
        }
        let keys = memory::deciding(&self.config);
        Err(Error::Machine { keys, needed_mib: needed >> 20, machine_mib: machine >> 20 })
    }

    /// The configuration with as many clients as there will be. A partition file that cannot be
    /// read is complained about later.
    fn sized(&self) -> Config {
        let mut config = self.config.clone();
        if config.partition.partitioner == "file" {
            let clients =
                config.seeds.iter().filter_map(|&seed| Some(self.partition(seed).ok()?.clients()));
            config.partition.clients = clients.max().unwrap_or(config.partition.clients);
        }
        config
    }

    /// Looks for what would stop a run, before anything is written: no labels, no split of the data
    /// though it is asked for, a minority class that does not exist, a partition file that does not
    /// fit, or no training node. Partitions are not drawn for this.
    ///
    /// # Errors
    /// Names what is missing.
    pub fn check_inputs(&self) -> Result<()> {
        if self.graph.labels().iter().all(|label| label.is_none()) {
            let advice = "Fill in the label of some nodes: training and judging need them.";
            return Err(Error::usage(
                self.graph.name(),
                "expected nodes with labels, found none",
                advice,
            ));
        }
        // Whether the classes of groups.minority exist does not depend on how many nodes they have.
        self.config
            .groups
            .minority
            .classes(&vec![1; self.graph.classes()], self.graph.labels().names())?;
        let trains = |split: &Split| split.nodes(Role::Train).next().is_some();
        let published = matches!(self.split_rule()?, SplitRule::Published);
        if self.config.partition.partitioner == "file" {
            for &seed in &self.config.seeds {
                if !trains(self.partition(seed)?.split()) {
                    return Err(boostfgl_fed::Error::NothingToTrain.into());
                }
            }
        } else if published {
            for &seed in &self.config.seeds {
                match self.graph.split_of_seed(seed) {
                    Some(split) if trains(split) => {}
                    Some(_) => return Err(boostfgl_fed::Error::NothingToTrain.into()),
                    None => {
                        let graph = self.graph.name().to_owned();
                        return Err(boostfgl_partition::Error::NoPublishedSplit { graph }.into());
                    }
                }
            }
        }
        Ok(())
    }

    /// Where the roles of nodes come from, unless a partition file brings them.
    pub(crate) fn split_rule(&self) -> Result<SplitRule> {
        // A graph that the library was given is its owner's, whatever dataset the configuration
        // names.
        let known = Data::known(&self.config.dataset)
            .is_some_and(|known| self.graph.name().starts_with(known));
        self.config.split.rule(&self.graph, !known)
    }

    /// Whether the partition file brings the split.
    pub(crate) fn splits_by_file(&self) -> bool {
        let section = &self.config.partition;
        let file = section.file.as_ref().filter(|_| section.partitioner == "file");
        file.is_some_and(|file| boostfgl_partition::file::has_split(file))
    }

    /// Divides the graph among clients for one seed.
    ///
    /// # Errors
    /// If the graph cannot be divided so.
    pub fn partition(&self, seed: u64) -> Result<Partition> {
        let section = &self.config.partition;
        let rule = self.split_rule()?;
        if section.partitioner == "file"
            && let Some(file) = &section.file
        {
            return Ok(Partition::from_file(file, &self.graph, &rule, seed)?);
        }
        Ok(Partition::draw(&self.graph, &section.partitioner()?, section.clients, &rule, seed)?)
    }

    pub(crate) fn settings(&self) -> Settings {
        let model = &self.config.boost.model;
        Settings { lambda_s: model.lambda_s, gamma: model.gamma, ..Settings::default() }
    }

    pub(crate) fn federation(&self, seed: u64, partition: &Partition) -> Result<Federation<f32>> {
        // Of the whole process: experiments with and without it do not run at the same time.
        if self.config.portable { Dense::Ordered } else { Dense::Fastest }.install();
        let method = self.config.method()?;
        let clients: Vec<ClientGraph> = match method.layout {
            Layout::Federated => partition.client_graphs(&self.graph),
            Layout::Whole => vec![partition.whole(&self.graph)],
        };
        let setup = Setup {
            seed,
            method,
            boosts: self.config.active_boosts()?,
            protocol: self.config.fed.clone(),
            model: self.config.model.clone(),
            optimizer: self.config.optimizer.clone(),
            boost: self.config.boost.clone(),
            methods: self.config.methods.clone(),
            screen: self.config.screen.clone(),
            aggregation: self.config.aggregation,
            attack: self.config.attack.clone(),
        };
        Ok(Federation::new(setup, clients.iter().map(LocalData::new).collect())?)
    }
}
