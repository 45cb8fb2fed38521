//! The loop over seeds: each is trained and evaluated, and all of them are summarised.

use super::evaluator::Evaluator;
use super::observer::SeedObserver;
use super::{RunFiles, digest};
use crate::Result;
use crate::checkpoint::{
    FinishedSeed, RecordedRounds, SavedRun, TimeSpent, UnfinishedSeed, check_all_read,
};
use crate::details::details;
use crate::experiment::{Experiment, Progress, Refused, Run, SeedRun};
use crate::process::{self, Meter};
use boostfgl_fairness::Percent;
use boostfgl_fairness::diagnostics::{Diagnosis, Diagnostician};
use boostfgl_fed::{Federation, Outcome, Training};
use boostfgl_nn::StateVisitor;
use boostfgl_partition::Partition;
use boostfgl_report::{RunTotals, SeedSummary, Summary};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One seed to train, or to continue.
pub(super) struct SeedTask {
    pub(super) seed: u64,
    pub(super) partition: Arc<Partition>,
    /// Started when work on the seed began.
    pub(super) meter: Meter,
    /// Its state, if it was stopped between two rounds.
    pub(super) unfinished: Option<UnfinishedSeed>,
}

/// The destination of the results of a seed.
pub(super) struct Output<'a, 'r> {
    pub(super) progress: &'a mut dyn Progress,
    /// `None` for a run in memory.
    pub(super) files: Option<&'a mut RunFiles<'r>>,
    /// The seeds before this one, which a checkpoint includes.
    pub(super) finished: &'a [FinishedSeed],
}

/// Trains the seeds that are not finished, and summarises all of them.
pub(super) fn run_seeds(
    experiment: &Experiment,
    progress: &mut dyn Progress,
    mut files: Option<&mut RunFiles<'_>>,
    saved: SavedRun,
) -> Result<Run> {
    let meter = Meter::start();
    let spent_before = saved.spent();
    let SavedRun { mut finished, mut unfinished, .. } = saved;
    if let Some(files) = files.as_deref_mut() {
        // `predictions.csv` is not part of a checkpoint: it is written again from the beginning.
        for seed in &finished {
            files.recorder.write_predictions(experiment, &seed.run)?;
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
        let partition = Arc::new(experiment.partition(seed)?);
        let task = SeedTask { seed, partition, meter, unfinished: unfinished.take() };
        let output = Output { progress, files: files.as_deref_mut(), finished: &finished };
        let trained = train_seed(experiment, task, output)?;
        if let Some(files) = files.as_deref_mut() {
            files.recorder.write_predictions(experiment, &trained.run)?;
        }
        finished.push(trained);
    }
    let training = finished.iter().map(|seed| seed.spent.training).sum();
    let (seeds, summaries): (Vec<SeedRun>, Vec<SeedSummary>) =
        finished.into_iter().map(|seed| (seed.run, seed.summary)).unzip();
    if let Some(files) = files {
        files.recorder.write_models(experiment, &seeds)?;
        files.recorder.write_partition(experiment, &seeds)?;
        files.recorder.write_diagnostics(&seeds)?;
    }
    // Measured last: the time of a run includes that of writing its files.
    let (wall, cpu) = (spent_before.wall + meter.wall(), spent_before.cpu + meter.cpu());
    let summary = summarize(experiment, &seeds, summaries, TimeSpent { wall, cpu, training })?;
    Ok(Run { summary, seeds, note: None })
}

/// Trains one seed from its beginning, or from the round after which it was stopped, and evaluates
/// it.
pub(super) fn train_seed(
    experiment: &Experiment,
    task: SeedTask,
    output: Output<'_, '_>,
) -> Result<FinishedSeed> {
    let (seed, partition) = (task.seed, Arc::clone(&task.partition));
    let evaluator = Evaluator::new(experiment, &partition)?;
    let trained = train(experiment, task, &evaluator, output)?;
    let TrainedSeed { outcome, diagnosis, refused, spent, recorded } = trained;
    let evaluation = evaluator.evaluate(&outcome.predictions)?;
    let details = details(experiment, &evaluator, &partition, &outcome, seed)?;
    let (groups, digest) = (evaluator.groups, digest(&outcome));
    let summary = SeedSummary {
        seed,
        scores: Percent(evaluation.scores.percent().0),
        groups: evaluation.groups.sizes(),
        round: outcome.round,
        details,
        seconds: spent.wall,
        cpu_seconds: spent.cpu,
        bytes_up: outcome.bytes_up,
        bytes_down: outcome.bytes_down,
        framed_up: outcome.framed_up,
        framed_down: outcome.framed_down,
        refused: count_by_reason(&refused),
        digest: digest.clone(),
        federation_digest: outcome.federation_digest.clone(),
    };
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
    task: SeedTask,
    evaluator: &Evaluator<'_>,
    output: Output<'_, '_>,
) -> Result<TrainedSeed> {
    let SeedTask { seed, partition, meter, mut unfinished } = task;
    output.progress.divided(seed, &partition, &evaluator.groups);
    let federation = experiment.federation(seed, &partition)?;
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

/// The time that a seed takes, with the time before it was stopped.
pub(super) struct SeedClock {
    total: Meter,
    /// Started after the federation was set up.
    training: Meter,
    before: TimeSpent,
}

impl SeedClock {
    fn start(total: Meter, before: Option<TimeSpent>) -> Self {
        Self { total, training: Meter::start(), before: before.unwrap_or_default() }
    }

    /// The time spent so far.
    pub(super) fn spent(&self) -> TimeSpent {
        self.before.plus(TimeSpent {
            wall: self.total.wall(),
            cpu: self.total.cpu(),
            training: self.training.cpu(),
        })
    }
}

/// The summary of all seeds; `spent` is the time of the whole run.
fn summarize(
    experiment: &Experiment,
    seeds: &[SeedRun],
    summaries: Vec<SeedSummary>,
    spent: TimeSpent,
) -> Result<Summary> {
    let config = experiment.config();
    let boosts = config.active_boosts()?.iter().map(|boost| boost.name().to_owned()).collect();
    let mut digest = blake3::Hasher::new();
    for seed in seeds {
        digest.update(seed.digest.as_bytes());
    }
    let totals = RunTotals {
        cpu_seconds: spent.cpu,
        train_cpu_seconds: spent.training,
        wall_seconds: spent.wall,
        peak_rss_mib: process::peak_rss_mib(),
        digest: digest.finalize().to_hex().to_string(),
    };
    let summary =
        Summary::new(&config.method, boosts, experiment.graph().name(), summaries, totals);
    let summary = Summary { name: config.name.clone(), changed: config.changed(), ..summary };
    Ok(summary.with_data(experiment.fingerprint().clone()))
}

/// The number of refused updates for each reason.
fn count_by_reason(refused: &[Refused]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for refused in refused {
        *counts.entry(refused.update.reason.clone()).or_insert(0) += 1;
    }
    counts
}
