//! One seed of a simulation: the graph is divided, and server and clients are driven in one process,
//! which sees the predictions of all nodes.

use super::evaluator::Evaluator;
use super::observer::SeedObserver;
use super::seed::{Output, Scored, SeedClock, SeedTask};
use super::simulation_files::{self, SimulationPredictions};
use super::trainable::{SeedResult, Sizes, Trainable};
use super::{TrainedRun, announce, resume_in, run_in_memory, run_into};
use crate::checkpoint::{
    CheckpointOptions, FinishedSeed, RecordedRounds, TimeSpent, UnfinishedSeed, check_all_read,
};
use crate::config::{Checked, Config};
use crate::details::details;
use crate::experiment::{Experiment, Progress, Refused, Run, SeedRun};
use crate::process::Meter;
use crate::{Error, Result};
use boostfgl_fairness::diagnostics::{Diagnosis, DiagnosticKind, Diagnostician};
use boostfgl_fed::{Federation, Outcome, Training};
use boostfgl_nn::StateVisitor;
use boostfgl_partition::Partition;
use boostfgl_report::{Fingerprint, RunFolder, SeedSummary};
use std::sync::Arc;

impl From<TrainedRun<SeedRun>> for Run {
    fn from(run: TrainedRun<SeedRun>) -> Self {
        let TrainedRun { summary, seeds, note } = run;
        Self { summary, seeds, note }
    }
}

impl Experiment {
    /// Runs every seed in memory.
    ///
    /// # Errors
    /// If the graph cannot be divided, or training fails.
    pub fn run(&self) -> Result<Run> {
        self.run_watched(&mut (), None)
    }

    /// Runs every seed, reports to `progress`, and writes the run folder if one is given. The state
    /// of a run with a folder is saved regularly, so that [`Experiment::resume`] can continue it
    /// after a crash.
    ///
    /// # Errors
    /// If the folder cannot be written, the graph cannot be divided, or training fails.
    pub fn run_watched(
        &self,
        progress: &mut dyn Progress,
        folder: Option<&RunFolder>,
    ) -> Result<Run> {
        match folder {
            Some(folder) => {
                self.run_with_checkpoints(progress, folder, CheckpointOptions::default())
            }
            None => run_in_memory(self, progress).map(Run::from),
        }
    }

    /// Like [`Experiment::run_watched`], with options for how often the state is saved and how the
    /// run is stopped.
    ///
    /// # Errors
    /// As [`Experiment::run_watched`], and [`Error::Stopped`] if it was asked to stop.
    pub fn run_with_checkpoints(
        &self,
        progress: &mut dyn Progress,
        folder: &RunFolder,
        options: CheckpointOptions<'_>,
    ) -> Result<Run> {
        run_into(self, progress, folder, options).map(Run::from)
    }

    /// Prepares a folder for a run that starts later, so that [`Experiment::resume`] can run it
    /// from the beginning.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn announce(&self, folder: &RunFolder) -> Result<()> {
        announce(self, folder)
    }

    /// Continues the run in a folder where it was stopped. The results are bit for bit those of a
    /// run that was not stopped. A run without a saved state starts from the beginning.
    ///
    /// # Errors
    /// As [`Experiment::run_with_checkpoints`], and if configuration, data or program are not those
    /// that the run was begun with, or another process works on it.
    pub fn resume(
        &self,
        progress: &mut dyn Progress,
        folder: &RunFolder,
        options: CheckpointOptions<'_>,
    ) -> Result<Run> {
        resume_in(self, progress, folder, options).map(Run::from)
    }

    /// Runs one seed on a given partition and reports every round to `progress`: for several
    /// methods that share the partition.
    ///
    /// With the partition that [`Experiment::partition`] draws for the seed, scores and digest are
    /// those of [`Experiment::run`].
    ///
    /// # Errors
    /// If the partition is of another graph, or training fails.
    pub fn run_seed(
        &self,
        seed: u64,
        partition: &Arc<Partition>,
        progress: &mut dyn Progress,
    ) -> Result<(SeedRun, SeedSummary)> {
        let (expected, found) = (self.graph().len(), partition.len());
        if found != expected {
            let reason = format!("expected a partition of {expected} nodes, found {found}");
            let advice = "Draw the partition from the same graph.";
            return Err(Error::usage(self.graph().name(), reason, advice));
        }
        let partition = Arc::clone(partition);
        let task = SeedTask { seed, meter: Meter::start(), unfinished: None };
        let seed =
            train_seed(self, partition, task, Output { progress, files: None, finished: &[] })?;
        Ok((seed.run, seed.summary))
    }

    /// The results of a seed that was finished before, evaluated again from its stored outcome.
    pub(crate) fn reevaluate(
        &self,
        seed: u64,
        outcome: Outcome<f32>,
        diagnosis: Option<Diagnosis>,
        refused: Vec<Refused>,
    ) -> Result<SeedRun> {
        let partition = Arc::new(self.partition(seed)?);
        let evaluator = Evaluator::new(self, &partition)?;
        let evaluation = evaluator.evaluate(&outcome.predictions)?;
        let (groups, digest) = (evaluator.groups, digest(&outcome));
        Ok(SeedRun { seed, partition, groups, outcome, evaluation, digest, diagnosis, refused })
    }
}

impl SeedResult for SeedRun {
    fn outcome(&self) -> &Outcome<f32> {
        &self.outcome
    }

    fn diagnosis(&self) -> Option<&Diagnosis> {
        self.diagnosis.as_ref()
    }

    fn refused(&self) -> &[Refused] {
        &self.refused
    }

    fn digest(&self) -> &str {
        &self.digest
    }
}

impl Trainable for Experiment {
    type Seed = SeedRun;
    type Predictions = SimulationPredictions;

    fn config(&self) -> &Checked<Config> {
        Self::config(self)
    }

    fn dataset(&self) -> &str {
        self.graph().name()
    }

    fn fingerprint(&self) -> &Fingerprint {
        Self::fingerprint(self)
    }

    fn diagnostics(&self) -> &[DiagnosticKind] {
        Self::diagnostics(self)
    }

    fn sizes(&self) -> Sizes {
        let graph = self.graph();
        let (features, classes) = (graph.width(), graph.classes());
        Sizes { nodes: graph.len(), features, classes }
    }

    fn check_inputs(&self) -> Result<()> {
        Self::check_inputs(self)
    }

    fn train_seed(
        &self,
        task: SeedTask,
        output: Output<'_, '_, Self>,
    ) -> Result<FinishedSeed<SeedRun>> {
        let (seed, progress) = (task.seed, &mut *output.progress);
        progress.dividing(seed, 0.0);
        let partition =
            self.partition_watched(seed, &mut |share| progress.dividing(seed, share))?;
        let partition = Arc::new(partition);
        train_seed(self, partition, task, output)
    }

    fn restore_seed(
        &self,
        seed: u64,
        outcome: Outcome<f32>,
        diagnosis: Option<Diagnosis>,
        refused: Vec<Refused>,
    ) -> Result<SeedRun> {
        self.reevaluate(seed, outcome, diagnosis, refused)
    }

    fn start_predictions(&self, folder: &RunFolder) -> Result<SimulationPredictions> {
        SimulationPredictions::start(self, folder)
    }

    fn write_predictions(&self, files: &mut SimulationPredictions, seed: &SeedRun) -> Result<()> {
        files.write(self, seed)
    }

    fn finish_predictions(files: SimulationPredictions) -> Result<()> {
        files.finish()
    }

    fn write_results(&self, folder: &RunFolder, seeds: &[SeedRun]) -> Result<()> {
        simulation_files::write_models(folder, self, seeds)?;
        simulation_files::write_partition(folder, self, seeds)?;
        simulation_files::write_diagnostics(folder, seeds)
    }
}

/// Trains one seed from its beginning, or from the round after which it was stopped, and evaluates
/// it.
pub(super) fn train_seed(
    experiment: &Experiment,
    partition: Arc<Partition>,
    task: SeedTask,
    output: Output<'_, '_, Experiment>,
) -> Result<FinishedSeed<SeedRun>> {
    let seed = task.seed;
    let evaluator = Evaluator::new(experiment, &partition)?;
    let trained = train(experiment, &partition, task, &evaluator, output)?;
    let TrainedSeed { outcome, diagnosis, refused, spent, recorded } = trained;
    let evaluation = evaluator.evaluate(&outcome.predictions)?;
    let details = details(experiment, &evaluator, &partition, &outcome, seed)?;
    let (groups, digest) = (evaluator.groups, digest(&outcome));
    let scored = Scored { evaluation: &evaluation, details, refused: &refused };
    let summary = scored.summary((seed, digest.clone()), &outcome, spent);
    let run = SeedRun { seed, partition, groups, outcome, evaluation, digest, diagnosis, refused };
    Ok(FinishedSeed { run, summary, spent, recorded })
}

/// The results of the rounds of a seed.
struct TrainedSeed {
    outcome: Outcome<f32>,
    /// `None` without diagnostics.
    diagnosis: Option<Diagnosis>,
    refused: Vec<Refused>,
    spent: TimeSpent,
    recorded: RecordedRounds,
}

/// The rounds of one seed.
fn train(
    experiment: &Experiment,
    partition: &Arc<Partition>,
    task: SeedTask,
    evaluator: &Evaluator<'_>,
    output: Output<'_, '_, Experiment>,
) -> Result<TrainedSeed> {
    let SeedTask { seed, meter, mut unfinished } = task;
    output.progress.divided(seed, partition, &evaluator.groups);
    let federation = experiment.federation(seed, partition)?;
    let clock = SeedClock::start(meter, unfinished.as_ref().map(|state| state.spent));
    let diagnostics = experiment.diagnostics();
    let mut diagnostician =
        Diagnostician::new(diagnostics, evaluator.subject(seed), experiment.settings());
    let refused = unfinished.as_mut().map(|state| std::mem::take(&mut state.refused));
    let mut observer =
        SeedObserver { seed, evaluator, output, refused: refused.unwrap_or_default() };
    let mut training = match unfinished {
        Some(state) => restore(federation, &state, &mut observer, &mut diagnostician)?,
        None => federation.begin(&mut [&mut observer, &mut diagnostician])?,
    };
    while !training.is_over() {
        training.step(&mut [&mut observer, &mut diagnostician])?;
        observer.save_if_due(&clock, &mut training, &mut diagnostician)?;
    }
    let SeedObserver { output, refused, .. } = observer;
    Ok(TrainedSeed {
        outcome: training.finish(),
        spent: clock.spent(),
        diagnosis: (!diagnostics.is_empty()).then(|| diagnostician.conclude()),
        refused,
        recorded: output.files.map(|files| files.recorded()).unwrap_or_default(),
    })
}

/// The training of a seed that was stopped, with its diagnostics, as they were then.
fn restore(
    federation: Federation<f32>,
    unfinished: &UnfinishedSeed,
    observer: &mut SeedObserver<'_, '_, '_>,
    diagnostician: &mut Diagnostician<'_, f32>,
) -> Result<Training<f32>> {
    let path = &unfinished.path;
    let mut visitor = StateVisitor::restoring(&unfinished.state);
    let training = match federation.resume(&mut visitor, &mut [observer, diagnostician]) {
        Ok(training) => training,
        // While a state is read, an error about a network is an error about the file.
        Err(boostfgl_fed::Error::Network(state)) => {
            return Err(boostfgl_report::Error::malformed(path, state.to_string()).into());
        }
        Err(other) => return Err(other.into()),
    };
    diagnostician
        .visit(&mut visitor)
        .map_err(|error| boostfgl_report::Error::malformed(path, error.to_string()))?;
    check_all_read(path, &visitor)?;
    Ok(training)
}

/// BLAKE3 of parameters and predictions.
fn digest(outcome: &Outcome<f32>) -> String {
    let mut hasher = blake3::Hasher::new();
    for model in &outcome.models {
        model.feed(|bytes| {
            hasher.update(bytes);
        });
    }
    let predictions = outcome.predictions.iter();
    let classes: Vec<u8> = predictions.flat_map(|class| class.to_le_bytes()).collect();
    hasher.update(&classes);
    hasher.finalize().to_hex().to_string()
}
