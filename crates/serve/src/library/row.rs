//! The row of a run in the list.

use super::files::{FOR_LIST, Files, Stamp};
use super::search::RunPath;
use boostfgl_report::{Depth, RunFolder, RunView, State};
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A run that wrote a file within this time counts as running.
const RECENT: Duration = Duration::from_secs(60);

/// The kind of a row of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Run,
    Comparison,
}

/// A run or a comparison in the list.
#[derive(Clone, Debug)]
pub(crate) struct ListRow {
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

/// The current status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// It has its summary.
    Finished,
    /// Methods side by side, as `boostfgl compare` wrote them.
    Compared,
    /// It wrote something within the last minute.
    Running,
    /// It did not.
    Stopped,
    /// It, or its summary, cannot be read.
    Broken,
}

impl Status {
    /// The status of a run in `state`, last written at `changed`. If it has a summary and is
    /// unfinished nevertheless, the summary cannot be read.
    pub(crate) fn of(state: State, has_summary: bool, changed: SystemTime) -> Self {
        match state {
            State::Finished => Self::Finished,
            State::Broken => Self::Broken,
            State::Unfinished if has_summary => Self::Broken,
            // A modification time in the future comes from a clock that is ahead.
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

impl ListRow {
    pub(crate) fn status(&self) -> Status {
        match (self.kind, self.state) {
            (Kind::Comparison, State::Finished) => Status::Compared,
            // An unreadable summary has already made the state broken.
            (_, state) => Status::of(state, false, self.changed),
        }
    }
}

/// The row of a run, cached until its files change.
#[derive(Debug, Default)]
pub(super) struct CachedRow {
    stamps: [Option<Stamp>; 3],
    row: Option<Arc<ListRow>>,
    lines: Lines,
}

impl CachedRow {
    /// The current row; `None` if the folder is no longer there.
    pub(super) fn refresh(&mut self, root: &Path, run: &RunPath) -> Option<Arc<ListRow>> {
        let files = Files::stat(root, &run.path, &FOR_LIST);
        let stamps = [files.stamps[0], files.stamps[1], files.stamps[2]];
        let cached = self.row.take().filter(|_| files.problems.is_empty());
        self.row = match cached {
            Some(row) if self.stamps == stamps => Some(row),
            // Only rounds were added: the rest of the row is still valid.
            Some(row) if [self.stamps[0], self.stamps[2]] == [stamps[0], stamps[2]] => {
                let rounds = self.rounds(row.state, row.rounds.1, &run.path);
                let changed = files.changed().unwrap_or(row.changed);
                Some(Arc::new(ListRow { rounds, changed, ..(*row).clone() }))
            }
            _ => self.read(run, &files).map(Arc::new),
        };
        self.stamps = stamps;
        self.row.clone()
    }

    fn read(&mut self, run: &RunPath, files: &Files) -> Option<ListRow> {
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
        // A link to a place outside the folder must not be opened, not even to count lines.
        let rounds = if files.problems.is_empty() {
            self.rounds(state, total, &run.path)
        } else {
            (0, total)
        };
        Some(ListRow {
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

    /// A finished run has done all its rounds; for others, the lines of the file are counted.
    fn rounds(&mut self, state: State, total: Option<usize>, run: &Path) -> (usize, Option<usize>) {
        match (state, total) {
            (State::Finished, Some(total)) => (total, Some(total)),
            (_, total) => (self.lines.count(&run.join(RunFolder::ROUNDS)), total),
        }
    }
}

/// Counts the complete lines of a growing file. A list needs no more of the rounds.
#[derive(Debug, Default)]
struct Lines {
    read: u64,
    lines: usize,
}

impl Lines {
    fn count(&mut self, path: &Path) -> usize {
        // An error is ignored: the file may be readable at the next call.
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
