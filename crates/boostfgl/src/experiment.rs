//! One method on one dataset over several seeds.

use crate::builder::ExperimentBuilder;
use crate::config::{Assignment, Checked, Config, DataSection};
use crate::run::audit;
use crate::{Data, Error, Result, fingerprint, memory};
use boostfgl_fairness::Evaluation;
use boostfgl_fairness::diagnostics::{Diagnosis, DiagnosticKind, Settings};
use boostfgl_fed::boost::Boost;
use boostfgl_fed::methods::Layout;
use boostfgl_fed::{ClientName, Federation, LocalData, Outcome, RoundRecord};
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
    config: Checked<Config>,
    graph: Arc<Graph>,
    homophily: Arc<Vec<Option<f64>>>,
    fingerprint: Arc<Fingerprint>,
    diagnostics: Vec<DiagnosticKind>,
}

/// Receives the progress of a run.
pub trait Progress {
    /// A seed begins.
    fn seed(&mut self, _index: usize, _of: usize, _seed: u64) {}
    /// The graph is being divided for a seed; a share of that is done.
    fn dividing(&mut self, _seed: u64, _share: f64) {}
    /// The graph is divided for the seed: the client and role of each node, and its groups.
    fn divided(&mut self, _seed: u64, _partition: &Arc<Partition>, _groups: &Groups) {}
    /// Before the first round of a method that prepares: `done` of `of` steps are over.
    fn preparing(&mut self, _done: usize, _of: usize) {}
    /// Something that the user should know although the run continues.
    fn note(&mut self, _text: &str) {}
    /// A round has ended.
    fn round(&mut self, _record: &RoundRecord<'_>, _evaluation: Option<&Evaluation>) {}
}

impl Progress for () {}

/// The result of a run.
#[derive(Debug)]
pub struct Run {
    /// What stands in `summary.json`.
    pub summary: Summary,
    /// The seeds, in order.
    pub seeds: Vec<SeedRun>,
    /// What the user should know although nothing is lost, such as a report that was not written.
    pub note: Option<String>,
}

/// The result of one seed.
#[derive(Debug)]
pub struct SeedRun {
    /// The seed.
    pub seed: u64,
    /// The client and the role of each node.
    pub partition: Arc<Partition>,
    /// Minority and heterophilous nodes.
    pub groups: Groups,
    /// Models and predictions of the reported round.
    pub outcome: Outcome<f32>,
    /// How well it works for each group and client.
    pub evaluation: Evaluation,
    /// BLAKE3 of parameters and predictions.
    pub digest: String,
    /// What diagnostics found, if any watched.
    pub diagnosis: Option<Diagnosis>,
    /// The updates that were refused, and why.
    pub refused: Vec<Refused>,
}

/// An update that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// In which round, from 1.
    pub round: usize,
    /// Whose it was, and why.
    #[serde(flatten)]
    pub update: RoundRefusal,
}

impl Run {
    /// The refused updates in a sentence: how many of which clients, and the first of them; `None`
    /// without any.
    pub fn refusals(&self) -> Option<String> {
        refusals(self.seeds.iter().map(|run| (run.seed, &run.refused[..])))
    }
}

/// The refused updates of these seeds in a sentence; `None` without any.
pub(crate) fn refusals<'a>(
    seeds: impl Iterator<Item = (u64, &'a [Refused])> + Clone,
) -> Option<String> {
    let refused =
        seeds.flat_map(|(seed, refused)| refused.iter().map(move |refusal| (seed, refusal)));
    let (seed, first) = refused.clone().next()?;
    let mut clients: BTreeMap<usize, (ClientName, usize)> = BTreeMap::new();
    for (_, refusal) in refused.clone() {
        let name = refusal.update.called();
        clients.entry(name.number).or_insert((name, 0)).1 += 1;
    }
    let each: Vec<String> =
        clients.values().map(|(client, count)| format!("{client}: {count}")).collect();
    let (all, each) = (refused.count(), each.join(", "));
    let updates = if all == 1 { "update was" } else { "updates were" };
    let (round, client, text) = (first.round, first.update.called(), &first.update.text);
    Some(format!(
        "{all} {updates} refused ({each}); the first, seed {seed}, {client}, round {round}: {text}"
    ))
}

impl Experiment {
    /// Begins an experiment on a dataset by name, as on the command line.
    pub fn on(dataset: &str) -> ExperimentBuilder {
        ExperimentBuilder::on(dataset)
    }

    /// An experiment on a graph at hand. Features are scaled as the configuration says.
    ///
    /// # Errors
    /// If the configuration asks for more clients than there are nodes.
    pub fn new(config: Checked<Config>, graph: Graph) -> Result<Self> {
        config.check_one_graph()?;
        let config = config.resolved(&graph)?;
        if config.partition.file().is_none() && config.partition.clients > graph.len() {
            let (clients, nodes) = (config.partition.clients, graph.len());
            return Err(boostfgl_partition::Error::TooManyClients { clients, nodes }.into());
        }
        let fingerprint = Arc::new(fingerprint::of(&graph));
        let graph = graph.scaled(config.data.features);
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
    /// If the configuration scales features in another way.
    pub fn with_config(&self, config: Checked<Config>) -> Result<Self> {
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

    /// The same data under other values of some keys. Features may be scaled in another way if they
    /// are as published so far.
    ///
    /// # Errors
    /// If a value has the wrong type or is out of range, or the features were scaled already.
    pub fn with_settings(&self, settings: &[Assignment]) -> Result<Self> {
        let config = self.config.with(settings)?;
        if config.data == self.config.data || self.config.data != DataSection::default() {
            return self.with_config(config);
        }
        let graph = Arc::new(self.graph().clone().scaled(config.data.features));
        Ok(Self { graph, ..self.sharing(config) })
    }

    fn sharing(&self, config: Checked<Config>) -> Self {
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
        let unchanged = method == self.config.method && boosts == self.config.boosts;
        if unchanged {
            return Ok(self.clone());
        }
        let config = self.config.clone().into_inner();
        let config = Config { method: method.to_owned(), boosts, ..config };
        Ok(self.sharing(config.checked()?))
    }

    /// The resolved configuration.
    pub fn config(&self) -> &Checked<Config> {
        &self.config
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The fingerprint of the data as they were read.
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
        memory::check_limit(memory::estimate(&self.graph, &self.sized(), threads), allowed)
    }

    /// Refuses a run that needs far more memory than this machine has. One that might work is
    /// allowed, and every run is where the system does not report its memory.
    ///
    /// # Errors
    /// [`Error::Machine`] with both numbers and the keys that decide.
    pub fn check_machine(&self) -> Result<()> {
        // With one thread the estimate is lowest.
        memory::check_machine(memory::estimate(&self.graph, &self.sized(), 1), &self.config)
    }

    /// The configuration with the actual number of clients. A partition file that cannot be read is
    /// reported later.
    fn sized(&self) -> Config {
        let mut config = self.config.clone().into_inner();
        if config.partition.file().is_some() {
            let clients =
                config.seeds.iter().filter_map(|&seed| Some(self.partition(seed).ok()?.clients()));
            config.partition.clients = clients.max().unwrap_or(config.partition.clients);
        }
        config
    }

    /// Checks the data before anything is written: there are labels and training nodes, the data
    /// have a split if it is asked for, minority classes exist, and a partition file fits.
    /// Partitions are not drawn for this.
    ///
    /// # Errors
    /// Names what is missing.
    pub fn check_inputs(&self) -> Result<()> {
        if self.graph.labels().iter().all(|label| label.is_none()) {
            let advice = "Fill in the label of some nodes: training and evaluation need them.";
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
        audit::check(&self.config.evaluation, &self.graph)?;
        let published = matches!(self.split_rule()?, SplitRule::Published);
        if self.config.partition.file().is_some() {
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

    /// The source of the roles of nodes, unless a partition file has them.
    pub(crate) fn split_rule(&self) -> Result<SplitRule> {
        // A graph passed to the library is the user's own, even if a dataset is configured.
        let known = Data::known(&self.config.dataset)
            .is_some_and(|known| self.graph.name().starts_with(known));
        self.config.split.rule(&self.graph, !known)
    }

    /// Whether the partition file has the split.
    pub(crate) fn splits_by_file(&self) -> bool {
        self.config.partition.file().is_some_and(boostfgl_partition::file::has_split)
    }

    /// Divides the graph among clients for one seed.
    ///
    /// # Errors
    /// If the graph cannot be divided so.
    pub fn partition(&self, seed: u64) -> Result<Partition> {
        self.partition_watched(seed, &mut |_| {})
    }

    /// Like [`Experiment::partition`]; `progress` is called with the share that is done.
    ///
    /// # Errors
    /// As [`Experiment::partition`].
    pub fn partition_watched(&self, seed: u64, progress: &mut dyn FnMut(f64)) -> Result<Partition> {
        let (config, rule) = (&self.config.partition, self.split_rule()?);
        Ok(config.draw_watched(&self.graph, &rule, seed, progress)?)
    }

    pub(crate) fn settings(&self) -> Settings {
        let model = &self.config.boost.model;
        Settings { lambda_s: model.lambda_s, gamma: model.gamma, ..Settings::default() }
    }

    pub(crate) fn federation(&self, seed: u64, partition: &Partition) -> Result<Federation<f32>> {
        // This setting is global: experiments with and without it do not run at the same time.
        if self.config.portable { Dense::Ordered } else { Dense::Fastest }.install();
        let clients: Vec<ClientGraph> = match self.config.method()?.layout {
            Layout::Federated => partition.client_graphs(&self.graph),
            Layout::Whole => vec![partition.whole(&self.graph)],
        };
        let setup = self.config.setup(seed)?;
        Ok(Federation::new(setup, clients.iter().map(LocalData::new).collect())?)
    }
}

/// Whether a split has a training node.
fn trains(split: &Split) -> bool {
    split.nodes(Role::Train).next().is_some()
}
