//! The row of a comparison in the list.

use super::files::{COMPARISON, Files, OF_COMPARISON, Stamps};
use super::row::{Kind, ListRow};
use super::search::RunPath;
use boostfgl_report::{Comparison, State};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// The row of a comparison, cached until its files change.
#[derive(Debug, Default)]
pub(super) struct CachedComparison {
    stamps: Stamps,
    row: Option<Arc<ListRow>>,
}

impl CachedComparison {
    /// The current row.
    pub(super) fn refresh(&mut self, root: &Path, folder: &RunPath) -> Option<Arc<ListRow>> {
        let files = Files::stat(root, &folder.path, &COMPARISON[..OF_COMPARISON]);
        if self.row.is_none() || self.stamps != files.stamps || !files.problems.is_empty() {
            self.row = Some(Arc::new(read(folder, &files)));
        }
        self.stamps = files.stamps;
        self.row.clone()
    }
}

/// Reads the row of a comparison.
fn read(folder: &RunPath, files: &Files) -> ListRow {
    let changed = files
        .stamps
        .iter()
        .flatten()
        .map(|stamp| stamp.modified)
        .max()
        .unwrap_or(SystemTime::UNIX_EPOCH);
    let mut row = ListRow {
        name: folder.name.clone(),
        kind: Kind::Comparison,
        dataset: None,
        label: String::new(),
        rounds: (0, None),
        scores: None,
        changed,
        problems: files.problems.clone(),
        state: State::Broken,
    };
    if !row.problems.is_empty() {
        return row;
    }
    // A list shows no curves, so the cells are not read.
    match Comparison::read(folder.path.join(Comparison::FILE)) {
        Ok(comparison) => {
            let datasets: Vec<&str> =
                comparison.datasets.iter().map(|block| &block.name[..]).collect();
            let methods: Vec<&str> =
                comparison.methods.iter().map(|method| &method.label[..]).collect();
            row.dataset = Some(datasets.join(", "));
            row.label = methods.join(", ");
            let (ran, cells) = comparison.progress();
            row.rounds = (ran, Some(cells));
            row.state = State::Finished;
        }
        Err(error) => {
            let place = format!("{}{}", folder.path.display(), std::path::MAIN_SEPARATOR);
            row.problems.push(error.to_string().replace(&place, ""));
        }
    }
    row
}
