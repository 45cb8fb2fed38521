//! The state of a run on the disk: `checkpoint/` in its folder, from its beginning until it is
//! finished.
//!
//! | file | content |
//! |---|---|
//! | `run`, `run.copy` | how it was begun: version of the program, digests of configuration and data, which diagnostics watch |
//! | `seed-00003.done` | what the fourth seed left behind |
//! | `seed-00004-round-000120.state` | everything that the rest of the fifth depends on; the last two are kept |
//!
//! Each is sealed with its length and BLAKE3, and written whole or not at all, after the lines of
//! `rounds.jsonl` that it counts are on the disk. It belongs to one configuration, one graph and
//! one version of the program, and says so if it meets others.

mod container;
mod load;
mod manifest;
mod schedule;
mod unfinished;

pub(crate) use load::{Running, Saved};
pub use schedule::Pace;
pub(crate) use unfinished::recorded_config;
pub use unfinished::{StoppedRun, is_stopped, runs_in};

use crate::experiment::{Experiment, Refused, SeedRun};
use crate::grid::identity::{self, Inputs};
use crate::{Error, Result};
use boostfgl_disk as disk;
use boostfgl_fed::Outcome;
use boostfgl_nn::{Params, StateVisitor, Stateful};
use boostfgl_report::{RunFolder, SeedSummary};
use manifest::Begun;
use schedule::Clock;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// How a run is kept from being lost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Keeping<'a> {
    /// How often its state is saved.
    pub pace: Pace,
    /// Set by somebody else, it lets the run finish its round, save its state and stop with
    /// [`Error::Stopped`].
    pub stop: Option<&'a AtomicBool>,
}

impl Keeping<'_> {
    fn is_asked_to_stop(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::SeqCst))
    }
}

/// Seconds that went into something, earlier attempts included.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spent {
    pub(crate) wall: f64,
    pub(crate) cpu: f64,
    /// Processor seconds of the rounds alone.
    pub(crate) training: f64,
}

impl Stateful for Spent {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("wall", &mut self.wall)?;
        visitor.visit("cpu", &mut self.cpu)?;
        visitor.visit("training", &mut self.training)
    }
}

/// The first lines of `rounds.jsonl`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) lines: usize,
    /// Their BLAKE3: what was recorded before a stop is what stands there when the run goes on.
    pub(crate) digest: String,
}

impl Stateful for Recorded {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("lines", &mut self.lines)?;
        visitor.visit("digest", &mut self.digest)
    }
}

/// Whose state a file holds.
struct Head {
    /// Digest of configuration, seed, graph and program.
    identity: String,
    /// `rounds.jsonl` up to here.
    recorded: Recorded,
    spent: Spent,
    /// The updates of the seed that were not used, as JSON.
    refused: String,
}

impl Stateful for Head {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("identity", &mut self.identity)?;
        visitor.visit("recorded", &mut self.recorded)?;
        visitor.visit("spent", &mut self.spent)?;
        visitor.visit("refused", &mut self.refused)
    }
}

/// A finished seed, as it is stored.
struct Done {
    summary: String,
    diagnosis: String,
    outcome: Outcome<f32>,
}

impl Stateful for Done {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("summary", &mut self.summary)?;
        visitor.visit("diagnosis", &mut self.diagnosis)?;
        visitor.visit("outcome", &mut self.outcome)
    }
}

/// A finished seed.
pub(crate) struct FinishedSeed {
    pub(crate) run: SeedRun,
    pub(crate) summary: SeedSummary,
    pub(crate) spent: Spent,
    /// `rounds.jsonl` up to its end.
    pub(crate) recorded: Recorded,
}

/// Where a run stands.
pub(crate) struct Position<'a> {
    /// The seeds before this one.
    pub(crate) finished: &'a [FinishedSeed],
    /// `rounds.jsonl`, all of it on the disk.
    pub(crate) recorded: Recorded,
    pub(crate) spent: Spent,
    /// The updates of this seed that were not used.
    pub(crate) refused: &'a [Refused],
}

/// Saves the state of a run while it goes on.
pub(crate) struct Keeper<'a> {
    /// Taken, so that no other program works on the run.
    run: RunFolder,
    folder: PathBuf,
    experiment: &'a Experiment,
    keeping: Keeping<'a>,
    clock: Clock,
    /// As they were when the run was begun or taken up: what it goes on with, whatever becomes of
    /// the files.
    inputs: Inputs,
    /// How many finished seeds are on the disk.
    stored: usize,
}

impl<'a> Keeper<'a> {
    /// Begins to keep a new run. What an earlier one left in the folder goes away.
    ///
    /// # Errors
    /// If the folder cannot be written, or another program works on it.
    pub(crate) fn start(
        run: &RunFolder,
        experiment: &'a Experiment,
        keeping: Keeping<'a>,
    ) -> Result<Self> {
        let keeper = Self::new(run, experiment, keeping)?;
        disk::create_dir_all(&keeper.folder)?;
        load::clear(&keeper.folder, |_| true)?;
        Begun::new(experiment, &keeper.inputs).write(&keeper.folder)?;
        Ok(keeper)
    }

    /// Takes over a run that was begun before, and reads where it stands.
    ///
    /// # Errors
    /// If there is no state, it is of another configuration or other data, or another program works
    /// on the run.
    pub(crate) fn resume(
        run: &RunFolder,
        experiment: &'a Experiment,
        keeping: Keeping<'a>,
    ) -> Result<(Self, Saved)> {
        // First of all the run is taken; who had it before may have finished it meanwhile.
        let mut keeper = Self::new(run, experiment, keeping)?;
        unfinished::check(run)?;
        let (mut begun, mut notes) = Begun::read(&keeper.folder)?;
        begun.check_config(run, experiment.config())?;
        begun.check_inputs(run, experiment, &keeper.inputs)?;
        if !notes.is_empty() {
            begun.write(&keeper.folder)?;
        }
        // What a crash left half written is of no use, and nobody else is at it.
        load::remove_unfinished(run.path());
        load::remove_unfinished(&keeper.folder);
        let mut saved = Saved::read(run, experiment, &keeper.inputs)?;
        notes.append(&mut saved.notes);
        saved.notes = notes;
        // What lies beyond the point to go on from is damaged, or follows something that is. It has
        // to go before the rounds after that point are done again: later it would be taken for what
        // they left.
        load::clear(&keeper.folder, |file| saved.is_beyond(file))?;
        disk::sync_folder(&keeper.folder)?;
        keeper.stored = saved.finished.len();
        Ok((keeper, saved))
    }

    fn new(run: &RunFolder, experiment: &'a Experiment, keeping: Keeping<'a>) -> Result<Self> {
        let folder = run.file(RunFolder::CHECKPOINT);
        let (run, clock) = (run.take()?, Clock::new(keeping.pace));
        Ok(Self {
            run,
            folder,
            experiment,
            keeping,
            clock,
            inputs: Inputs::of(experiment)?,
            stored: 0,
        })
    }

    /// Whether the state of the run is to be saved now that a round is over; then `rounds.jsonl`
    /// must be on the disk first.
    pub(crate) fn is_due(&mut self) -> bool {
        self.clock.round() || self.keeping.is_asked_to_stop()
    }

    /// Saves where the run stands, in the middle of a seed: what is finished, and what `state`
    /// takes down after `done` rounds.
    ///
    /// # Errors
    /// If it cannot be written, and [`Error::Stopped`] if the run has been asked to stop.
    pub(crate) fn save(
        &mut self,
        at: Position<'_>,
        done: usize,
        state: impl FnOnce(&mut StateVisitor<'_>) -> boostfgl_nn::Result<()>,
    ) -> Result<()> {
        let started = Instant::now();
        self.store_all(at.finished)?;
        let index = at.finished.len();
        let mut head =
            self.head(self.experiment.config().seeds[index], at.recorded, at.spent, at.refused)?;
        container::write(&state_file(&self.folder, index, done), |visitor| {
            visitor.visit("head", &mut head)?;
            state(visitor)
        })?;
        self.remove_old(index);
        self.clock.saved(started);
        if self.keeping.is_asked_to_stop() { Err(self.stopped(index, done)) } else { Ok(()) }
    }

    /// Before the first round of a seed: stops if it has been asked to, once what is finished is
    /// stored. `rounds.jsonl` must be on the disk.
    ///
    /// # Errors
    /// If it cannot be written, and [`Error::Stopped`].
    pub(crate) fn between(&mut self, finished: &[FinishedSeed]) -> Result<()> {
        if !self.keeping.is_asked_to_stop() {
            return Ok(());
        }
        self.store_all(finished)?;
        Err(self.stopped(finished.len(), 0))
    }

    fn stopped(&self, index: usize, round: usize) -> Error {
        let seed = self.experiment.config().seeds[index];
        Error::Stopped { folder: self.run.path().to_path_buf(), seed, round }
    }

    /// Removes the folder of a run that is finished. What cannot be removed does no harm.
    pub(crate) fn finish(self) {
        let _ = disk::remove_dir_all(&self.folder);
    }

    fn store_all(&mut self, finished: &[FinishedSeed]) -> Result<()> {
        for (index, seed) in finished.iter().enumerate().skip(self.stored) {
            self.store(index, seed)?;
            self.stored = index + 1;
        }
        Ok(())
    }

    fn store(&self, index: usize, seed: &FinishedSeed) -> Result<()> {
        let mut head =
            self.head(seed.summary.seed, seed.recorded.clone(), seed.spent, &seed.run.refused)?;
        let diagnosis = seed.run.diagnosis.as_ref().map(serde_json::to_string).transpose();
        let mut done = Done {
            summary: serde_json::to_string(&seed.summary).map_err(unrepresentable)?,
            diagnosis: diagnosis.map_err(unrepresentable)?.unwrap_or_default(),
            outcome: seed.run.outcome.clone(),
        };
        container::write(&done_file(&self.folder, index), |visitor| {
            visitor.visit("head", &mut head)?;
            visitor.visit("done", &mut done)
        })
    }

    fn head(
        &self,
        seed: u64,
        recorded: Recorded,
        spent: Spent,
        refused: &[Refused],
    ) -> Result<Head> {
        let refused = serde_json::to_string(refused).map_err(unrepresentable)?;
        let identity = identity::of_cell(self.experiment.config(), seed, &self.inputs);
        Ok(Head { identity, recorded, spent, refused })
    }

    /// States of finished seeds, and all but the last two of this one. Those that cannot be removed
    /// do no harm.
    fn remove_old(&self, index: usize) {
        let mut states = load::states(&self.folder).unwrap_or_default();
        let keep = states.iter().filter(|(of, _, _)| *of == index).count().saturating_sub(KEPT);
        states.sort();
        let mut own = 0;
        for (of, _, path) in states {
            own += usize::from(of == index);
            if of < index || (of == index && own <= keep) {
                let _ = disk::remove_file(path);
            }
        }
    }
}

/// How many states of the seed under way are kept.
const KEPT: usize = 2;

fn done_file(folder: &Path, index: usize) -> PathBuf {
    folder.join(format!("seed-{index:05}.done"))
}

fn state_file(folder: &Path, index: usize, round: usize) -> PathBuf {
    folder.join(format!("seed-{index:05}-round-{round:06}.state"))
}

/// Reads the whole of a file by a visitor.
fn put_back<R>(
    path: &Path,
    bytes: &[u8],
    read: impl FnOnce(&mut StateVisitor<'_>) -> boostfgl_nn::Result<R>,
) -> Result<R> {
    let malformed = |reason: String| boostfgl_report::Error::malformed(path, reason);
    let mut visitor = StateVisitor::restoring(bytes);
    let found = read(&mut visitor).map_err(|error| malformed(error.to_string()))?;
    match visitor.unread() {
        0 => Ok(found),
        rest => Err(malformed(format!("expected nothing more, found {rest} bytes")).into()),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "map_err hands it over")]
fn unrepresentable(error: serde_json::Error) -> Error {
    boostfgl_report::Error::malformed(RunFolder::CHECKPOINT, error.to_string()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a stopped run took so far counts in what it took in all.
    #[test]
    fn times_so_far_are_kept() {
        let (mut spent, mut bytes, mut back) =
            (Spent { wall: 1.5, cpu: 2.5, training: 2.25 }, Vec::new(), Spent::default());
        spent.visit(&mut StateVisitor::saving(&mut bytes)).unwrap();
        back.visit(&mut StateVisitor::restoring(&bytes)).unwrap();
        assert_eq!(back, spent);
    }
}
