//! One method on one dataset over several seeds.

use crate::config::{Config, HomophilyGraph, Layers};
use crate::data::Data;
use crate::process::{self, Meter};
use crate::record::Recorder;
use crate::{Error, Result, memory};
use boostfgl_fairness::{Evaluation, Question};
use boostfgl_fed::boost::Boost;
use boostfgl_fed::methods::Layout;
use boostfgl_fed::{Federation, LocalData, Observer, Outcome, RoundRecord, Setup};
use boostfgl_graph::catalogue::Lookup;
use boostfgl_graph::groups::{Groups, minority_classes, node_homophily};
use boostfgl_graph::{Graph, Role, Split};
use boostfgl_partition::{ClientGraph, Partition, SplitRule};
use boostfgl_report::{RunTotals, SeedSummary, Summary};
use std::path::Path;
use std::sync::Arc;

/// An experiment that is ready to run: a checked configuration and its graph.
pub struct Experiment {
    config: Config,
    graph: Arc<Graph>,
    homophily: Arc<Vec<Option<f64>>>,
}

/// Somebody who is told how a run goes on.
pub trait Progress {
    /// A seed begins.
    fn seed(&mut self, _index: usize, _of: usize, _seed: u64) {}
    /// Before the first round of a method that prepares: `done` of `of` steps are over.
    fn preparing(&mut self, _done: usize, _of: usize) {}
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
}

impl Experiment {
    /// Begins an experiment on a dataset by name, as on the command line.
    pub fn on(dataset: &str) -> ExperimentBuilder {
        ExperimentBuilder { layers: Layers::new(), failed: None }.set("dataset", dataset)
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
        let graph = graph.scaled(config.data.features.into());
        let homophily = Arc::new(node_homophily(&graph));
        Ok(Self { config, graph: Arc::new(graph), homophily })
    }

    /// Another method and other boosts on the same data.
    ///
    /// # Errors
    /// If the changed configuration is out of range.
    pub fn with_method(&self, method: &str, boosts: Option<Vec<Boost>>) -> Result<Self> {
        let config = Config { method: method.to_owned(), boosts, ..self.config.clone() };
        config.check()?;
        Ok(Self { config, graph: Arc::clone(&self.graph), homophily: Arc::clone(&self.homophily) })
    }

    /// The resolved configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Refuses a run whose estimated need exceeds `allowed` bytes.
    ///
    /// # Errors
    /// [`Error::Memory`] with both numbers.
    pub fn check_memory(&self, allowed: u64, threads: usize) -> Result<()> {
        let needed = memory::estimate(&self.graph, &self.config, threads);
        if needed <= allowed {
            return Ok(());
        }
        Err(Error::Memory { needed_mib: needed >> 20, allowed_mib: allowed >> 20 })
    }

    /// Looks for what would stop a run, before anything is written: no labels, no published split though it is asked
    /// for, a partition file that does not fit, or no training node. Partitions are not drawn for this.
    ///
    /// # Errors
    /// Names what is missing.
    pub fn check_inputs(&self) -> Result<()> {
        if self.graph.labels().iter().all(|label| label.is_none()) {
            let advice = "Fill in the label of some nodes: training and judging need them.";
            return Err(Error::usage(self.graph.name(), "expected nodes with labels, found none", advice));
        }
        let trains = |split: &Split| split.nodes(Role::Train).next().is_some();
        let published = matches!(self.config.split.rule()?, SplitRule::Published);
        if self.config.partition.partitioner == "file" {
            for &seed in &self.config.seeds {
                if !trains(self.partition(seed)?.split()) {
                    return Err(boostfgl_fed::Error::NothingToTrain.into());
                }
            }
        } else if published {
            match self.graph.split() {
                Some(split) if trains(split) => {}
                Some(_) => return Err(boostfgl_fed::Error::NothingToTrain.into()),
                None => {
                    let graph = self.graph.name().to_owned();
                    return Err(boostfgl_partition::Error::NoPublishedSplit { graph }.into());
                }
            }
        }
        Ok(())
    }

    /// Divides the graph among clients for one seed.
    ///
    /// # Errors
    /// If the graph cannot be divided so.
    pub fn partition(&self, seed: u64) -> Result<Partition> {
        let section = &self.config.partition;
        let rule = self.config.split.rule()?;
        if section.partitioner == "file"
            && let Some(file) = &section.file
        {
            return Ok(Partition::from_file(file, &self.graph, &rule, seed)?);
        }
        Ok(Partition::draw(&self.graph, &section.partitioner()?, section.clients, &rule, seed)?)
    }

    /// Runs every seed in memory.
    ///
    /// # Errors
    /// If the graph cannot be divided, or training fails.
    pub fn run(&self) -> Result<Run> {
        self.run_watched(&mut (), None)
    }

    /// Runs every seed, telling `progress`, and writes the run folder if one is given.
    ///
    /// # Errors
    /// If the folder cannot be written, the graph cannot be divided, or training fails.
    pub fn run_watched(&self, progress: &mut dyn Progress, folder: Option<&boostfgl_report::RunFolder>) -> Result<Run> {
        self.check_inputs()?;
        let meter = Meter::start();
        process::reset_peak_rss();
        let mut recorder = folder.map(|folder| Recorder::start(folder, self)).transpose()?;
        let done = self.run_seeds(&meter, progress, recorder.as_mut());
        match (done, recorder) {
            (Ok(run), Some(recorder)) => recorder.finish(&run.summary).map(|()| run),
            (Err(error), Some(recorder)) => {
                recorder.abandon();
                Err(error)
            }
            (done, None) => done,
        }
    }

    fn run_seeds(
        &self,
        meter: &Meter,
        progress: &mut dyn Progress,
        mut recorder: Option<&mut Recorder<'_>>,
    ) -> Result<Run> {
        let (mut seeds, mut summaries, mut train_cpu) = (Vec::new(), Vec::new(), 0.0);
        for (index, &seed) in self.config.seeds.iter().enumerate() {
            progress.seed(index, self.config.seeds.len(), seed);
            let (run, summary, cpu) = self.run_recorded(seed, progress, recorder.as_deref_mut())?;
            train_cpu += cpu;
            if let Some(recorder) = &mut recorder {
                recorder.seed(self, &run)?;
            }
            summaries.push(summary);
            seeds.push(run);
        }
        let boosts = self.config.active_boosts()?.iter().map(|b| b.name().to_owned()).collect();
        let mut digest = blake3::Hasher::new();
        seeds.iter().for_each(|s| {
            digest.update(s.digest.as_bytes());
        });
        if let Some(recorder) = &mut recorder {
            recorder.models(self, &seeds)?;
        }
        let totals = RunTotals {
            cpu_seconds: meter.cpu(),
            train_cpu_seconds: train_cpu,
            wall_seconds: meter.wall(),
            peak_rss_mib: process::peak_rss_mib(),
            digest: digest.finalize().to_hex().to_string(),
        };
        let summary = Summary::new(&self.config.method, boosts, self.graph.name(), summaries, totals);
        Ok(Run { summary, seeds })
    }

    /// Runs one seed on a partition at hand, telling `watch` of every round: for several methods that share it.
    ///
    /// With the partition that [`Experiment::partition`] draws for the seed, scores and digest are those of
    /// [`Experiment::run`].
    ///
    /// # Errors
    /// If the partition is of another graph, or training fails.
    pub fn run_seed(
        &self,
        seed: u64,
        partition: &Arc<Partition>,
        watch: &mut dyn FnMut(&RoundRecord<'_>),
    ) -> Result<(SeedRun, SeedSummary)> {
        if partition.len() != self.graph.len() {
            let reason = format!("expected a partition of {} nodes, found {}", self.graph.len(), partition.len());
            return Err(Error::usage(self.graph.name(), reason, "Draw the partition from the same graph."));
        }
        let (run, summary, _) = self.train(seed, Arc::clone(partition), &Meter::start(), &mut Watched(watch))?;
        Ok((run, summary))
    }

    fn run_recorded(
        &self,
        seed: u64,
        progress: &mut dyn Progress,
        recorder: Option<&mut Recorder<'_>>,
    ) -> Result<(SeedRun, SeedSummary, f64)> {
        let meter = Meter::start();
        let partition = Arc::new(self.partition(seed)?);
        self.train(seed, partition, &meter, &mut Recorded { seed, progress, recorder })
    }

    /// All rounds of one seed. Returns also the processor seconds of the rounds.
    fn train(
        &self,
        seed: u64,
        partition: Arc<Partition>,
        meter: &Meter,
        listener: &mut dyn Listener,
    ) -> Result<(SeedRun, SeedSummary, f64)> {
        let judge = Judge::new(self, &partition)?;
        let federation = self.federation(seed, &partition)?;
        let training = Meter::start();
        let mut told = Told { judge: &judge, listener, failed: None };
        let outcome = federation.run(&mut [&mut told])?;
        let train_cpu = training.cpu();
        if let Some(error) = told.failed {
            return Err(error);
        }
        let evaluation = judge.evaluate(&outcome.predictions)?;
        let groups = judge.groups;
        let digest = digest(&outcome);
        let summary = SeedSummary {
            seed,
            scores: boostfgl_fairness::Percent(evaluation.scores.percent().0),
            groups: evaluation.groups.sizes(),
            round: outcome.round,
            seconds: meter.wall(),
            cpu_seconds: meter.cpu(),
            bytes_up: outcome.bytes_up,
            bytes_down: outcome.bytes_down,
            digest: digest.clone(),
        };
        Ok((SeedRun { seed, partition, groups, outcome, evaluation, digest }, summary, train_cpu))
    }

    fn federation(&self, seed: u64, partition: &Partition) -> Result<Federation<f32>> {
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
            minority_ratio: self.config.groups.minority_ratio,
        };
        Ok(Federation::new(setup, clients.iter().map(LocalData::new).collect())?)
    }
}

/// Who hears of the rounds of one seed.
trait Listener {
    fn preparing(&mut self, _done: usize, _of: usize) {}
    fn round(&mut self, judge: &Judge<'_>, record: &RoundRecord<'_>) -> Result<()>;
}

/// Somebody who looks at rounds as they are.
struct Watched<'a>(&'a mut dyn FnMut(&RoundRecord<'_>));

impl Listener for Watched<'_> {
    fn round(&mut self, _: &Judge<'_>, record: &RoundRecord<'_>) -> Result<()> {
        (self.0)(record);
        Ok(())
    }
}

/// Progress, and the run folder if there is one.
struct Recorded<'a, 'r> {
    seed: u64,
    progress: &'a mut dyn Progress,
    recorder: Option<&'a mut Recorder<'r>>,
}

impl Listener for Recorded<'_, '_> {
    fn preparing(&mut self, done: usize, of: usize) {
        self.progress.preparing(done, of);
    }

    fn round(&mut self, judge: &Judge<'_>, record: &RoundRecord<'_>) -> Result<()> {
        let evaluation = record.predictions.map(|p| judge.evaluate(p)).transpose()?;
        self.progress.round(record, evaluation.as_ref());
        match &mut self.recorder {
            Some(recorder) => recorder.round(self.seed, record, evaluation.as_ref()),
            None => Ok(()),
        }
    }
}

/// A federation's observer that passes everything on and keeps the first failure.
struct Told<'a> {
    judge: &'a Judge<'a>,
    listener: &'a mut dyn Listener,
    failed: Option<Error>,
}

impl Observer<f32> for Told<'_> {
    fn preparing(&mut self, done: usize, of: usize) {
        self.listener.preparing(done, of);
    }

    fn round(&mut self, record: &RoundRecord<'_>) {
        let told = self.listener.round(self.judge, record);
        self.failed = self.failed.take().or(told.err());
    }
}

/// Judges predictions under one partition.
struct Judge<'a> {
    graph: &'a Graph,
    partition: &'a Partition,
    client_sizes: Vec<usize>,
    test: Vec<u32>,
    groups: Groups,
}

impl<'a> Judge<'a> {
    fn new(experiment: &'a Experiment, partition: &'a Partition) -> Result<Self> {
        let (graph, section) = (&experiment.graph, &experiment.config.groups);
        let counts = graph.labels().counts(partition.split().nodes(Role::Train));
        let minority = minority_classes(&counts, section.minority_ratio);
        let homophily = match section.homophily_graph {
            HomophilyGraph::Global => experiment.homophily.to_vec(),
            HomophilyGraph::Local => local_homophily(graph, partition),
        };
        let mut client_sizes = vec![0; partition.clients()];
        partition.assignment().iter().for_each(|&k| client_sizes[k as usize] += 1);
        Ok(Self {
            graph,
            partition,
            client_sizes,
            test: partition.split().nodes(Role::Test).map(|v| v as u32).collect(),
            groups: Groups::new(&homophily, graph.labels(), &minority, section.homophily_threshold)?,
        })
    }

    fn evaluate(&self, predictions: &[u32]) -> Result<Evaluation> {
        let question = Question {
            truth: self.graph.labels(),
            prediction: predictions,
            nodes: &self.test,
            client: self.partition.assignment(),
            client_sizes: &self.client_sizes,
            minority: &self.groups.minority,
            heterophilous: &self.groups.heterophilous,
        };
        Ok(question.evaluate()?)
    }
}

/// φ of every node among the neighbours it has inside its client.
fn local_homophily(graph: &Graph, partition: &Partition) -> Vec<Option<f64>> {
    let mut all = vec![None; graph.len()];
    for client in partition.client_graphs(graph) {
        for (&v, phi) in client.nodes.iter().zip(node_homophily(&client.graph)) {
            all[v as usize] = phi;
        }
    }
    all
}

/// BLAKE3 of parameters and predictions.
fn digest(outcome: &Outcome<f32>) -> String {
    let mut hasher = blake3::Hasher::new();
    for model in &outcome.models {
        model.feed(|bytes| {
            hasher.update(bytes);
        });
    }
    for class in &outcome.predictions {
        hasher.update(&class.to_le_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// Collects settings; mistakes are reported when the experiment is built.
pub struct ExperimentBuilder {
    layers: Layers,
    failed: Option<Error>,
}

impl ExperimentBuilder {
    /// Sets any key of the configuration, such as `fed.rounds` or just `rounds`.
    #[must_use]
    pub fn set(mut self, key: &str, value: impl Into<SettingValue>) -> Self {
        let SettingValue(value) = value.into();
        if let Err(error) = self.layers.set(key, value, key) {
            self.failed = self.failed.or(Some(error));
        }
        self
    }

    /// Sets the method.
    #[must_use]
    pub fn method(self, name: &str) -> Self {
        self.set("method", name)
    }

    /// Sets the number of clients.
    #[must_use]
    pub fn clients(self, clients: usize) -> Self {
        self.set("partition.clients", clients)
    }

    /// Sets the seeds.
    #[must_use]
    pub fn seeds(self, seeds: impl IntoIterator<Item = u64>) -> Self {
        let seeds = seeds.into_iter().map(|s| toml::Value::Integer(s as i64)).collect();
        self.set("seeds", SettingValue(toml::Value::Array(seeds)))
    }

    /// Reads a configuration file, under what is set after it.
    #[must_use]
    pub fn config(mut self, path: &Path) -> Self {
        if let Err(error) = self.layers.file(path) {
            self.failed = self.failed.or(Some(error));
        }
        self
    }

    /// Checks the settings and loads the data from where the environment says they are.
    ///
    /// # Errors
    /// The first mistake in the settings, or what is wrong with the data.
    pub fn build(self) -> Result<Experiment> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let (config, _) = self.layers.resolve()?;
        let data = Data::named(&config.dataset)?;
        let graph = data.load(&Lookup::from_env(None), None, &mut |_, _| {})?;
        Experiment::new(config, graph)
    }

    /// [`ExperimentBuilder::build`] and [`Experiment::run`].
    ///
    /// # Errors
    /// As those.
    pub fn run(self) -> Result<Run> {
        self.build()?.run()
    }
}

/// A value of a setting.
pub struct SettingValue(toml::Value);

macro_rules! setting_values {
    ($($kind:ty => $convert:expr),* $(,)?) => {
        $(impl From<$kind> for SettingValue {
            fn from(value: $kind) -> Self {
                let convert: fn($kind) -> toml::Value = $convert;
                Self(convert(value))
            }
        })*
    };
}

setting_values! {
    &str => |v| toml::Value::String(v.to_owned()),
    f64 => toml::Value::Float,
    i32 => |v| toml::Value::Integer(v.into()),
    usize => |v| toml::Value::Integer(v as i64),
    bool => toml::Value::Boolean,
}
