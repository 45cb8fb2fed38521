//! The metadata of the files of a run: whether they may be read, and whether they changed.

use boostfgl_report::{CellStore, Comparison, RunFolder};
use std::fs::Metadata;
use std::path::Path;
use std::time::SystemTime;

/// Every file of a run that is read; first those that the list needs.
pub(super) const ALL: [&str; 11] = [
    RunFolder::CONFIG,
    RunFolder::ROUNDS,
    RunFolder::SUMMARY,
    RunFolder::PARTITION_STATS,
    RunFolder::DIAGNOSTICS,
    RunFolder::PREDICTIONS,
    RunFolder::PARTITION,
    RunFolder::MODEL,
    RunFolder::STATE,
    RunFolder::REPORT,
    RunFolder::CHECKSUMS,
];

/// Every file of a comparison that is read, except its cells; first those that the list needs.
pub(super) const COMPARISON: [&str; 10] = [
    Comparison::FILE,
    RunFolder::CHECKSUMS,
    "comparison.json.b3",
    Comparison::FORMS[0],
    Comparison::FORMS[1],
    Comparison::FORMS[2],
    Comparison::FORMS[3],
    Comparison::FORMS[4],
    Comparison::FORMS[5],
    RunFolder::REPORT,
];

/// The number of files of a comparison that the list needs.
pub(super) const OF_COMPARISON: usize = 3;

/// The files of a run that the list needs.
pub(super) const FOR_LIST: [&str; 3] = [RunFolder::CONFIG, RunFolder::ROUNDS, RunFolder::SUMMARY];

/// Indexes into [`ALL`] and [`FOR_LIST`].
const ROUNDS: usize = 1;
const SUMMARY: usize = 2;

/// Time and length of a file. With the same stamp it is assumed to have the same content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) modified: SystemTime,
    pub(crate) length: u64,
}

/// The stamps of a list of files; `None` for a file that does not exist.
pub(crate) type Stamps = Vec<Option<Stamp>>;

/// The metadata of the files of a run.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pub(crate) stamps: Stamps,
    /// Files that must not be read, one sentence each.
    pub(crate) problems: Vec<String>,
}

impl Files {
    /// Reads the metadata of files of a run below `root`.
    pub(super) fn stat(root: &Path, run: &Path, names: &[&str]) -> Self {
        let mut files = Self::default();
        for name in names {
            let found = inspect(root, &run.join(name));
            let stamp = found.as_ref().ok().and_then(|file| file.as_ref().map(stamp));
            files.stamps.push(stamp);
            files.problems.extend(found.err().map(|reason| format!("{name}: {reason}")));
        }
        files
    }

    /// Reads the metadata of the files of a comparison below `root`, with its cells.
    pub(super) fn of_comparison(root: &Path, folder: &Path) -> Self {
        let mut files = Self::stat(root, folder, &COMPARISON);
        let cells = folder.join(CellStore::FOLDER).read_dir().into_iter().flatten().flatten();
        let mut names: Vec<String> = cells
            .filter_map(|cell| {
                Some(format!("{}/{}", CellStore::FOLDER, cell.file_name().to_str()?))
            })
            .collect();
        names.sort();
        let cells = Self::stat(root, folder, &names.iter().map(String::as_str).collect::<Vec<_>>());
        files.stamps.extend(cells.stamps);
        files.problems.extend(cells.problems);
        files
    }

    /// Whether lines were added to `rounds.jsonl` since `before` and nothing else changed.
    pub(crate) fn only_grew(&self, before: &Stamps) -> bool {
        let mut pairs = self.stamps.iter().zip(before).enumerate();
        pairs.all(|(at, (now, before))| match (at, now, before) {
            (ROUNDS, Some(now), Some(before)) => now.length > before.length,
            _ => now == before,
        })
    }

    /// Whether there is a `summary.json`.
    pub(crate) fn has_summary(&self) -> bool {
        self.stamps.get(SUMMARY).is_some_and(Option::is_some)
    }

    /// When the run last wrote what the list needs.
    pub(crate) fn changed(&self) -> Option<SystemTime> {
        self.stamps.iter().take(FOR_LIST.len()).flatten().map(|stamp| stamp.modified).max()
    }
}

/// The metadata of a file; `None` if there is no such file.
///
/// # Errors
/// Why it must not be read: a symbolic link could expose a file outside the folder as the
/// configuration of a run, and reading a pipe could block for ever.
fn inspect(root: &Path, path: &Path) -> Result<Option<Metadata>, &'static str> {
    let Ok(mut file) = path.symlink_metadata() else { return Ok(None) };
    if file.is_symlink() {
        let Ok(target) = path.canonicalize() else { return Ok(None) };
        if !target.starts_with(root) {
            return Err(
                "expected a file, found a symbolic link to a place outside the folder; the run is not \
                 read",
            );
        }
        let Ok(metadata) = target.metadata() else { return Ok(None) };
        file = metadata;
    }
    if file.is_file() || file.is_dir() {
        return Ok(Some(file));
    }
    Err("expected a file, found a pipe, socket or device; the run is not read")
}

fn stamp(file: &Metadata) -> Stamp {
    Stamp { modified: file.modified().unwrap_or(SystemTime::UNIX_EPOCH), length: file.len() }
}
