//! The report: one self-contained page from one or more runs.
//!
//! Runs of one dataset under one protocol make a [`RunGroup`]; each runs gets the sections of
//! `SECTIONS`, in order. A section is one file that turns a runs into charts and tables, or into
//! nothing if what it needs was not recorded.

mod about;
mod against;
mod clients;
mod comparison;
mod convergence;
mod cost;
mod diagnostics;
mod group_scores;
mod groups;
mod partition;
mod refused;
mod run_group;
mod setup;
mod sweep;
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

/// What the words of every verdict mean.
const RULE: &str = "Ahead and behind: the 95 % bootstrap interval of the paired differences \
    leaves out 0 and the signed-rank test, \
    adjusted after Holm over the methods, agrees (p below 0.05). Leans: the interval alone leaves \
    out 0.";

/// A part of the page: where links lead, its heading, and how it is made; `None` if there is
/// nothing to show.
type Section = (&'static str, &'static str, fn(&RunGroup) -> Option<String>);

/// A section that was made: where links lead, its heading, its content.
type Rendered = (&'static str, &'static str, String);

/// The sections of a runs, in order.
const SECTIONS: [Section; 13] = [
    ("warnings", "Warnings", about::warnings),
    ("verdict", "For whom does it work?", verdict::section),
    ("about", "What the numbers are about", about::section),
    ("groups", "Groups of nodes", groups::section),
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
    /// Figures of experiments, under their names.
    figures: Vec<(String, Vec<Chart>)>,
    problems: Vec<String>,
}

impl Report {
    /// A report of these runs, in this order; the first of a runs is the base of its comparisons.
    pub fn new(views: Vec<RunView>) -> Self {
        let named = |view: &RunView| {
            let name = view.name.clone();
            view.problems
                .iter()
                .map(move |problem| format!("{name}: {problem}"))
                .collect::<Vec<_>>()
        };
        let problems = views.iter().flat_map(named).collect();
        Self {
            problems,
            sweeps: sweep::charts(&views),
            run_groups: run_group::run_groups(views),
            ..Self::default()
        }
    }

    /// The same where groups of fewer counted test nodes than `min_group` are shown, but not
    /// ranked.
    #[must_use]
    pub fn with_min_group(mut self, min_group: usize) -> Self {
        self.run_groups.iter_mut().for_each(|runs| runs.min_group = min_group);
        self
    }

    /// Adds a comparison: one runs per dataset, with the curves of its cells where they were
    /// kept.
    pub fn compare(&mut self, comparison: Comparison, curves: &[(String, Vec<Curve>)]) {
        let Comparison { base, seeds, methods, datasets, pooled, program, .. } = comparison;
        self.pooled.extend(pooled.map(|block| (block, base.clone())));
        for block in datasets {
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
            self.run_groups.push(runs);
        }
    }

    /// Adds the results of an experiment: its figure, and its methods side by side if nothing else
    /// varies.
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

    /// Adds what is wrong with something that was to be shown.
    pub fn problem(&mut self, problem: impl Into<String>) {
        self.problems.push(problem.into());
    }

    /// What it is called.
    pub fn title(&self) -> String {
        let of = |runs: &RunGroup| format!("{} on {}", runs.labels().join(", "), runs.dataset);
        match &self.run_groups[..] {
            [] if self.figures.is_empty() => "No run".to_owned(),
            [] => "Experiments".to_owned(),
            [one] => of(one),
            several => {
                let mut names: Vec<&str> = several.iter().map(|runs| &runs.dataset[..]).collect();
                names.dedup();
                format!("{} on {}", several[0].labels().join(", "), names.join(", "))
            }
        }
    }

    /// The content of the page: what stands inside `<main>`.
    pub fn main(&self) -> String {
        self.content(&self.rendered())
    }

    /// The sections of every runs.
    fn rendered(&self) -> Vec<Vec<Rendered>> {
        let of = |runs: &RunGroup| {
            let made =
                SECTIONS.iter().filter_map(|(id, title, make)| Some((*id, *title, make(runs)?)));
            made.collect()
        };
        self.run_groups.iter().map(of).collect()
    }

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
        self.pooled.iter().for_each(|(block, base)| page.raw(&comparison::pooled(block, base)));
        for (at, (runs, sections)) in self.run_groups.iter().zip(rendered).enumerate() {
            page.raw(&self.runs(at, runs, sections));
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

    /// Says which runs are shown apart, and why.
    fn apart(&self, page: &mut Markup) {
        page.raw("<h2 id=\"apart\">Shown apart</h2>");
        page.text(
            "p",
            &[],
            "Runs of different datasets or protocols cannot be averaged or compared in pairs. \
             Each has its own part below.",
        );
        let rows: Vec<Vec<String>> = self.run_groups.iter().map(RunGroup::told).collect();
        page.table(&["dataset", "methods", "what sets it apart"].map(str::to_owned), &rows);
    }

    fn runs(&self, at: usize, runs: &RunGroup, sections: &[Rendered]) -> String {
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

    /// Links to the sections.
    fn links(&self, rendered: &[Vec<Rendered>]) -> String {
        let mut page = Markup::default();
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

    /// The whole page, with style and script in it: it opens from disk and asks nobody for
    /// anything.
    pub fn html(&self) -> String {
        let (title, rendered) = (escaped(&self.title()), self.rendered());
        let mut html =
            String::from("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
        // Strings never fail to grow.
        let _ = writeln!(
            html,
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <meta name=\"generator\" content=\"boostfgl {}\"><title>{title}</title>\
             <link rel=\"icon\" href=\"data:,\"><style>{STYLE}</style></head><body>\
             <header><h1>{title}</h1><p class=\"sub\">Federated graph learning: who is served how \
             well, and how sure that is.</p>\
             </header><nav aria-label=\"Sections\">{}</nav><main>{}</main>\
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

/// Curves and heat maps of runs that differ in one or two settings alone; nothing for fewer than
/// three of them.
pub fn sweeps(views: &[RunView]) -> Vec<Chart> {
    sweep::charts(views)
}

/// The curves and the latest scores of a run that may still go on: what a live page shows.
pub fn course(view: &RunView) -> String {
    convergence::live(view)
}
