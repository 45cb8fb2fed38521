//! What the list shows of a comparison.

use super::files::{COMPARISON, Files, OF_COMPARISON, Stamps};
use super::glance::{Glance, Kind};
use super::search::Run;
use boostfgl_report::{Comparison, State};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// A comparison as it was at the last look.
#[derive(Debug, Default)]
pub(super) struct Compared {
    stamps: Stamps,
    glance: Option<Arc<Glance>>,
}

impl Compared {
    /// The comparison as it is now.
    pub(super) fn refresh(&mut self, root: &Path, folder: &Run) -> Option<Arc<Glance>> {
        let files = Files::look(root, &folder.path, &COMPARISON[..OF_COMPARISON]);
        if self.glance.is_none() || self.stamps != files.stamps || !files.problems.is_empty() {
            self.glance = Some(Arc::new(read(folder, &files)));
        }
        self.stamps = files.stamps;
        self.glance.clone()
    }
}

fn read(folder: &Run, files: &Files) -> Glance {
    let changed = files
        .stamps
        .iter()
        .flatten()
        .map(|stamp| stamp.modified)
        .max()
        .unwrap_or(SystemTime::UNIX_EPOCH);
    let mut glance = Glance {
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
    if !glance.problems.is_empty() {
        return glance;
    }
    // Curves are of no use for a list: the cells stay unread.
    match Comparison::read(folder.path.join(Comparison::FILE)) {
        Ok(comparison) => {
            let names = |of: Vec<&str>| of.join(", ");
            glance.dataset =
                Some(names(comparison.datasets.iter().map(|block| &block.name[..]).collect()));
            glance.label =
                names(comparison.methods.iter().map(|method| &method.label[..]).collect());
            let (ran, cells) = comparison.progress();
            glance.rounds = (ran, Some(cells));
            glance.state = State::Finished;
        }
        Err(error) => {
            let place = format!("{}{}", folder.path.display(), std::path::MAIN_SEPARATOR);
            glance.problems.push(error.to_string().replace(&place, ""));
        }
    }
    glance
}
