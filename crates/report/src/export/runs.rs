//! The runs of an export under names that tell them apart.

use crate::{RunView, State};
use std::collections::HashSet;

/// A run and what every one of its rows is called.
#[derive(Debug)]
pub(super) struct Run<'a> {
    pub(super) view: &'a RunView,
    /// The name of its folder; with a number if another run has the same.
    pub(super) name: String,
    /// The dataset, if anything says so.
    pub(super) dataset: Option<&'a str>,
    /// The method with its boosts.
    pub(super) method: String,
}

impl Run<'_> {
    /// Where it stands, in a word.
    pub(super) fn state(&self) -> &'static str {
        match self.view.state() {
            State::Finished => "finished",
            State::Unfinished => "unfinished",
            State::Broken => "broken",
        }
    }
}

/// Names the runs: the first of a name keeps it, others become `NAME-2` and so on.
pub(super) fn runs(views: &[RunView]) -> Vec<Run<'_>> {
    // A number must not make a name that a later folder has by itself.
    let mut taken: HashSet<String> = HashSet::new();
    let own: HashSet<&str> = views.iter().map(|view| &view.name[..]).collect();
    let mut named = |view: &RunView| {
        let numbered = (2u64..).map(|n| format!("{}-{n}", view.name)).filter(|name| !own.contains(&name[..]));
        let name = std::iter::once(view.name.clone()).chain(numbered).find(|name| !taken.contains(name));
        let name = name.unwrap_or_default();
        taken.insert(name.clone());
        name
    };
    let run = |view| Run { view, name: named(view), dataset: view.dataset(), method: view.label() };
    views.iter().map(run).collect()
}
