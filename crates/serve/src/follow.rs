//! Updates of the page of a run that may still be training.

use crate::events::PageUpdate;
use crate::html;
use crate::library::{Files, Library, Stamps, Status};
use crate::list;
use boostfgl_report::{Depth, RunFolder, RunView, page};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// Caches a run as it was last read. If no file changed, only the stamps of the files are read.
#[derive(Debug)]
pub(crate) struct Follower {
    library: Arc<Library>,
    name: String,
    last: Option<LastRead>,
}

/// A run as it was last read.
#[derive(Debug)]
struct LastRead {
    view: RunView,
    stamps: Stamps,
    /// The number of problems of the rounds that are already among those of the view.
    copied_problems: usize,
    /// Curves and problems as HTML.
    body: String,
}

impl Follower {
    pub(crate) fn new(library: Arc<Library>, name: String) -> Self {
        Self { library, name, last: None }
    }

    /// The update for pages that show the run.
    pub(crate) fn update(&mut self) -> PageUpdate {
        let Some(path) = self.library.locate(&self.name) else { return PageUpdate::gone() };
        let files = self.library.files(&path);
        // If the folder was removed in the meantime, it may have been read incompletely.
        if !self.refresh(&path, &files) || self.library.locate(&self.name).is_none() {
            self.last = None;
            return PageUpdate::gone();
        }
        let Some(last) = &self.last else { return PageUpdate::gone() };
        if last.view.summary.is_some() {
            PageUpdate::end()
        } else {
            PageUpdate::part(fragment(&last.view, &files, &last.body))
        }
    }

    /// Reads what changed; false if the run is no longer there.
    fn refresh(&mut self, path: &Path, files: &Files) -> bool {
        let is_current = match &mut self.last {
            Some(last) => last.stamps == files.stamps || last.add_rounds(path, files),
            None => false,
        };
        if !is_current {
            let view = self.library.view(&self.name, Depth::Rounds);
            self.last = view.map(|view| LastRead::new(view, files.stamps.clone()));
        }
        self.last.is_some()
    }
}

impl LastRead {
    fn new(view: RunView, stamps: Stamps) -> Self {
        let copied_problems = view.rounds.as_ref().map_or(0, |rounds| rounds.problems.len());
        let body = body(&view);
        Self { view, stamps, copied_problems, body }
    }

    /// Reads the new rounds, if nothing else changed; false if the run has to be read again.
    fn add_rounds(&mut self, path: &Path, files: &Files) -> bool {
        let added = files.only_grew(&self.stamps) && self.view.path == path;
        let Some(rounds) = self.view.rounds.as_mut().filter(|_| added) else { return false };
        if rounds.follow().is_err() {
            return false;
        }
        let new = rounds.problems.iter().skip(self.copied_problems);
        let new: Vec<String> =
            new.map(|problem| format!("{}: {problem}", RunFolder::ROUNDS)).collect();
        self.copied_problems = rounds.problems.len();
        self.view.problems.extend(new);
        self.stamps.clone_from(&files.stamps);
        self.body = body(&self.view);
        true
    }
}

/// The section of a live page on an unfinished run.
pub(crate) fn live_section(view: &RunView, files: &Files) -> String {
    fragment(view, files, &body(view))
}

/// Problems and curves.
fn body(view: &RunView) -> String {
    html::problems(&view.problems) + &page::course(view)
}

/// The line with the status, then `body`.
fn fragment(view: &RunView, files: &Files, body: &str) -> String {
    let changed = files.changed().unwrap_or(SystemTime::UNIX_EPOCH);
    let status =
        Status::of(view.state(), files.has_summary() || !files.problems.is_empty(), changed);
    format!(
        "<p class=\"serve-standing\"><strong class=\"serve-{state}\" \
         title=\"{meaning}\">{state}</strong> {progress} \
         rounds, last change {changed}</p>{body}",
        state = status.name(),
        meaning = status.meaning(),
        progress = list::progress(view.progress()),
        changed = crate::date::html(changed),
    )
}
