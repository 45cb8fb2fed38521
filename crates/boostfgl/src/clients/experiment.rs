//! One method on clients with graphs of their own, over several seeds.

use super::client_data::ClientData;
use super::files::ClientPredictions;
use super::seed::{self, Sides};
use super::trace::Scoring;
use super::{files, folders};
use crate::checkpoint::{CheckpointOptions, FinishedSeed};
use crate::config::{Checked, Config, HomophilyGraph};
use crate::experiment::{Progress, Refused, refusals};
use crate::memory::{self, DataSize};
use crate::run::seed::{Output, SeedTask};
use crate::run::trainable::{SeedResult, Sizes, Trainable};
use crate::run::{TrainedRun, announce, resume_in, run_in_memory, run_into};
use crate::{Error, Result};
use boostfgl_fairness::diagnostics::{Diagnosis, DiagnosticKind};
use boostfgl_fairness::protected::positive_class;
use boostfgl_fairness::protected::thresholds::ThresholdRule;
use boostfgl_fed::boost::Boost;
use boostfgl_fed::{Outcome, Setup};
use boostfgl_report::{Fingerprint, RunFolder, Summary};
use std::sync::Arc;

/// An experiment on clients that each have their own graph, ready to run.
///
/// It trains as a federation over several machines does: server and clients share settings and
/// messages. What only a simulation can do is refused: diagnostics, which look inside clients, the
/// method `central`, attacks, and homophily in the whole graph.
#[derive(Clone)]
pub struct ClientsExperiment {
    config: Checked<Config>,
    clients: Arc<Vec<ClientData>>,
    fingerprint: Arc<Fingerprint>,
    /// The names of the classes of all clients.
    classes: Arc<Vec<String>>,
}

/// The result of a run on clients with graphs of their own.
#[derive(Debug)]
pub struct ClientsRun {
    /// What stands in `summary.json`.
    pub summary: Summary,
    /// The seeds, in order.
    pub seeds: Vec<ClientsSeed>,
    /// What the user should know although nothing is lost.
    pub note: Option<String>,
}

/// The result of one seed.
#[derive(Debug)]
pub struct ClientsSeed {
    /// The seed.
    pub seed: u64,
    /// Models of the reported round, and the predictions of all clients one after the other.
    pub outcome: Outcome<f32>,
    /// The updates that were refused, and why.
    pub refused: Vec<Refused>,
}

impl ClientsRun {
    /// The refused updates in a sentence; `None` without any.
    pub fn refusals(&self) -> Option<String> {
        refusals(self.seeds.iter().map(|run| (run.seed, &run.refused[..])))
    }
}

impl ClientsExperiment {
    /// Reads the folders of `client_data`, and lets the clients enrol once, so that those that do
    /// not fit together are found before anything is written.
    ///
    /// # Errors
    /// If a setting makes sense in a simulation only, a folder cannot be read, or a client does not
    /// fit the others; the message names the client.
    pub fn new(config: Checked<Config>) -> Result<Self> {
        check_settings(&config)?;
        let scaling = config.data.features;
        let clients: Vec<ClientData> = folders::read(&config.client_data)?
            .into_iter()
            .map(|client| client.scaled(scaling))
            .collect();
        let fingerprint = Arc::new(files::fingerprint_of(&clients));
        let classes = Arc::new(Vec::new());
        let experiment = Self { config, clients: Arc::new(clients), fingerprint, classes };
        experiment.enrolled()
    }

    /// The same once its clients have joined, which shows the classes of all of them.
    fn enrolled(self) -> Result<Self> {
        let sides = Sides::join(&self, self.config.seeds[0])?;
        let classes = Arc::new(sides.classes().to_vec());
        let positive = self.config.evaluation.positive.as_deref();
        positive.map(|name| positive_class(name, &classes)).transpose()?;
        Ok(Self { classes, ..self })
    }

    /// The clients, in order.
    pub fn clients(&self) -> &[ClientData] {
        &self.clients
    }

    /// The names of the classes of all clients.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// The resolved configuration.
    pub fn config(&self) -> &Checked<Config> {
        &self.config
    }

    /// Another method and other boosts on the same clients, which enrol again.
    ///
    /// # Errors
    /// If the changed configuration is out of range, or makes sense in a simulation only.
    pub fn with_method(&self, method: &str, boosts: Option<Vec<Boost>>) -> Result<Self> {
        let config = self.config.clone().into_inner();
        let config = Config { method: method.to_owned(), boosts, ..config };
        Self { config: config.checked()?, ..self.clone() }.enrolled()
    }

    /// Refuses a run whose estimated need exceeds `allowed` bytes.
    ///
    /// # Errors
    /// [`Error::Memory`] with both numbers.
    pub fn check_memory(&self, allowed: u64, threads: usize) -> Result<()> {
        memory::check_limit(self.needed(threads), allowed)
    }

    /// Refuses a run that needs far more memory than this machine has.
    ///
    /// # Errors
    /// [`Error::Machine`] with both numbers and the keys that decide.
    pub fn check_machine(&self) -> Result<()> {
        memory::check_machine(self.needed(1), &self.sized())
    }

    fn needed(&self, threads: usize) -> u64 {
        let sizes = self.clients.iter().map(|client| DataSize::of(client.graph()));
        let all = sizes.fold(DataSize::default(), DataSize::plus);
        let all = DataSize { classes: self.classes.len(), ..all };
        memory::estimate_of(&all, &self.sized(), threads)
    }

    /// The configuration with the actual number of clients.
    fn sized(&self) -> Config {
        let mut config = self.config.clone().into_inner();
        config.partition.clients = self.clients.len();
        config
    }

    /// Runs every seed in memory.
    ///
    /// # Errors
    /// If training fails.
    pub fn run(&self) -> Result<ClientsRun> {
        run_in_memory(self, &mut ()).map(ClientsRun::from)
    }

    /// Runs every seed into a folder, with checkpoints.
    ///
    /// # Errors
    /// If the folder cannot be written, training fails, or [`Error::Stopped`] if it was asked to
    /// stop.
    pub fn run_with_checkpoints(
        &self,
        progress: &mut dyn Progress,
        folder: &RunFolder,
        options: CheckpointOptions<'_>,
    ) -> Result<ClientsRun> {
        run_into(self, progress, folder, options).map(ClientsRun::from)
    }

    /// Prepares a folder for a run that starts later.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn announce(&self, folder: &RunFolder) -> Result<()> {
        announce(self, folder)
    }

    /// Continues the run in a folder where it was stopped, to the same digits.
    ///
    /// # Errors
    /// As [`ClientsExperiment::run_with_checkpoints`], and if configuration, data or program are
    /// not those that the run was begun with.
    pub fn resume(
        &self,
        progress: &mut dyn Progress,
        folder: &RunFolder,
        options: CheckpointOptions<'_>,
    ) -> Result<ClientsRun> {
        resume_in(self, progress, folder, options).map(ClientsRun::from)
    }

    /// What both sides are made from.
    pub(super) fn setup(&self, seed: u64) -> Result<Setup> {
        let threshold = self.config.groups.homophily_threshold;
        let evaluation = format!("local homophily of at most {threshold}");
        Ok(Setup { evaluation, ..self.config.setup(seed)? })
    }

    /// What the server evaluates with, from what clients said when they joined.
    pub(super) fn scoring(&self, sides: &Sides) -> Result<Scoring> {
        let (classes, enrolled) = (sides.classes().to_vec(), sides.enrolled().to_vec());
        let mut training_counts = vec![0; classes.len()];
        for client in &enrolled {
            let counts = training_counts.iter_mut().zip(&client.group_counts);
            counts.for_each(|(sum, &count)| *sum += count as usize);
        }
        let minority = self.config.groups.minority.classes(&training_counts, &classes)?;
        Ok(Scoring { classes, enrolled, training_counts, minority })
    }
}

/// Refuses settings that make sense in a simulation only.
fn check_settings(config: &Config) -> Result<()> {
    if config.groups.homophily_graph == HomophilyGraph::Global {
        let reason = "expected local with clients that have their own graphs, found global: no \
            side knows the neighbours that a node has in the whole graph";
        let advice = "Leave the key out, or simulate: `boostfgl run DATA`.";
        return Err(Error::usage("groups.homophily_graph", reason, advice));
    }
    if config.evaluation.thresholds != ThresholdRule::None {
        let reason = "expected none with clients that have their own graphs, found a rule: \
            thresholds need the probabilities of all nodes, which stay with the clients";
        let advice = "Leave the key out, or simulate: `boostfgl run DATA`.";
        return Err(Error::usage("evaluation.thresholds", reason, advice));
    }
    Ok(())
}

impl From<TrainedRun<ClientsSeed>> for ClientsRun {
    fn from(run: TrainedRun<ClientsSeed>) -> Self {
        let TrainedRun { summary, seeds, note } = run;
        Self { summary, seeds, note }
    }
}

impl SeedResult for ClientsSeed {
    fn outcome(&self) -> &Outcome<f32> {
        &self.outcome
    }

    fn diagnosis(&self) -> Option<&Diagnosis> {
        None
    }

    fn refused(&self) -> &[Refused] {
        &self.refused
    }

    /// No side has all predictions: the seed has a digest of the federation only.
    fn digest(&self) -> &str {
        ""
    }
}

impl Trainable for ClientsExperiment {
    type Seed = ClientsSeed;
    type Predictions = ClientPredictions;

    fn config(&self) -> &Checked<Config> {
        &self.config
    }

    fn dataset(&self) -> &str {
        &self.config.dataset
    }

    fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    fn diagnostics(&self) -> &[DiagnosticKind] {
        &[]
    }

    fn sizes(&self) -> Sizes {
        Sizes {
            nodes: self.clients.iter().map(|client| client.graph().len()).sum(),
            features: self.clients.first().map_or(0, |client| client.graph().width()),
            classes: self.classes.len(),
        }
    }

    /// Checked when the clients enrolled, with every change of the method.
    fn check_inputs(&self) -> Result<()> {
        Ok(())
    }

    fn train_seed(
        &self,
        task: SeedTask,
        output: Output<'_, '_, Self>,
    ) -> Result<FinishedSeed<ClientsSeed>> {
        seed::train(self, task, output)
    }

    fn restore_seed(
        &self,
        seed: u64,
        outcome: Outcome<f32>,
        _diagnosis: Option<Diagnosis>,
        refused: Vec<Refused>,
    ) -> Result<ClientsSeed> {
        Ok(ClientsSeed { seed, outcome, refused })
    }

    fn start_predictions(&self, folder: &RunFolder) -> Result<ClientPredictions> {
        ClientPredictions::start(self, folder)
    }

    fn write_predictions(&self, files: &mut ClientPredictions, seed: &ClientsSeed) -> Result<()> {
        files.write(self, seed)
    }

    fn finish_predictions(files: ClientPredictions) -> Result<()> {
        files.finish()
    }

    fn write_results(&self, folder: &RunFolder, seeds: &[ClientsSeed]) -> Result<()> {
        files::write_models(self, folder, seeds)
    }
}
