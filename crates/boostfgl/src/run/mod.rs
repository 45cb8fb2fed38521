//! Running an experiment: in memory or into a folder, with checkpoints, and resumed after a stop.
//!
//! * [`trainable`] is what an experiment has to offer: [`simulation`] on one graph, or clients with
//!   graphs of their own ([`crate::clients`]).
//! * [`seed`] is what is asked of one seed.
//! * [`observer`] records and evaluates each round of a seed, and saves its state.
//! * [`recorder`] writes the run folder, [`simulation_files`] and [`models`] what is in it.
//! * [`evaluator`] evaluates predictions under one partition, [`audit`] by protected attribute.

pub(crate) mod audit;
pub(crate) mod evaluator;
pub(crate) mod fitted;
pub(crate) mod models;
mod observer;
pub(crate) mod prediction_columns;
pub(crate) mod recorder;
pub(crate) mod seed;
mod simulation;
pub(crate) mod simulation_files;
pub(crate) mod trainable;

use crate::checkpoint::{
    CheckpointOptions, CheckpointWriter, RecordedRounds, SavedRun, TimeSpent, is_unfinished,
};
use crate::experiment::Progress;
use crate::process::{self, Meter};
use crate::{Error, Result};
use boostfgl_report::{RunFolder, RunTotals, SeedSummary, Summary};
use recorder::Recorder;
use seed::{Output, SeedTask};
use trainable::{SeedResult, Trainable};

/// The files of a run: its results, and its state until it is finished.
pub(crate) struct RunFiles<'r, E: Trainable> {
    pub(crate) recorder: Recorder<'r>,
    pub(crate) predictions: E::Predictions,
    pub(crate) checkpoints: CheckpointWriter<'r, E>,
}

impl<E: Trainable> RunFiles<'_, E> {
    /// The rounds recorded so far.
    pub(crate) fn recorded(&self) -> RecordedRounds {
        RecordedRounds { lines: self.recorder.lines(), digest: self.recorder.digest() }
    }
}

/// The results of all seeds.
pub(crate) struct TrainedRun<S> {
    pub(crate) summary: Summary,
    pub(crate) seeds: Vec<S>,
    /// What the user should know although nothing is lost.
    pub(crate) note: Option<String>,
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
    let started = experiment
        .start_predictions(folder)
        .and_then(|predictions| Ok((predictions, Recorder::start(folder, experiment.config())?)));
    match started {
        Ok((predictions, recorder)) => {
            let files = RunFiles { recorder, predictions, checkpoints };
            run_files(experiment, progress, files, announced, SavedRun::default())
        }
        Err(error) => {
            folder.remove_client_folders();
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
    let predictions = experiment.start_predictions(folder)?;
    let recorder = Recorder::resume(folder, saved.lines())?;
    let files = RunFiles { recorder, predictions, checkpoints };
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

/// Trains the seeds that are not finished, and summarises all of them.
fn run_seeds<E: Trainable>(
    experiment: &E,
    progress: &mut dyn Progress,
    mut files: Option<&mut RunFiles<'_, E>>,
    saved: SavedRun<E::Seed>,
) -> Result<TrainedRun<E::Seed>> {
    let meter = Meter::start();
    let spent_before = saved.spent();
    let SavedRun { mut finished, mut unfinished, .. } = saved;
    if let Some(files) = files.as_deref_mut() {
        // `predictions.csv` is not part of a checkpoint: it is written again from the beginning.
        for seed in &finished {
            experiment.write_predictions(&mut files.predictions, &seed.run)?;
        }
    }
    let seeds = &experiment.config().seeds;
    for (index, &seed) in seeds.iter().enumerate().skip(finished.len()) {
        if let Some(files) = files.as_deref_mut().filter(|_| index > 0) {
            files.recorder.sync()?;
            files.checkpoints.stop_if_asked(&finished)?;
        }
        progress.seed(index, seeds.len(), seed);
        let meter = Meter::start();
        let task = SeedTask { seed, meter, unfinished: unfinished.take() };
        let output = Output { progress, files: files.as_deref_mut(), finished: &finished };
        let trained = experiment.train_seed(task, output)?;
        if let Some(files) = files.as_deref_mut() {
            experiment.write_predictions(&mut files.predictions, &trained.run)?;
        }
        finished.push(trained);
    }
    let training = finished.iter().map(|seed| seed.spent.training).sum();
    let (seeds, summaries): (Vec<E::Seed>, Vec<SeedSummary>) =
        finished.into_iter().map(|seed| (seed.run, seed.summary)).unzip();
    if let Some(files) = files {
        experiment.write_results(files.recorder.folder(), &seeds)?;
    }
    // Measured last: the time of a run includes that of writing its files.
    let (wall, cpu) = (spent_before.wall + meter.wall(), spent_before.cpu + meter.cpu());
    let summary = summarize(experiment, &seeds, summaries, TimeSpent { wall, cpu, training })?;
    Ok(TrainedRun { summary, seeds, note: None })
}

/// The summary of all seeds; `spent` is the time of the whole run.
fn summarize<E: Trainable>(
    experiment: &E,
    seeds: &[E::Seed],
    summaries: Vec<SeedSummary>,
    spent: TimeSpent,
) -> Result<Summary> {
    let config = experiment.config();
    let boosts = config.active_boosts()?.iter().map(|boost| boost.name().to_owned()).collect();
    let totals = RunTotals {
        cpu_seconds: spent.cpu,
        train_cpu_seconds: spent.training,
        wall_seconds: spent.wall,
        peak_rss_mib: process::peak_rss_mib(),
        digest: digest_of(seeds),
    };
    let summary = Summary::new(&config.method, boosts, experiment.dataset(), summaries, totals);
    let summary = Summary { name: config.name.clone(), changed: config.changed(), ..summary };
    let summary = summary.with_data(experiment.fingerprint().clone());
    Ok(experiment.complete(summary, seeds))
}

/// BLAKE3 of the digests of all seeds; empty where seeds have none.
fn digest_of(seeds: &[impl SeedResult]) -> String {
    if seeds.iter().all(|seed| seed.digest().is_empty()) {
        return String::new();
    }
    let mut digest = blake3::Hasher::new();
    for seed in seeds {
        digest.update(seed.digest().as_bytes());
    }
    digest.finalize().to_hex().to_string()
}
