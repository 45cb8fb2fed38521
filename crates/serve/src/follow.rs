//! A run that may still go on, looked at again and again.

use crate::events::News;
use crate::html;
use crate::library::{Files, Library, Stamps, Standing};
use crate::list;
use boostfgl_report::{Depth, RunFolder, RunView, page};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// What was seen of a run at the last look. A look at files that did not change costs no more than
/// asking for their stamps.
#[derive(Debug)]
pub(crate) struct Follower {
    library: Arc<Library>,
    name: String,
    seen: Option<Seen>,
}

#[derive(Debug)]
struct Seen {
    view: RunView,
    stamps: Stamps,
    /// Problems of the rounds that are already among those of the view.
    told: usize,
    /// Curves and problems as HTML.
    body: String,
}

impl Follower {
    pub(crate) fn new(library: Arc<Library>, name: String) -> Self {
        Self { library, name, seen: None }
    }

    /// How the run stands now.
    pub(crate) fn look(&mut self) -> News {
        let Some(path) = self.library.locate(&self.name) else { return News::gone() };
        let files = self.library.files(&path);
        // A folder that went away while it was read was read in pieces.
        if !self.refresh(&path, &files) || self.library.locate(&self.name).is_none() {
            self.seen = None;
            return News::gone();
        }
        let Some(seen) = &self.seen else { return News::gone() };
        if seen.view.summary.is_some() {
            News::end()
        } else {
            News::part(fragment(&seen.view, &files, &seen.body))
        }
    }

    /// Reads what changed; false if the run has gone.
    fn refresh(&mut self, path: &Path, files: &Files) -> bool {
        let kept = |seen: &mut Seen| seen.stamps == files.stamps || seen.grew(path, files);
        if !self.seen.as_mut().is_some_and(kept) {
            let view = self.library.view(&self.name, Depth::Rounds);
            self.seen = view.map(|view| Seen::new(view, files.stamps.clone()));
        }
        self.seen.is_some()
    }
}

impl Seen {
    fn new(view: RunView, stamps: Stamps) -> Self {
        let told = view.rounds.as_ref().map_or(0, |rounds| rounds.problems.len());
        let body = body(&view);
        Self { view, stamps, told, body }
    }

    /// Takes in new rounds if nothing but those changed.
    fn grew(&mut self, path: &Path, files: &Files) -> bool {
        let added = files.only_grew(&self.stamps) && self.view.path == path;
        let Some(rounds) = self.view.rounds.as_mut().filter(|_| added) else { return false };
        if rounds.follow().is_err() {
            return false;
        }
        let new = rounds.problems.iter().skip(self.told);
        let new: Vec<String> =
            new.map(|problem| format!("{}: {problem}", RunFolder::ROUNDS)).collect();
        self.told = rounds.problems.len();
        self.view.problems.extend(new);
        self.stamps.clone_from(&files.stamps);
        self.body = body(&self.view);
        true
    }
}

/// What a live page shows of an unfinished run.
pub(crate) fn course(view: &RunView, files: &Files) -> String {
    fragment(view, files, &body(view))
}

fn body(view: &RunView) -> String {
    html::problems(&view.problems) + &page::course(view)
}

fn fragment(view: &RunView, files: &Files, body: &str) -> String {
    let changed = files.changed().unwrap_or(SystemTime::UNIX_EPOCH);
    let standing =
        Standing::of(view.state(), files.has_summary() || !files.problems.is_empty(), changed);
    format!(
        "<p class=\"serve-standing\"><strong class=\"serve-{state}\" \
         title=\"{meaning}\">{state}</strong> {progress} \
         rounds, last change {changed}</p>{body}",
        state = standing.name(),
        meaning = standing.meaning(),
        progress = list::progress(view.progress()),
        changed = crate::date::html(changed),
    )
}
