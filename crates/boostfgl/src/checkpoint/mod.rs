//! Checkpoints: the state of a run in the folder `checkpoint/`, from its beginning until it is
//! finished.
//!
//! | file | content |
//! |---|---|
//! | `run`, `run.copy` | the manifest: version of the program, digests of configuration and data, names of the diagnostics |
//! | `seed-00003.done` | the results of the fourth seed |
//! | `seed-00004-round-000120.state` | the state from which the fifth seed continues after round 120; the last two are kept |
//!
//! Each file is a container with its length and BLAKE3. It is written atomically, after the lines
//! of `rounds.jsonl` that it counts are fsynced. It belongs to one configuration, one graph and one
//! version of the program, and is refused with any other.

pub(crate) mod container;
mod load;
mod manifest;
mod schedule;
mod state;
mod unfinished;
mod writer;

pub(crate) use load::{SavedRun, UnfinishedSeed};
pub use schedule::CheckpointSchedule;
pub(crate) use state::{FinishedSeed, Position, RecordedRounds, TimeSpent};
pub(crate) use unfinished::recorded_config;
pub use unfinished::{UnfinishedRun, is_unfinished, runs_in};
pub(crate) use writer::CheckpointWriter;

use crate::Result;
use boostfgl_nn::StateVisitor;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The schedule of saving the state of a run, and the flag that stops it.
#[derive(Clone, Copy, Debug, Default)]
pub struct CheckpointOptions<'a> {
    /// The schedule of saving the state.
    pub schedule: CheckpointSchedule,
    /// When it is set, from another thread or a signal handler, the run finishes its round, saves
    /// its state and stops with [`Error::Stopped`](crate::Error::Stopped).
    pub stop: Option<&'a AtomicBool>,
}

impl CheckpointOptions<'_> {
    fn is_asked_to_stop(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::SeqCst))
    }
}

/// The file with the results of the finished seed number `index`.
fn finished_file(folder: &Path, index: usize) -> PathBuf {
    folder.join(format!("seed-{index:05}.done"))
}

/// The file with the state of seed number `index` after `round` rounds.
fn state_file(folder: &Path, index: usize, round: usize) -> PathBuf {
    folder.join(format!("seed-{index:05}-round-{round:06}.state"))
}

/// Restores a value from all of `bytes`; `path` is for messages.
///
/// # Errors
/// If they are not the state of such a value, or bytes are left over.
fn restore_all<R>(
    path: &Path,
    bytes: &[u8],
    restore: impl FnOnce(&mut StateVisitor<'_>) -> boostfgl_nn::Result<R>,
) -> Result<R> {
    let mut visitor = StateVisitor::restoring(bytes);
    let restored = restore(&mut visitor)
        .map_err(|error| boostfgl_report::Error::malformed(path, error.to_string()))?;
    check_all_read(path, &visitor)?;
    Ok(restored)
}

/// Refuses a state with bytes after the restored values.
///
/// # Errors
/// Names the file and how many bytes are left.
pub(crate) fn check_all_read(path: &Path, visitor: &StateVisitor<'_>) -> Result<()> {
    match visitor.unread() {
        0 => Ok(()),
        rest => {
            let reason = format!("expected the end of the state, found {rest} more bytes");
            Err(boostfgl_report::Error::malformed(path, reason).into())
        }
    }
}
