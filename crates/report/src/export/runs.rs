//! The runs of an export under distinct names.

use crate::{RunView, State};
use std::collections::HashSet;

/// A run with the values that every one of its rows has.
#[derive(Debug)]
pub(super) struct Run<'a> {
    pub(super) view: &'a RunView,
    /// The name of its folder, with a number if another run has the same.
    pub(super) name: String,
    /// The dataset, if it is known.
    pub(super) dataset: Option<&'a str>,
    /// The method with its boosts.
    pub(super) method: String,
}

impl Run<'_> {
    /// Its state as a word.
    pub(super) fn state(&self) -> &'static str {
        match self.view.state() {
            State::Finished => "finished",
            State::Unfinished => "unfinished",
            State::Broken => "broken",
        }
    }
}

/// Gives the runs distinct names: `NAME`, `NAME-2` and so on.
pub(super) fn runs(views: &[RunView]) -> Vec<Run<'_>> {
    let names = distinct(views.iter().map(|view| &view.name[..]));
    let named = views.iter().zip(names);
    named
        .map(|(view, name)| Run { view, name, dataset: view.dataset(), method: view.label() })
        .collect()
}

/// Makes names distinct: the first of a name keeps it, others become `NAME-2` and so on.
pub(super) fn distinct<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Vec<String> {
    let own: HashSet<&str> = names.clone().collect();
    let mut taken: HashSet<String> = HashSet::new();
    let mut distinct = Vec::new();
    for name in names {
        // A numbered name must not equal the plain name of a later run.
        let numbered =
            (2u64..).map(|n| format!("{name}-{n}")).filter(|name| !own.contains(&name[..]));
        let free =
            std::iter::once(name.to_owned()).chain(numbered).find(|name| !taken.contains(name));
        let free = free.unwrap_or_default();
        taken.insert(free.clone());
        distinct.push(free);
    }
    distinct
}
