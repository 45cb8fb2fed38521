//! The loop over seeds: each is trained and evaluated, and all of them are summarised.

use super::RunFiles;
use super::trainable::{SeedResult, Trainable};
use crate::Result;
use crate::checkpoint::{FinishedSeed, SavedRun, TimeSpent, UnfinishedSeed};
use crate::experiment::{Progress, Refused};
use crate::process::{self, Meter};
use boostfgl_report::{RunTotals, SeedSummary, Summary};
use std::collections::BTreeMap;

/// One seed to train, or to continue.
pub(crate) struct SeedTask {
    pub(crate) seed: u64,
    /// Started when work on the seed began.
    pub(crate) meter: Meter,
    /// Its state, if it was stopped between two rounds.
    pub(crate) unfinished: Option<UnfinishedSeed>,
}

/// The destination of the results of a seed.
pub(crate) struct Output<'a, 'r, E: Trainable> {
    pub(crate) progress: &'a mut dyn Progress,
    /// `None` for a run in memory.
    pub(crate) files: Option<&'a mut RunFiles<'r, E>>,
    /// The seeds before this one, which a checkpoint includes.
    pub(crate) finished: &'a [FinishedSeed<E::Seed>],
}

/// The results of all seeds.
pub(crate) struct TrainedRun<S> {
    pub(crate) summary: Summary,
    pub(crate) seeds: Vec<S>,
    /// What the user should know although nothing is lost.
    pub(crate) note: Option<String>,
}

/// Trains the seeds that are not finished, and summarises all of them.
pub(super) fn run_seeds<E: Trainable>(
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

/// The time that a seed takes, with the time before it was stopped.
pub(crate) struct SeedClock {
    total: Meter,
    /// Started after the federation was set up.
    training: Meter,
    before: TimeSpent,
}

impl SeedClock {
    pub(crate) fn start(total: Meter, before: Option<TimeSpent>) -> Self {
        Self { total, training: Meter::start(), before: before.unwrap_or_default() }
    }

    /// The time spent so far.
    pub(crate) fn spent(&self) -> TimeSpent {
        self.before.plus(TimeSpent {
            wall: self.total.wall(),
            cpu: self.total.cpu(),
            training: self.training.cpu(),
        })
    }
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

/// The number of refused updates for each reason.
pub(crate) fn count_by_reason(refused: &[Refused]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for refused in refused {
        *counts.entry(refused.update.reason.clone()).or_insert(0) += 1;
    }
    counts
}
