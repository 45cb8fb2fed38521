//! Running an experiment: in memory or into a folder, with checkpoints, and resumed after a stop.
//!
//! * [`trainable`] is what an experiment has to offer: [`simulation`] on one graph, or clients with
//!   graphs of their own ([`crate::clients`]).
//! * [`seeds`] trains one seed after the other.
//! * [`observer`] records and evaluates each round of a seed, and saves its state.
//! * [`recorder`] writes the run folder, [`simulation_files`] and [`models`] what is in it.
//! * [`evaluator`] evaluates predictions under one partition.

pub(crate) mod evaluator;
pub(crate) mod models;
mod observer;
pub(crate) mod recorder;
pub(crate) mod seeds;
mod simulation;
mod simulation_files;
pub(crate) mod trainable;

use crate::checkpoint::{
    CheckpointOptions, CheckpointWriter, RecordedRounds, SavedRun, is_unfinished,
};
use crate::experiment::{Experiment, Progress, Refused, Run, SeedRun};
use crate::process::{self, Meter};
use crate::{Error, Result};
use boostfgl_fairness::diagnostics::Diagnosis;
use boostfgl_fed::Outcome;
use boostfgl_partition::Partition;
use boostfgl_report::{RunFolder, SeedSummary};
use evaluator::Evaluator;
use recorder::Recorder;
use seeds::{Output, SeedTask, TrainedRun, run_seeds};
use simulation::train_seed;
use std::sync::Arc;
use trainable::Trainable;

/// The files of a run: its results, and its state until it is finished.
pub(crate) struct RunFiles<'r, E: Trainable> {
    pub(crate) recorder: Recorder<'r>,
    pub(crate) predictions: E::Predictions,
    pub(crate) checkpoints: CheckpointWriter<'r, E>,
}

impl<'r, E: Trainable> RunFiles<'r, E> {
    /// The files of a run whose rounds are recorded.
    fn new(
        experiment: &'r E,
        recorder: Recorder<'r>,
        checkpoints: CheckpointWriter<'r, E>,
    ) -> Result<Self> {
        let predictions = experiment.start_predictions(recorder.folder())?;
        Ok(Self { recorder, predictions, checkpoints })
    }

    /// The rounds recorded so far.
    pub(crate) fn recorded(&self) -> RecordedRounds {
        RecordedRounds { lines: self.recorder.lines(), digest: self.recorder.digest() }
    }
}

/// Runs every seed in memory.
pub(crate) fn run_in_memory<E: Trainable>(
    experiment: &E,
    progress: &mut dyn Progress,
) -> Result<TrainedRun<E::Seed>> {
    experiment.check_inputs()?;
    process::reset_peak_rss();
    run_seeds(experiment, progress, None, SavedRun::default())
}

/// Runs every seed into a folder, with checkpoints.
pub(crate) fn run_into<E: Trainable>(
    experiment: &E,
    progress: &mut dyn Progress,
    folder: &RunFolder,
    options: CheckpointOptions<'_>,
) -> Result<TrainedRun<E::Seed>> {
    experiment.check_inputs()?;
    process::reset_peak_rss();
    // A folder that was announced stays, so that the run can be resumed even if this first attempt
    // fails.
    let announced = is_unfinished(folder.path());
    let checkpoints = CheckpointWriter::start(folder, experiment, options)?;
    match Recorder::start(folder, experiment.config()) {
        Ok(recorder) => {
            let files = RunFiles::new(experiment, recorder, checkpoints)?;
            run_files(experiment, progress, files, announced, SavedRun::default())
        }
        Err(error) => {
            if !announced {
                checkpoints.finish();
            }
            Err(error)
        }
    }
}

/// Prepares a folder for a run that starts later.
pub(crate) fn announce<E: Trainable>(experiment: &E, folder: &RunFolder) -> Result<()> {
    CheckpointWriter::start(folder, experiment, CheckpointOptions::default())?;
    Ok(folder.write_atomic(RunFolder::CONFIG, experiment.config().to_toml().as_bytes())?)
}

/// Continues the run in a folder where it was stopped.
pub(crate) fn resume_in<E: Trainable>(
    experiment: &E,
    progress: &mut dyn Progress,
    folder: &RunFolder,
    options: CheckpointOptions<'_>,
) -> Result<TrainedRun<E::Seed>> {
    experiment.check_inputs()?;
    process::reset_peak_rss();
    let (checkpoints, saved) = CheckpointWriter::resume(folder, experiment, options)?;
    saved.notes.iter().for_each(|note| progress.note(note));
    let recorder = Recorder::resume(folder, saved.lines())?;
    let files = RunFiles::new(experiment, recorder, checkpoints)?;
    run_files(experiment, progress, files, true, saved)
}

/// Runs the seeds that are left, and finishes the folder; `is_kept` if the folder stays even when
/// the run fails before its first round.
fn run_files<E: Trainable>(
    experiment: &E,
    progress: &mut dyn Progress,
    mut files: RunFiles<'_, E>,
    is_kept: bool,
    saved: SavedRun<E::Seed>,
) -> Result<TrainedRun<E::Seed>> {
    let result = run_seeds(experiment, progress, Some(&mut files), saved);
    let RunFiles { recorder, predictions, checkpoints } = files;
    match result {
        Ok(run) => {
            E::finish_predictions(predictions)?;
            let note = recorder.finish(&run.summary)?;
            checkpoints.finish();
            Ok(TrainedRun { note, ..run })
        }
        Err(error) => {
            drop(predictions);
            // A folder without any round is of no use, unless its run is to be resumed.
            let resumable = is_kept || matches!(error, Error::Stopped { .. });
            if recorder.is_empty() && !resumable {
                checkpoints.finish();
                recorder.abandon();
            }
            Err(error)
        }
    }
}

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
