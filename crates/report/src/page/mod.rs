//! The report: one self-contained page from one or more runs.

use crate::RunView;

/// The style of every page, light and dark, on a screen, on a phone and on paper.
pub const STYLE: &str = include_str!("style.css");

/// Shows the numbers of a mark where the pointer or the finger is.
pub const SCRIPT: &str = include_str!("hover.js");

/// A report of one or more runs.
#[derive(Debug)]
pub struct Report {
    views: Vec<RunView>,
}

impl Report {
    /// A report of these runs, in this order; the first is the base of comparisons.
    pub fn new(views: Vec<RunView>) -> Self {
        Self { views }
    }

    /// What it is called.
    pub fn title(&self) -> String {
        self.views.iter().map(RunView::label).collect::<Vec<_>>().join(", ")
    }

    /// The content of the page: what stands inside `<main>`.
    pub fn main(&self) -> String {
        String::new()
    }

    /// The whole page, with style and script in it.
    pub fn html(&self) -> String {
        self.main()
    }
}

/// The curves and the latest scores of a run that may still go on: what a live page shows.
pub fn course(view: &RunView) -> String {
    view.label()
}
