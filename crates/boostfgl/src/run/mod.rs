//! Running an experiment: seed after seed, recorded, kept, and taken up again where it was stopped.

use crate::checkpoint::{
    FinishedSeed, Keeper, Keeping, Position, Recorded, Running, Saved, Spent, is_stopped,
};
use crate::details::details;
use crate::evaluator::Evaluator;
use crate::experiment::{Experiment, Progress, Refused, Run, SeedRun};
use crate::process::{self, Meter};
use crate::record::{Recorder, refusal};
use crate::{Error, Result};
use boostfgl_fairness::Percent;
use boostfgl_fairness::diagnostics::{Diagnosis, Diagnostician};
use boostfgl_fed::{Observer, Outcome, RoundRecord, Training};
use boostfgl_nn::StateVisitor;
use boostfgl_partition::Partition;
use boostfgl_report::{RunFolder, RunTotals, SeedSummary, Summary};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

impl Experiment {
    /// Runs every seed in memory.
    ///
    /// # Errors
    /// If the graph cannot be divided, or training fails.
    pub fn run(&self) -> Result<Run> {
        self.run_watched(&mut (), None)
    }

    /// Runs every seed, telling `progress`, and writes the run folder if one is given. The state of
    /// a run with a folder is saved now and then, so that [`Experiment::resume`] can go on after a
    /// crash.
    ///
    /// # Errors
    /// If the folder cannot be written, the graph cannot be divided, or training fails.
    pub fn run_watched(
        &self,
        progress: &mut dyn Progress,
        folder: Option<&RunFolder>,
    ) -> Result<Run> {
        match folder {
            Some(folder) => self.run_kept(progress, folder, Keeping::default()),
            None => {
                self.check_inputs()?;
                process::reset_peak_rss();
                Runner { experiment: self, progress, files: None, finished: Vec::new() }
                    .seeds(&Meter::start(), None)
            }
        }
    }

    /// Like [`Experiment::run_watched`] with a say in how often state is saved, and a way to stop.
    ///
    /// # Errors
    /// As [`Experiment::run_watched`], and [`Error::Stopped`] if it was asked to stop.
    pub fn run_kept(
        &self,
        progress: &mut dyn Progress,
        folder: &RunFolder,
        keeping: Keeping<'_>,
    ) -> Result<Run> {
        self.check_inputs()?;
        process::reset_peak_rss();
        // What was announced is to be done, whatever happens to the first attempt at it.
        let announced = is_stopped(folder.path());
        let keeper = Keeper::start(folder, self, keeping)?;
        match Recorder::start(folder, self) {
            Ok(recorder) => self.run_files(progress, Files { recorder, keeper, announced }, None),
            Err(error) => {
                if !announced {
                    keeper.finish();
                }
                Err(error)
            }
        }
    }

    /// Writes down that a run is to be done in this folder, so that [`Experiment::resume`] can do
    /// it from the start.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn announce(&self, folder: &RunFolder) -> Result<()> {
        Keeper::start(folder, self, Keeping::default())?;
        Ok(folder.write_atomic(RunFolder::CONFIG, self.config().to_toml().as_bytes())?)
    }

    /// Goes on with the run in a folder where it was stopped, and ends with the digits of one that
    /// was not. A run that had not saved anything begins anew.
    ///
    /// # Errors
    /// As [`Experiment::run_kept`], and if configuration, data or program are not those that the
    /// run was begun with, or another program works on it.
    pub fn resume(
        &self,
        progress: &mut dyn Progress,
        folder: &RunFolder,
        keeping: Keeping<'_>,
    ) -> Result<Run> {
        self.check_inputs()?;
        process::reset_peak_rss();
        let (keeper, saved) = Keeper::resume(folder, self, keeping)?;
        saved.notes.iter().for_each(|note| progress.note(note));
        let recorder = Recorder::resume(folder, self, saved.lines())?;
        self.run_files(progress, Files { recorder, keeper, announced: true }, Some(saved))
    }

    fn run_files(
        &self,
        progress: &mut dyn Progress,
        mut files: Files<'_>,
        saved: Option<Saved>,
    ) -> Result<Run> {
        let meter = Meter::start();
        let runner =
            Runner { experiment: self, progress, files: Some(&mut files), finished: Vec::new() };
        let done = runner.seeds(&meter, saved);
        let Files { recorder, keeper, announced } = files;
        match done {
            Ok(run) => {
                let note = recorder.finish(&run.summary)?;
                keeper.finish();
                Ok(Run { note, ..run })
            }
            Err(error) => {
                // A folder with no round in it helps nobody, unless its run is to be done or was
                // only asked to stop.
                if recorder.is_empty() && !announced && !matches!(error, Error::Stopped { .. }) {
                    keeper.finish();
                    recorder.abandon();
                }
                Err(error)
            }
        }
    }

    /// Runs one seed on a partition at hand, telling `progress` of every round: for several methods
    /// that share it.
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
        if partition.len() != self.graph().len() {
            let reason = format!(
                "expected a partition of {} nodes, found {}",
                self.graph().len(),
                partition.len()
            );
            return Err(Error::usage(
                self.graph().name(),
                reason,
                "Draw the partition from the same graph.",
            ));
        }
        let mut runner = Runner { experiment: self, progress, files: None, finished: Vec::new() };
        let done = runner.seed(seed, Arc::clone(partition), &Meter::start(), None)?;
        Ok((done.run, done.summary))
    }

    /// What a seed that finished earlier left behind, judged again.
    pub(crate) fn judged_again(
        &self,
        seed: u64,
        outcome: Outcome<f32>,
        diagnosis: Option<Diagnosis>,
        refused: Vec<Refused>,
    ) -> Result<SeedRun> {
        let partition = Arc::new(self.partition(seed)?);
        let judge = Evaluator::new(self, &partition)?;
        let evaluation = judge.evaluate(&outcome.predictions)?;
        let (groups, digest) = (judge.groups, digest(&outcome));
        Ok(SeedRun { seed, partition, groups, outcome, evaluation, digest, diagnosis, refused })
    }
}

/// Where a run is written, and where its state is.
struct Files<'r> {
    recorder: Recorder<'r>,
    keeper: Keeper<'r>,
    /// Whether the run was there before, if only as one to be done.
    announced: bool,
}

impl Files<'_> {
    fn recorded(&self) -> Recorded {
        Recorded { lines: self.recorder.lines(), digest: self.recorder.digest() }
    }
}

/// Works through the seeds of an experiment.
struct Runner<'a, 'r> {
    experiment: &'a Experiment,
    progress: &'a mut dyn Progress,
    files: Option<&'a mut Files<'r>>,
    finished: Vec<FinishedSeed>,
}

impl Runner<'_, '_> {
    /// All seeds that are left, and what they amount to together with those that finished before.
    fn seeds(mut self, meter: &Meter, saved: Option<Saved>) -> Result<Run> {
        let experiment = self.experiment;
        let mut running = None;
        let mut carried = Spent::default();
        if let Some(saved) = saved {
            running = saved.running;
            let spent = saved
                .finished
                .iter()
                .map(|seed| seed.spent)
                .chain(running.as_ref().map(|seed| seed.spent));
            spent.for_each(|spent| {
                (carried.wall, carried.cpu) = (carried.wall + spent.wall, carried.cpu + spent.cpu)
            });
            self.take_up(saved.finished)?;
        }
        let seeds = &experiment.config().seeds;
        for (index, &seed) in seeds.iter().enumerate().skip(self.finished.len()) {
            if let Some(files) = self.files.as_mut().filter(|_| index > 0) {
                files.recorder.sync()?;
                files.keeper.between(&self.finished)?;
            }
            self.progress.seed(index, seeds.len(), seed);
            let seed_meter = Meter::start();
            let partition = Arc::new(experiment.partition(seed)?);
            let done = self.seed(seed, partition, &seed_meter, running.take())?;
            if let Some(files) = &mut self.files {
                files.recorder.seed(experiment, &done.run)?;
            }
            self.finished.push(done);
        }
        let Self { finished, files, .. } = self;
        conclude(experiment, finished, files.as_deref(), meter, carried)
    }

    /// Takes over seeds that finished earlier.
    fn take_up(&mut self, finished: Vec<FinishedSeed>) -> Result<()> {
        if let Some(files) = &mut self.files {
            finished.iter().try_for_each(|seed| files.recorder.seed(self.experiment, &seed.run))?;
        }
        self.finished = finished;
        Ok(())
    }

    /// All rounds of one seed, or those that are left of it.
    fn seed(
        &mut self,
        seed: u64,
        partition: Arc<Partition>,
        meter: &Meter,
        running: Option<Running>,
    ) -> Result<FinishedSeed> {
        let experiment = self.experiment;
        let judge = Evaluator::new(experiment, &partition)?;
        self.progress.divided(seed, &partition, &judge.groups);
        let federation = experiment.federation(seed, &partition)?;
        let training = Meter::start();
        let diagnostics = experiment.diagnostics();
        let mut diagnostician =
            Diagnostician::new(diagnostics, judge.subject(seed), experiment.settings());
        let carried = running.as_ref().map_or(Spent::default(), |running| running.spent);
        let spent = |meter: &Meter, training: &Meter| Spent {
            wall: carried.wall + meter.wall(),
            cpu: carried.cpu + meter.cpu(),
            training: carried.training + training.cpu(),
        };
        let refused = running.as_ref().map_or(Vec::new(), |running| running.refused.clone());
        let mut told = Told { seed, judge: &judge, runner: self, failed: None, refused };
        let mut course = match running {
            Some(running) => told.take_up(federation, running, &mut diagnostician)?,
            None => {
                let begun = federation.begin(&mut [&mut told, &mut diagnostician]);
                told.check()?;
                begun?
            }
        };
        while !course.is_over() {
            course.step(&mut [&mut told, &mut diagnostician])?;
            told.check()?;
            let Told { runner, refused, .. } = &mut told;
            runner.save(|| spent(meter, &training), refused, &mut course, &mut diagnostician)?;
        }
        let refused = std::mem::take(&mut told.refused);
        let outcome = course.finish();
        let spent = spent(meter, &training);
        let diagnosis = (!diagnostics.is_empty()).then(|| diagnostician.conclude());
        let evaluation = judge.evaluate(&outcome.predictions)?;
        let details = details(experiment, &judge, &partition, &outcome, seed)?;
        let (groups, digest) = (judge.groups, digest(&outcome));
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
            refused: counted(&refused),
            digest: digest.clone(),
        };
        let run =
            SeedRun { seed, partition, groups, outcome, evaluation, digest, diagnosis, refused };
        let recorded = self.files.as_ref().map(|files| files.recorded()).unwrap_or_default();
        Ok(FinishedSeed { run, summary, spent, recorded })
    }

    /// Saves the state of the run, if it is time to.
    fn save(
        &mut self,
        spent: impl FnOnce() -> Spent,
        refused: &[Refused],
        course: &mut Training<f32>,
        diagnostician: &mut Diagnostician<'_, f32>,
    ) -> Result<()> {
        let Some(files) = self.files.as_mut() else { return Ok(()) };
        if !files.keeper.is_due() {
            return Ok(());
        }
        // A checkpoint that counts lines which a power failure took would be worth nothing.
        files.recorder.sync()?;
        let at = Position {
            finished: &self.finished,
            recorded: files.recorded(),
            spent: spent(),
            refused,
        };
        files.keeper.save(at, course.done(), |visitor| {
            course.visit(visitor)?;
            diagnostician.visit(visitor)
        })
    }
}

/// What all seeds amount to.
fn conclude(
    experiment: &Experiment,
    finished: Vec<FinishedSeed>,
    files: Option<&Files<'_>>,
    meter: &Meter,
    carried: Spent,
) -> Result<Run> {
    let training = finished.iter().map(|seed| seed.spent.training).sum();
    let (seeds, summaries): (Vec<SeedRun>, Vec<SeedSummary>) =
        finished.into_iter().map(|seed| (seed.run, seed.summary)).unzip();
    let boosts = experiment.config().active_boosts()?.iter().map(|b| b.name().to_owned()).collect();
    let mut digest = blake3::Hasher::new();
    seeds.iter().for_each(|s| {
        digest.update(s.digest.as_bytes());
    });
    if let Some(Files { recorder, .. }) = files {
        recorder.models(experiment, &seeds)?;
        recorder.divisions(experiment, &seeds)?;
        recorder.diagnoses(&seeds)?;
    }
    let totals = RunTotals {
        cpu_seconds: carried.cpu + meter.cpu(),
        train_cpu_seconds: training,
        wall_seconds: carried.wall + meter.wall(),
        peak_rss_mib: process::peak_rss_mib(),
        digest: digest.finalize().to_hex().to_string(),
    };
    let config = experiment.config();
    let summary =
        Summary::new(&config.method, boosts, experiment.graph().name(), summaries, totals);
    let summary = Summary { name: config.name.clone(), changed: config.changed(), ..summary };
    let summary = summary.with_data(experiment.fingerprint().clone());
    Ok(Run { summary, seeds, note: None })
}

/// A federation's observer that passes everything on and keeps the first failure.
struct Told<'a, 'b, 'r> {
    seed: u64,
    judge: &'a Evaluator<'a>,
    runner: &'a mut Runner<'b, 'r>,
    failed: Option<Error>,
    refused: Vec<Refused>,
}

impl Told<'_, '_, '_> {
    /// Goes on with a seed that was stopped.
    fn take_up(
        &mut self,
        federation: boostfgl_fed::Federation<f32>,
        running: Running,
        diagnostician: &mut Diagnostician<'_, f32>,
    ) -> Result<Training<f32>> {
        let Running { course: state, path, .. } = running;
        let mut visitor = StateVisitor::restoring(&state);
        let malformed = |reason: String| boostfgl_report::Error::malformed(&path, reason);
        let course = federation.resume(&mut visitor, &mut [self, diagnostician]).map_err(
            |error| match error {
                boostfgl_fed::Error::Network(state) => Error::from(malformed(state.to_string())),
                other => other.into(),
            },
        )?;
        diagnostician.visit(&mut visitor).map_err(|error| malformed(error.to_string()))?;
        match visitor.unread() {
            0 => Ok(course),
            rest => Err(malformed(format!("expected nothing more, found {rest} bytes")).into()),
        }
    }

    fn check(&mut self) -> Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }

    fn tell(&mut self, record: &RoundRecord<'_>) -> Result<()> {
        let evaluation = record.predictions.map(|p| self.judge.evaluate(p)).transpose()?;
        self.runner.progress.round(record, evaluation.as_ref());
        match &mut self.runner.files {
            Some(files) => files.recorder.round(self.seed, record, evaluation.as_ref()),
            None => Ok(()),
        }
    }
}

impl Observer<f32> for Told<'_, '_, '_> {
    fn preparing(&mut self, done: usize, of: usize) -> ControlFlow<()> {
        self.runner.progress.preparing(done, of);
        // What is prepared is not saved: a run that is stopped here begins this seed anew.
        let Runner { files, finished, .. } = &mut *self.runner;
        match files.as_mut().map_or(Ok(()), |files| files.keeper.between(finished)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(stopped) => {
                self.failed = Some(stopped);
                ControlFlow::Break(())
            }
        }
    }

    fn round(&mut self, record: &RoundRecord<'_>) {
        let told = self.tell(record);
        self.failed = self.failed.take().or(told.err());
        let refused =
            record.refused.iter().map(|r| Refused { round: record.round, update: refusal(r) });
        self.refused.extend(refused);
    }
}

/// How many updates were refused for which reason.
fn counted(refused: &[Refused]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for refused in refused {
        *counts.entry(refused.update.reason.clone()).or_insert(0) += 1;
    }
    counts
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
