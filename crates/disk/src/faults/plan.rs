//! One fault at one call, and what follows from it.

use std::io;
use std::path::{Path, PathBuf};

use super::Fault;
use super::journal::Journal;
use crate::Call;

#[derive(Debug)]
pub(super) struct Plan {
    folder: PathBuf,
    fault: Fault,
    at: usize,
    calls: usize,
    /// The machine is down: nothing works any more.
    down: bool,
    /// Whether going down ends this process.
    ends: bool,
    journal: Journal,
}

impl Plan {
    pub(super) fn new(folder: PathBuf, fault: Fault, at: usize) -> Self {
        Self { folder, fault, at, calls: 0, down: false, ends: false, journal: Journal::default() }
    }

    pub(super) fn ending_the_process(mut self) -> Self {
        self.ends = true;
        self
    }

    pub(super) fn calls(&self) -> usize {
        self.calls
    }

    pub(super) fn fired(&self) -> bool {
        self.calls >= self.at
    }

    /// What becomes of a call; of a write, how many bytes may go through.
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
        if matches!(self.fault, Fault::PowerCut | Fault::TornCut) {
            self.journal.note(call)?;
        }
        Ok(allowed)
    }

    fn strike(&mut self, call: Call<'_>, all: usize) -> io::Result<usize> {
        let half = matches!(call, Call::Write(_, bytes) if bytes > 1).then_some(all / 2);
        match (self.fault, half) {
            (Fault::Full | Fault::Short, Some(half)) => Ok(half),
            (Fault::Full, None) => self.aftermath(call, all),
            (Fault::Short, None) => Ok(all),
            (Fault::Io, _) => Err(io::Error::from_raw_os_error(EIO)),
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

    /// What the calls after the fault meet.
    fn aftermath(&self, call: Call<'_>, all: usize) -> io::Result<usize> {
        let needs_space = !matches!(
            call,
            Call::Remove(_)
                | Call::RemoveFolder(_)
                | Call::Cut(..)
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
        if self.ends {
            std::process::abort();
        }
        Err(io::Error::other("the machine went down (a fault on demand)"))
    }
}

/// The path that decides whose plan a call falls under.
fn place<'a>(call: Call<'a>) -> &'a Path {
    match call {
        Call::Create(path)
        | Call::Write(path, _)
        | Call::Cut(path, _)
        | Call::Sync(path)
        | Call::Rename(_, path)
        | Call::Remove(path)
        | Call::MakeFolder(path)
        | Call::RemoveFolder(path)
        | Call::SyncFolder(path) => path,
    }
}

// The same on every system this runs on: "No space left on device", "Input/output error".
const ENOSPC: i32 = 28;
const EIO: i32 = 5;
