//! One fault at one call, and its consequences for later calls.

use std::io;
use std::path::{Path, PathBuf};

use super::Fault;
use super::journal::Journal;
use crate::Call;

#[derive(Debug)]
pub(super) struct FaultPlan {
    folder: PathBuf,
    fault: Fault,
    at: usize,
    calls: usize,
    /// The simulated machine is down: every call fails.
    down: bool,
    /// Whether a crash aborts this process.
    aborts: bool,
    journal: Journal,
}

impl FaultPlan {
    pub(super) fn new(folder: PathBuf, fault: Fault, at: usize) -> Self {
        let journal = Journal::default();
        Self { folder, fault, at, calls: 0, down: false, aborts: false, journal }
    }

    /// The same plan, with a crash that aborts the process.
    pub(super) fn aborting(mut self) -> Self {
        self.aborts = true;
        self
    }

    pub(super) fn calls(&self) -> usize {
        self.calls
    }

    pub(super) fn fired(&self) -> bool {
        self.calls >= self.at
    }

    /// The outcome of a call; for a write, how many bytes may be written.
    pub(super) fn pass(&mut self, call: Call<'_>) -> io::Result<usize> {
        let all = if let Call::Write(_, bytes) = call { bytes } else { usize::MAX };
        if !place(call).starts_with(&self.folder) {
            return Ok(all);
        }
        if self.down {
            return self.go_down();
        }
        self.calls += 1;
        let allowed = match self.calls.cmp(&self.at) {
            std::cmp::Ordering::Less => all,
            std::cmp::Ordering::Equal => self.strike(call, all)?,
            std::cmp::Ordering::Greater => self.aftermath(call, all)?,
        };
        // After the fault was decided: the call at which the power is cut is not executed.
        if matches!(self.fault, Fault::PowerCut | Fault::TornCut) {
            self.journal.record(call)?;
        }
        Ok(allowed)
    }

    /// The outcome of the call at which the fault happens.
    fn strike(&mut self, call: Call<'_>, all: usize) -> io::Result<usize> {
        // A single byte cannot be split; such a write is treated like any other call.
        let half = matches!(call, Call::Write(_, bytes) if bytes > 1).then_some(all / 2);
        match (self.fault, half) {
            (Fault::Full | Fault::Short, Some(half)) => Ok(half),
            (Fault::Full, None) => self.aftermath(call, all),
            (Fault::Short, None) => Ok(all),
            (Fault::Io, _) => Err(io::Error::from_raw_os_error(EIO)),
            // Half of the bytes reach the file, and every later call fails.
            (Fault::Crash, Some(half)) => {
                self.down = true;
                Ok(half)
            }
            (Fault::Crash, None) => self.go_down(),
            (Fault::PowerCut, _) => {
                self.journal.lose_all()?;
                self.go_down()
            }
            (Fault::TornCut, _) => {
                self.journal.lose_content()?;
                self.go_down()
            }
        }
    }

    /// The outcome of calls after the fault.
    fn aftermath(&self, call: Call<'_>, all: usize) -> io::Result<usize> {
        let needs_space = !matches!(
            call,
            Call::Remove(_)
                | Call::RemoveFolder(_)
                | Call::Truncate(..)
                | Call::SyncFolder(_)
                | Call::Rename(..)
        );
        if self.fault == Fault::Full && needs_space {
            return Err(io::Error::from_raw_os_error(ENOSPC));
        }
        Ok(all)
    }

    fn go_down(&mut self) -> io::Result<usize> {
        self.down = true;
        if self.aborts {
            // No destructors run and no buffer is flushed, as in a real crash.
            std::process::abort();
        }
        Err(io::Error::other("the machine went down (an injected fault)"))
    }
}

/// The path that decides which plan a call belongs to.
fn place<'a>(call: Call<'a>) -> &'a Path {
    match call {
        // Of a rename the target: a temporary file may lie in another folder.
        Call::Create(path)
        | Call::Write(path, _)
        | Call::Truncate(path, _)
        | Call::Sync(path)
        | Call::Rename(_, path)
        | Call::Remove(path)
        | Call::MakeFolder(path)
        | Call::RemoveFolder(path)
        | Call::SyncFolder(path) => path,
    }
}

// errno of "No space left on device" and "Input/output error", the same on every supported system.
const ENOSPC: i32 = 28;
const EIO: i32 = 5;
