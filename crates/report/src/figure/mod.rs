//! The figures of the paper, by name. They are drawn from results of experiments, or of runs
//! ([`Results::of_runs`]).
//!
//! A figure is one file and one line in [`FIGURES`]: results in, one or more charts per dataset
//! out. Values that were not measured leave no chart.

mod alignment;
mod attribution;
mod clients;
mod convergence;
mod dilution;
mod epr;
mod gather;
mod gsd;
mod gsd_q;
mod hardness;
mod heatmap;
mod khop;
mod privacy;
mod robustness;
mod runtime;
mod scores;

pub(crate) use heatmap::sort_as_numbers;

use crate::Results;
use crate::chart::Chart;
use boostfgl_fairness::diagnostics::DiagnosticKind;

/// A figure of the paper.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// The name on the command line.
    pub name: &'static str,
    /// The experiment whose results it shows.
    pub experiment: &'static str,
    /// What it shows, in a line.
    pub about: &'static str,
    /// The figure that gives the same picture for runs and comparisons. This one is then drawn for
    /// its experiment only.
    pub same_as: Option<&'static str>,
    /// The diagnostic that it shows, if any.
    pub diagnostic: Option<DiagnosticKind>,
    draw: fn(&Results) -> Vec<Chart>,
}

/// Every figure.
pub const FIGURES: [Figure; 17] = [
    of_diagnostic(DiagnosticKind::Gsd, gsd::draw),
    Figure {
        name: "gsd-q",
        experiment: "gsd-q",
        about: "the same for any definition of the minority",
        ..of_diagnostic(DiagnosticKind::Gsd, gsd_q::draw)
    },
    of_diagnostic(DiagnosticKind::Epr, epr::draw),
    of_diagnostic(DiagnosticKind::Khop, khop::draw),
    of_diagnostic(DiagnosticKind::Dilution, dilution::draw),
    Figure {
        name: "alignment",
        experiment: "alignment",
        about: "do updates point in the direction that helps the minority?",
        ..of_diagnostic(DiagnosticKind::Dilution, alignment::draw)
    },
    of_diagnostic(DiagnosticKind::Attribution, attribution::draw),
    of_diagnostic(DiagnosticKind::Hardness, hardness::draw),
    figure("heatmap", "sensitivity", "how much do strengths and thresholds matter?", heatmap::draw),
    figure("convergence", "convergence", "how fast do methods converge?", convergence::draw),
    figure("runtime", "runtime", "what do methods cost?", runtime::draw),
    figure("clients", "clients", "what do more clients cost?", clients::draw),
    figure("privacy", "privacy", "what does noise in messages cost?", privacy::draw),
    figure(
        "robustness",
        "robustness",
        "what do attacks cost, and which clients do robust rules silence?",
        robustness::draw,
    ),
    figure("table1", "table1", "the headline metrics of all methods", scores::draw),
    of_experiment(
        "table1",
        figure("ablation", "ablation", "what does each boost do?", scores::draw),
    ),
    of_experiment(
        "table1",
        figure("plug-in", "plug-in", "what do boosts do on other methods?", scores::draw),
    ),
];

/// A figure of an experiment.
const fn figure(
    name: &'static str,
    experiment: &'static str,
    about: &'static str,
    draw: fn(&Results) -> Vec<Chart>,
) -> Figure {
    Figure { name, experiment, about, same_as: None, diagnostic: None, draw }
}

/// The figure of a diagnostic, under its name and with its question.
const fn of_diagnostic(which: DiagnosticKind, draw: fn(&Results) -> Vec<Chart>) -> Figure {
    let name = which.name();
    Figure { diagnostic: Some(which), ..figure(name, name, which.question(), draw) }
}

/// A figure that differs from another only by the methods of its experiment.
const fn of_experiment(same_as: &'static str, figure: Figure) -> Figure {
    Figure { same_as: Some(same_as), ..figure }
}

impl Figure {
    /// The figure of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        FIGURES.iter().find(|figure| figure.name == name)
    }

    /// Draws its charts; empty if the values were not measured.
    pub fn charts(&self, results: &Results) -> Vec<Chart> {
        (self.draw)(results)
    }
}

/// The charts of an experiment's figure.
pub fn charts(results: &Results) -> Vec<Chart> {
    let figure = FIGURES.iter().find(|figure| figure.experiment == results.name);
    figure.map_or(Vec::new(), |figure| figure.charts(results))
}
