//! The report: one self-contained page from one or more runs.
//!
//! Runs that make fair pairs are a [`RunGroup`]. Each group gets the sections of
//! `SECTIONS`, in order. A section is one file that turns a group into charts and tables, or into
//! nothing if its data were not recorded.

mod about;
mod against;
mod clients;
mod comparison;
mod convergence;
mod cost;
mod diagnostics;
mod differs;
mod fairness;
mod group_scores;
mod groups;
mod pairing;
mod partition;
mod refused;
mod run_group;
mod setup;
mod sweep;
mod varied;
mod verdict;
mod weights;

pub use run_group::{Curve, RunGroup};

use crate::chart::Chart;
use crate::figure;
use crate::markup::{Markup, escaped};
use crate::{Comparison, Origin, Results, RunView};
use std::fmt::Write as _;

/// The style of every page, light and dark, on a screen, on a phone and on paper.
pub const STYLE: &str = include_str!("style.css");

/// Shows the numbers of a mark where the pointer or the finger is.
pub const SCRIPT: &str = include_str!("hover.js");

/// The definition of the words in verdicts.
const RULE: &str = "Ahead and behind: the 95 % bootstrap interval of the paired differences \
    leaves out 0 and the signed-rank test, \
    adjusted after Holm over the methods, agrees (p below 0.05). Leans: the interval alone leaves \
    out 0.";

/// A part of the page: the target of links, its heading, and the function that renders it. The
/// function returns `None` if there is nothing to show.
type Section = (&'static str, &'static str, fn(&RunGroup) -> Option<String>);

/// A rendered section: the target of links, its heading, its content.
type Rendered = (&'static str, &'static str, String);

/// The sections of a group, in order.
const SECTIONS: [Section; 15] = [
    ("warnings", "Warnings", about::warnings),
    ("verdict", "For whom does it work?", verdict::section),
    ("differs", "What differs between the runs", differs::section),
    ("about", "What the numbers are about", about::section),
    ("groups", "Groups of nodes", groups::section),
    ("fairness", "Protected attributes", fairness::section),
    ("comparison", "Paired differences and ranks", comparison::section),
    ("clients", "Clients", clients::section),
    ("convergence", "Convergence", convergence::section),
    ("partition", "The partition", partition::section),
    ("weights", "Trust and weights", weights::section),
    ("refused", "Refused updates", refused::section),
    ("process", "Where unfairness arises", diagnostics::section),
    ("cost", "Cost", cost::section),
    ("setup", "Configuration and versions", setup::section),
];

/// A report of one or more runs, or of comparisons.
#[derive(Debug, Default)]
pub struct Report {
    run_groups: Vec<RunGroup>,
    /// All datasets of a comparison together.
    pooled: Vec<(crate::Block, String)>,
    sweeps: Vec<Chart>,
    /// What was varied in comparisons.
    varied: Vec<Chart>,
    /// Figures of experiments, under their names.
    figures: Vec<(String, Vec<Chart>)>,
    problems: Vec<String>,
}

impl Report {
    /// A report of these runs, in this order. The first run of a group is the base of its
    /// comparisons.
    pub fn new(views: Vec<RunView>) -> Self {
        let mut problems = Vec::new();
        for view in &views {
            problems.extend(view.problems.iter().map(|text| format!("{}: {text}", view.name)));
        }
        Self {
            problems,
            sweeps: sweep::charts(&views),
            run_groups: run_group::run_groups(views),
            ..Self::default()
        }
    }

    /// Sets the least number of counted test nodes for a group of nodes to be ranked. Smaller
    /// groups are shown, but not ranked.
    #[must_use]
    pub fn with_min_group(mut self, min_group: usize) -> Self {
        self.run_groups.iter_mut().for_each(|runs| runs.min_group = min_group);
        self
    }

    /// Adds a comparison: one run group per dataset, with the curves of its cells where they were
    /// kept.
    pub fn compare(&mut self, comparison: Comparison, curves: &[(String, Vec<Curve>)]) {
        self.varied.extend(varied::charts(&comparison));
        let remarks: Vec<_> =
            (0..comparison.datasets.len()).map(|at| comparison.remarks(at)).collect();
        let Comparison { base, seeds, methods, datasets, pooled, program, .. } = comparison;
        self.pooled.extend(pooled.map(|block| (block, base.clone())));
        for (block, remarks) in datasets.into_iter().zip(remarks) {
            let curves = curves
                .iter()
                .find(|(name, _)| *name == block.name)
                .map(|(_, curves)| curves.clone());
            let runs = RunGroup::of_block(
                block,
                &base,
                &seeds,
                &methods,
                &program,
                curves.unwrap_or_default(),
            );
            self.run_groups.push(runs.with_remarks(remarks));
        }
    }

    /// Adds the results of an experiment: its figure, and a comparison of its methods if nothing
    /// else varies.
    pub fn experiment(&mut self, results: &Results) {
        if results.name == "table1" {
            Comparison::of_results(results)
                .into_iter()
                .for_each(|comparison| self.compare(comparison, &[]));
        }
        let charts = figure::charts(results);
        if !charts.is_empty() {
            let Origin { command, machine, .. } = &results.origin;
            self.figures.push((format!("{}: {command}, {machine}", results.name), charts));
        }
    }

    /// Adds a problem with an input, shown at the top of the page.
    pub fn problem(&mut self, problem: impl Into<String>) {
        self.problems.push(problem.into());
    }

    /// The title of the page.
    pub fn title(&self) -> String {
        match &self.run_groups[..] {
            [] if self.figures.is_empty() => "No run".to_owned(),
            [] => "Experiments".to_owned(),
            groups => {
                let mut names: Vec<&str> = groups.iter().map(|runs| &runs.dataset[..]).collect();
                names.dedup();
                format!("{} on {}", groups[0].named, names.join(", "))
            }
        }
    }

    /// The content of the page, inside `<main>`.
    pub fn main(&self) -> String {
        self.content(&self.rendered())
    }

    /// The sections of every run group.
    fn rendered(&self) -> Vec<Vec<Rendered>> {
        self.run_groups.iter().map(sections).collect()
    }

    /// Problems, run groups, sweeps and figures, in this order.
    fn content(&self, rendered: &[Vec<Rendered>]) -> String {
        let mut page = Markup::default();
        if !self.problems.is_empty() {
            page.raw("<div class=\"problems\" role=\"note\"><p>What could not be shown:</p><ul>");
            self.problems.iter().for_each(|problem| page.text("li", &[], problem));
            page.raw("</ul></div>");
        }
        if self.run_groups.iter().filter(|runs| !runs.views.is_empty()).count() > 1 {
            self.apart(&mut page);
        }
        if !self.varied.is_empty() {
            page.text("h2", &[("id", &"varied")], "What was varied");
            page.raw("<div class=\"charts\">");
            self.varied.iter().for_each(|chart| page.raw(&chart.html()));
            page.raw("</div>");
        }
        self.pooled.iter().for_each(|(block, base)| page.raw(&comparison::pooled(block, base)));
        for (at, (runs, sections)) in self.run_groups.iter().zip(rendered).enumerate() {
            page.raw(&self.run_group(at, runs, sections));
        }
        let sweeps = (!self.sweeps.is_empty()).then(|| ("Sweeps".to_owned(), self.sweeps.clone()));
        for (at, (title, charts)) in sweeps.iter().chain(&self.figures).enumerate() {
            page.text("h2", &[("id", &format!("figures-{at}"))], title);
            page.raw("<div class=\"charts\">");
            charts.iter().for_each(|chart| page.raw(&chart.html()));
            page.raw("</div>");
        }
        page.finish()
    }

    /// Lists the run groups and the reasons why they are shown apart.
    fn apart(&self, page: &mut Markup) {
        page.raw("<h2 id=\"apart\">Shown apart</h2>");
        page.text(
            "p",
            &[],
            "A pair of runs is fair only on the same data, partition, split, groups of nodes and \
             seeds. What differs in one of these has its own part below.",
        );
        let rows: Vec<Vec<String>> = self.run_groups.iter().map(RunGroup::overview).collect();
        page.table(&["dataset", "methods", "what sets it apart"].map(str::to_owned), &rows);
    }

    /// The content of run group number `at`.
    fn run_group(&self, at: usize, runs: &RunGroup, sections: &[Rendered]) -> String {
        let several = self.run_groups.len() > 1;
        let mut page = Markup::default();
        if several {
            page.text("h2", &[("id", &format!("runs-{at}"))], &runs.heading());
        }
        for (id, title, content) in sections {
            let id = if several { format!("{id}-{at}") } else { (*id).to_owned() };
            page.open("section", &[("id", &id)]);
            page.text(if several { "h3" } else { "h2" }, &[], title);
            page.raw(content);
            page.close("section");
        }
        page.finish()
    }

    /// Links to the sections, or to the groups if there are several.
    fn links(&self, rendered: &[Vec<Rendered>]) -> String {
        let mut page = Markup::default();
        if !self.varied.is_empty() {
            page.text("a", &[("href", &"#varied")], "What was varied");
        }
        if let [only] = rendered {
            only.iter()
                .for_each(|(id, title, _)| page.text("a", &[("href", &format!("#{id}"))], title));
        } else {
            for (at, runs) in self.run_groups.iter().enumerate() {
                page.text("a", &[("href", &format!("#runs-{at}"))], &runs.heading());
            }
        }
        page.finish()
    }

    /// The whole page with style and script inline: it opens from disk and loads nothing.
    pub fn html(&self) -> String {
        let (title, rendered) = (escaped(&self.title()), self.rendered());
        let mut html =
            String::from("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
        // Writing to a string never fails.
        let _ = writeln!(
            html,
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <meta name=\"generator\" content=\"boostfgl {}\"><title>{title}</title>\
             <link rel=\"icon\" href=\"data:,\"><style>{STYLE}</style></head><body>\
             <header><h1>{title}</h1><p class=\"sub\">Federated graph learning: scores by \
             group of nodes and by client, and how certain they are.</p></header>\
             <nav aria-label=\"Sections\">{}</nav><main>{}</main>\
             <footer><p>Made by boostfgl {}. This file holds everything it shows; point at a mark \
             for its numbers, or open \
             “Numbers” below a picture.</p></footer><script>{SCRIPT}</script></body></html>",
            env!("CARGO_PKG_VERSION"),
            self.links(&rendered),
            self.content(&rendered),
            env!("CARGO_PKG_VERSION"),
        );
        html
    }
}

/// The sections of a run group that have something to show.
fn sections(runs: &RunGroup) -> Vec<Rendered> {
    SECTIONS.iter().filter_map(|(id, title, render)| Some((*id, *title, render(runs)?))).collect()
}

/// Curves and heat maps of runs that differ only in one or two settings; empty for fewer than three
/// runs.
pub fn sweeps(views: &[RunView]) -> Vec<Chart> {
    sweep::charts(views)
}

/// The curves and the latest scores of a run that may still be training, for a live page.
pub fn course(view: &RunView) -> String {
    convergence::live(view)
}
