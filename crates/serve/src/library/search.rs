//! Finding run folders and comparisons.

use boostfgl_report::{CellStore, Comparison, RunFolder};
use std::path::{Path, PathBuf};

/// The depth of the search: `runs/a/b/c`.
pub(super) const LEVELS: usize = 3;

/// The most folders that are searched: a limit in case a home folder is served by mistake.
const MOST_FOLDERS: usize = 20_000;

/// A folder with one of these files is a run.
const RUN_FILES: [&str; 3] = [RunFolder::CONFIG, RunFolder::ROUNDS, RunFolder::SUMMARY];

/// Folders of a comparison, which hold no runs.
const OF_COMPARISONS: [&str; 2] = [CellStore::FOLDER, "config"];

/// A run folder, or the folder of a comparison.
#[derive(Debug)]
pub(super) struct RunPath {
    /// Its path below the folder, with `/` between the parts; empty for the folder itself.
    pub(super) name: String,
    pub(super) path: PathBuf,
}

/// The result of a search.
#[derive(Debug, Default)]
pub(super) struct SearchResult {
    pub(super) runs: Vec<RunPath>,
    pub(super) comparisons: Vec<RunPath>,
    /// The skipped folders, one sentence each.
    pub(super) notes: Vec<String>,
}

/// All runs and comparisons below a folder. Symbolic links are skipped: their targets are outside,
/// or are found in their own place.
pub(super) fn search(root: &Path) -> SearchResult {
    let mut found = SearchResult::default();
    let (mut visited, mut unlisted) = (0, 0);
    let mut pending = vec![(RunPath { name: String::new(), path: root.to_path_buf() }, 0)];
    while let Some((folder, depth)) = pending.pop() {
        if visited == MOST_FOLDERS {
            found.notes.push(format!(
                "Only the first {MOST_FOLDERS} folders were searched; there are more."
            ));
            break;
        }
        visited += 1;
        let Ok(entries) = folder.path.read_dir() else { continue };
        let (mut run, mut comparison, mut inside) = (false, false, Vec::new());
        for entry in entries.flatten() {
            let name = entry.file_name();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            run |= !is_folder && RUN_FILES.iter().any(|file| name == *file);
            comparison |= !is_folder && name == Comparison::FILE;
            if !is_folder || depth == LEVELS || name == RunFolder::CHECKPOINT {
                continue;
            }
            match name.to_str().filter(|name| is_plain(name)) {
                Some(hidden) if hidden.starts_with('.') => {}
                Some(name) => inside.push(name.to_owned()),
                None => unlisted += 1,
            }
        }
        inside.retain(|name| !comparison || !OF_COMPARISONS.contains(&&name[..]));
        pending.extend(inside.iter().map(|name| (below(&folder, name), depth + 1)));
        match (run, comparison) {
            (true, _) => found.runs.push(folder),
            (false, true) => found.comparisons.push(folder),
            (false, false) => {}
        }
    }
    if unlisted > 0 {
        found.notes.push(format!(
            "Folders whose names cannot be part of a URL are not listed: {unlisted}."
        ));
    }
    found
}

/// A folder inside another.
fn below(folder: &RunPath, name: &str) -> RunPath {
    let full =
        if folder.name.is_empty() { name.to_owned() } else { format!("{}/{name}", folder.name) };
    RunPath { name: full, path: folder.path.join(name) }
}

/// Whether a folder is a run.
pub(super) fn is_run(path: &Path) -> bool {
    path.is_dir() && RUN_FILES.iter().any(|file| has_file(path, file))
}

/// Whether a folder is a comparison, and no run.
pub(super) fn is_comparison(path: &Path) -> bool {
    path.is_dir() && has_file(path, Comparison::FILE) && !is_run(path)
}

/// Whether a folder contains an entry of this name that is not a folder. Links are not followed.
fn has_file(folder: &Path, name: &str) -> bool {
    folder.join(name).symlink_metadata().is_ok_and(|file| !file.is_dir())
}

/// Whether a part of a path is a plain name: no separator, `..`, drive or stream.
pub(super) fn is_plain(part: &str) -> bool {
    !matches!(part, "" | "." | "..") && !part.contains(is_special)
}

/// Whether a character may separate parts of a path, or be invisible.
fn is_special(c: char) -> bool {
    matches!(c, '/' | '\\') || c.is_control() || (cfg!(windows) && c == ':')
}
