//! What the list shows of a run.

use super::files::{FOR_LIST, Files, Stamp};
use super::search::Run;
use boostfgl_report::{Depth, RunFolder, RunView, State};
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Whoever wrote as recently as that is still at it.
const RECENT: Duration = Duration::from_secs(60);

/// What a row of the list is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Run,
    Comparison,
}

/// A run or a comparison in the list.
#[derive(Clone, Debug)]
pub(crate) struct Glance {
    /// Its path below the folder.
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) dataset: Option<String>,
    pub(crate) label: String,
    /// Rounds that are over, and how many there will be; of a comparison its cells.
    pub(crate) rounds: (usize, Option<usize>),
    /// Mean and spread of accuracy and Hete-min-F1, if the run is finished.
    pub(crate) scores: Option<[(Option<f64>, Option<f64>); 2]>,
    /// When it last wrote something.
    pub(crate) changed: SystemTime,
    pub(crate) problems: Vec<String>,
    pub(super) state: State,
}

/// Where a run stands right now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It has its summary.
    Finished,
    /// Methods side by side, as `boostfgl compare` wrote them.
    Compared,
    /// It wrote something within the last minute.
    Running,
    /// It did not.
    Stopped,
    /// It cannot be read, or not its summary.
    Broken,
}

impl Standing {
    /// Of a run in `state` with a summary that may be unreadable, last written at `changed`.
    pub(crate) fn of(state: State, has_summary: bool, changed: SystemTime) -> Self {
        match state {
            State::Finished => Self::Finished,
            State::Broken => Self::Broken,
            State::Unfinished if has_summary => Self::Broken,
            // A file from the future was written just now by a clock that is ahead.
            State::Unfinished if changed.elapsed().map_or(true, |age| age < RECENT) => {
                Self::Running
            }
            State::Unfinished => Self::Stopped,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Compared => "comparison",
            Self::Running => "running",
            Self::Stopped => "stopped",
            Self::Broken => "broken",
        }
    }

    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Finished => "It has its summary.",
            Self::Compared => "Methods side by side, as boostfgl compare wrote them.",
            Self::Running => "It wrote something within the last minute.",
            Self::Stopped => {
                "It wrote nothing for a minute or more: stopped, failed, or in a long round."
            }
            Self::Broken => "It, or its summary, cannot be read.",
        }
    }
}

impl Glance {
    pub(crate) fn standing(&self) -> Standing {
        match (self.kind, self.state) {
            (Kind::Comparison, State::Finished) => Standing::Compared,
            // An unreadable summary has already made the state broken.
            (_, state) => Standing::of(state, false, self.changed),
        }
    }
}

/// A run as it was at the last look.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    stamps: [Option<Stamp>; 3],
    glance: Option<Arc<Glance>>,
    lines: Lines,
}

impl Remembered {
    /// The run as it is now; nothing if the folder has gone.
    pub(super) fn refresh(&mut self, root: &Path, run: &Run) -> Option<Arc<Glance>> {
        let files = Files::look(root, &run.path, &FOR_LIST);
        let stamps = [files.stamps[0], files.stamps[1], files.stamps[2]];
        let known = self.glance.take().filter(|_| files.problems.is_empty());
        self.glance = match known {
            Some(glance) if self.stamps == stamps => Some(glance),
            // A round was added: what was read of the other files still stands.
            Some(glance) if [self.stamps[0], self.stamps[2]] == [stamps[0], stamps[2]] => {
                let rounds = self.rounds(glance.state, glance.rounds.1, &run.path);
                let changed = files.changed().unwrap_or(glance.changed);
                Some(Arc::new(Glance { rounds, changed, ..(*glance).clone() }))
            }
            _ => self.read(run, &files).map(Arc::new),
        };
        self.stamps = stamps;
        self.glance.clone()
    }

    fn read(&mut self, run: &Run, files: &Files) -> Option<Glance> {
        let view = match files.problems.as_slice() {
            [] => RunView::read(&run.path, Depth::Glance).ok()?,
            problems => super::unread(run.path.clone(), &run.name, problems.to_vec()),
        };
        let unreadable =
            view.summary.is_none() && files.has_summary() || !files.problems.is_empty();
        let state = if unreadable { State::Broken } else { view.state() };
        let scores = view.summary.as_ref().map(|summary| {
            let (mean, std) = (summary.mean.0, summary.std.0);
            let accuracy = (mean.accuracy.pooled, std.accuracy.pooled);
            [accuracy, (mean.hete_min_f1.pooled, std.hete_min_f1.pooled)]
        });
        let total = view.progress().1;
        // Of a file that may lead elsewhere, not even the lines are counted.
        let rounds = if files.problems.is_empty() {
            self.rounds(state, total, &run.path)
        } else {
            (0, total)
        };
        Some(Glance {
            name: run.name.clone(),
            kind: Kind::Run,
            dataset: view.dataset().map(str::to_owned),
            label: view.called(),
            rounds,
            scores,
            changed: files.changed().unwrap_or(SystemTime::UNIX_EPOCH),
            problems: view.problems,
            state,
        })
    }

    /// A finished run has done all its rounds; of others, lines are counted.
    fn rounds(&mut self, state: State, total: Option<usize>, run: &Path) -> (usize, Option<usize>) {
        match (state, total) {
            (State::Finished, Some(total)) => (total, Some(total)),
            (_, total) => (self.lines.count(&run.join(RunFolder::ROUNDS)), total),
        }
    }
}

/// Whole lines of a file that grows. Counting them is enough for a list and leaves the rounds
/// unread.
#[derive(Debug, Default)]
struct Lines {
    read: u64,
    lines: usize,
}

impl Lines {
    fn count(&mut self, path: &Path) -> usize {
        // What cannot be read now may be readable at the next look.
        let _ = self.follow(path);
        self.lines
    }

    fn follow(&mut self, path: &Path) -> std::io::Result<()> {
        let mut file = File::open(path)?;
        if file.metadata()?.len() < self.read {
            *self = Self::default();
        }
        file.seek(SeekFrom::Start(self.read))?;
        let mut piece = vec![0; 1 << 16];
        loop {
            let read = file.read(&mut piece)?;
            if read == 0 {
                return Ok(());
            }
            self.read += read as u64;
            self.lines += piece[..read].iter().filter(|byte| **byte == b'\n').count();
        }
    }
}
