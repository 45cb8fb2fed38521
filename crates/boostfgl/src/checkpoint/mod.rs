//! The state of a run on the disk: `checkpoint/` in its folder, from its beginning until it is finished.
//!
//! | file | content |
//! |---|---|
//! | `run` | which diagnostics watch; held locked by the program that works on the run |
//! | `seed-00003.done` | what the fourth seed left behind |
//! | `seed-00004-round-000120.state` | everything that the rest of the fifth depends on; the last two are kept |
//!
//! Each is sealed with its length and BLAKE3, and written whole or not at all, after the lines of `rounds.jsonl` that it counts are on
//! the disk. It belongs to one configuration, one graph and one version of the program, and says so if it meets others.

mod pace;
mod saved;
mod sealed;
mod stopped;

pub use pace::Pace;
pub(crate) use saved::{Running, Saved};
pub(crate) use stopped::recorded_config;
pub use stopped::{StoppedRun, is_stopped, runs_in};

use crate::experiment::{Experiment, Refused, SeedRun};
use crate::grid::identity;
use crate::{Error, Result};
use boostfgl_disk as disk;
use boostfgl_fairness::diagnostics::Which;
use boostfgl_fed::{Course, Outcome};
use boostfgl_nn::{Keep, Ledger, Params};
use boostfgl_report::{RunFolder, SeedSummary};
use pace::Clock;
use std::cell::OnceCell;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// How a run is kept from being lost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Keeping<'a> {
    /// How often its state is saved.
    pub pace: Pace,
    /// Set by somebody else, it lets the run finish its round, save its state and stop with [`Error::Stopped`].
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

impl Keep for Spent {
    fn keep(&mut self, ledger: &mut Ledger<'_>) -> boostfgl_nn::Result<()> {
        ledger.keep("wall", &mut self.wall)?;
        ledger.keep("cpu", &mut self.cpu)?;
        ledger.keep("training", &mut self.training)
    }
}

/// Whose state a file holds.
struct Head {
    /// Digest of configuration, seed, graph and program.
    identity: String,
    /// Lines of `rounds.jsonl` up to here.
    lines: usize,
    spent: Spent,
    /// The updates of the seed that were not used, as JSON.
    refused: String,
}

impl Keep for Head {
    fn keep(&mut self, ledger: &mut Ledger<'_>) -> boostfgl_nn::Result<()> {
        ledger.keep("identity", &mut self.identity)?;
        ledger.keep("lines", &mut self.lines)?;
        ledger.keep("spent", &mut self.spent)?;
        ledger.keep("refused", &mut self.refused)
    }
}

/// A finished seed, as it is stored.
struct Done {
    summary: String,
    diagnosis: String,
    outcome: Outcome<f32>,
}

impl Keep for Done {
    fn keep(&mut self, ledger: &mut Ledger<'_>) -> boostfgl_nn::Result<()> {
        ledger.keep("summary", &mut self.summary)?;
        ledger.keep("diagnosis", &mut self.diagnosis)?;
        ledger.keep("outcome", &mut self.outcome)
    }
}

/// A finished seed.
pub(crate) struct FinishedSeed {
    pub(crate) run: SeedRun,
    pub(crate) summary: SeedSummary,
    pub(crate) spent: Spent,
    /// Lines of `rounds.jsonl` up to its end.
    pub(crate) lines: usize,
}

/// Where a run stands.
#[derive(Clone, Copy)]
pub(crate) struct Position<'a> {
    /// The seeds before this one.
    pub(crate) finished: &'a [FinishedSeed],
    /// Lines of `rounds.jsonl`, all of them on the disk.
    pub(crate) lines: usize,
    pub(crate) spent: Spent,
    /// The updates of this seed that were not used.
    pub(crate) refused: &'a [Refused],
}

/// Saves the state of a run while it goes on.
pub(crate) struct Keeper<'a> {
    folder: PathBuf,
    experiment: &'a Experiment,
    keeping: Keeping<'a>,
    clock: Clock,
    graph: OnceCell<blake3::Hash>,
    /// How many finished seeds are on the disk.
    stored: usize,
    /// Open and locked while this program works on the run.
    _lock: File,
}

impl<'a> Keeper<'a> {
    /// Begins to keep a new run. What an earlier one left in the folder goes away.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub(crate) fn start(run: &RunFolder, experiment: &'a Experiment, keeping: Keeping<'a>) -> Result<Self> {
        let folder = run.file(RunFolder::CHECKPOINT);
        disk::create_dir_all(&folder)?;
        saved::clear(&folder)?;
        let mut watching = experiment.diagnostics().iter().map(|w| w.name()).collect::<Vec<_>>().join(",");
        sealed::write(&folder.join(RUN), |ledger| ledger.keep("diagnostics", &mut watching))?;
        Self::resume(run, experiment, keeping)
    }

    /// Takes over a run that was begun before.
    ///
    /// # Errors
    /// If there is no state, or another program works on the run.
    pub(crate) fn resume(run: &RunFolder, experiment: &'a Experiment, keeping: Keeping<'a>) -> Result<Self> {
        let folder = run.file(RunFolder::CHECKPOINT);
        let lock = lock(&folder.join(RUN))?;
        // What a crash left half written is of no use, and nobody else is at it.
        saved::remove_unfinished(run.path());
        saved::remove_unfinished(&folder);
        let clock = Clock::new(keeping.pace);
        Ok(Self { folder, experiment, keeping, clock, graph: OnceCell::new(), stored: 0, _lock: lock })
    }

    /// The first so many finished seeds are on the disk already.
    pub(crate) fn goes_on(&mut self, stored: usize) {
        self.stored = stored;
    }

    /// Whether the state of the run is to be saved now that a round is over; then `rounds.jsonl` must be on the disk first.
    pub(crate) fn is_due(&mut self) -> bool {
        self.clock.round() || self.keeping.is_asked_to_stop()
    }

    /// Saves where the run stands, in the middle of a seed. Without `course` only what is finished.
    ///
    /// # Errors
    /// If it cannot be written, and [`Error::Stopped`] if the run has been asked to stop.
    pub(crate) fn save(&mut self, at: Position<'_>, course: Option<&mut Course<f32>>) -> Result<()> {
        let started = Instant::now();
        for index in self.stored..at.finished.len() {
            self.store(index, &at.finished[index])?;
            self.stored = index + 1;
        }
        let index = at.finished.len();
        let done = course.as_ref().map_or(0, |course| course.done());
        if let Some(course) = course {
            let mut head = self.head(self.experiment.config().seeds[index], at.lines, at.spent, at.refused)?;
            sealed::write(&state_file(&self.folder, index, done), |ledger| {
                ledger.keep("head", &mut head)?;
                course.keep(ledger)
            })?;
        }
        self.remove_old(index);
        self.clock.saved(started);
        if self.keeping.is_asked_to_stop() {
            let folder = self.folder.parent().unwrap_or(&self.folder).to_path_buf();
            return Err(Error::Stopped { folder, seed: self.experiment.config().seeds[index], round: done });
        }
        Ok(())
    }

    /// Removes the folder of a run that is finished. What cannot be removed does no harm.
    pub(crate) fn finish(self) {
        let Self { folder, _lock: lock, .. } = self;
        drop(lock);
        let _ = disk::remove_dir_all(folder);
    }

    fn store(&self, index: usize, seed: &FinishedSeed) -> Result<()> {
        let mut head = self.head(seed.summary.seed, seed.lines, seed.spent, &seed.run.refused)?;
        let diagnosis = seed.run.diagnosis.as_ref().map(serde_json::to_string).transpose();
        let mut done = Done {
            summary: serde_json::to_string(&seed.summary).map_err(unrepresentable)?,
            diagnosis: diagnosis.map_err(unrepresentable)?.unwrap_or_default(),
            outcome: seed.run.outcome.clone(),
        };
        sealed::write(&done_file(&self.folder, index), |ledger| {
            ledger.keep("head", &mut head)?;
            ledger.keep("done", &mut done)
        })
    }

    fn head(&self, seed: u64, lines: usize, spent: Spent, refused: &[Refused]) -> Result<Head> {
        let graph = self.graph.get_or_init(|| identity::of_graph(self.experiment.graph()));
        let refused = serde_json::to_string(refused).map_err(unrepresentable)?;
        Ok(Head { identity: identity::of_cell(self.experiment.config(), seed, graph), lines, spent, refused })
    }

    /// States of finished seeds, and all but the last two of this one. Those that cannot be removed do no harm.
    fn remove_old(&self, index: usize) {
        let mut states = saved::states(&self.folder);
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

/// The file that says how the run was begun.
const RUN: &str = "run";

fn done_file(folder: &Path, index: usize) -> PathBuf {
    folder.join(format!("seed-{index:05}.done"))
}

fn state_file(folder: &Path, index: usize, round: usize) -> PathBuf {
    folder.join(format!("seed-{index:05}-round-{round:06}.state"))
}

/// Which diagnostics a run was begun with.
///
/// # Errors
/// If the file is damaged or missing.
fn watching(run: &RunFolder) -> Result<Vec<Which>> {
    let path = run.file(RunFolder::CHECKPOINT).join(RUN);
    let bytes = sealed::read(&path)?;
    let mut names = String::new();
    put_back(&path, &bytes, |ledger| ledger.keep("diagnostics", &mut names))?;
    if names.is_empty() { Ok(Vec::new()) } else { Ok(Which::parse(&names)?) }
}

/// Takes the run for this program.
fn lock(path: &Path) -> Result<File> {
    let failed = |source| boostfgl_report::Error::io(path, source);
    let file = File::open(path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => {
            let place = path.parent().and_then(Path::parent).unwrap_or(path).display().to_string();
            let reason = "expected a run that nobody works on, found another program at it";
            Err(Error::usage(place, reason, "Wait until it has ended, or end it; then run the command again."))
        }
        // Where the file system knows no locks, two programs at one run are up to the user.
        Err(std::fs::TryLockError::Error(_)) => Ok(file),
    }
}

/// Reads the whole of a file by a ledger.
fn put_back<R>(path: &Path, bytes: &[u8], read: impl FnOnce(&mut Ledger<'_>) -> boostfgl_nn::Result<R>) -> Result<R> {
    let malformed = |reason: String| boostfgl_report::Error::malformed(path, reason);
    let mut ledger = Ledger::restoring(bytes);
    let found = read(&mut ledger).map_err(|error| malformed(error.to_string()))?;
    match ledger.unread() {
        0 => Ok(found),
        rest => Err(malformed(format!("expected nothing more, found {rest} bytes")).into()),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "map_err hands it over")]
fn unrepresentable(error: serde_json::Error) -> Error {
    boostfgl_report::Error::malformed(RunFolder::CHECKPOINT, error.to_string()).into()
}
