//! The time that diagnostics took.

use boostfgl_fairness::diagnostics::DiagnosticKind;

use super::number::{DASH, middle, spread};
use super::{DiagnosisReport, epr, gsd, headings, line, notes};
use crate::SeedDiagnosis;
use crate::text_table::{Line, TextTable};

/// Seconds of each diagnostic that is shown or that one of these builds on, next to those of the
/// run.
pub(super) fn table(report: &DiagnosisReport<'_>) -> TextTable {
    let seeds = &report.diagnostics.seeds;
    let run: Vec<Option<f64>> = seeds.iter().map(|seed| run_seconds(report, seed)).collect();
    let mut rows: Vec<Line> = DiagnosticKind::ALL
        .into_iter()
        .filter(|kind| is_needed(report, *kind))
        .map(|kind| row(report, kind, &run))
        .collect();
    if run.iter().any(Option::is_some) {
        rows.push(line("the run itself", vec![spread(&run, 3), String::new(), String::new()]));
    }
    TextTable {
        title: "what did the diagnostics take?".to_owned(),
        labels: "Diagnostic",
        columns: headings(&[["Time", "s"], ["Time", "÷ run"], ["Measured", ""]]),
        rows,
        notes: notes(&[
            "Wall-clock seconds per seed; the run itself is all but these, which change no \
             digit of it.",
        ]),
    }
}

/// Whether a diagnostic is shown or one of those that are shown builds on it.
fn is_needed(report: &DiagnosisReport<'_>, kind: DiagnosticKind) -> bool {
    report.shown.iter().any(|shown| *shown == kind || shown.builds_on().contains(&kind))
}

/// One diagnostic; `run` has the seconds of each seed without diagnostics.
fn row(report: &DiagnosisReport<'_>, kind: DiagnosticKind, run: &[Option<f64>]) -> Line {
    let seeds = &report.diagnostics.seeds;
    let taken: Vec<Option<f64>> = seeds.iter().map(|seed| seconds(seed, kind)).collect();
    let relative: Vec<Option<f64>> = taken
        .iter()
        .zip(run)
        .map(|(taken, run)| Some((*taken)? / run.filter(|run| *run > 0.0)?))
        .collect();
    line(kind.name(), vec![spread(&taken, 3), middle(&relative, 2), measured(report, kind)])
}

/// The seconds that a diagnostic took under a seed.
fn seconds(seed: &SeedDiagnosis, kind: DiagnosticKind) -> Option<f64> {
    seed.found.cost.iter().find(|cost| cost.name == kind.name()).map(|cost| cost.seconds)
}

/// The seconds of a seed without its diagnostics, if the run is known.
fn run_seconds(report: &DiagnosisReport<'_>, seed: &SeedDiagnosis) -> Option<f64> {
    let whole = report.run?.seeds.iter().find(|summary| summary.seed == seed.seed)?.seconds;
    let taken: f64 = seed.found.cost.iter().map(|cost| cost.seconds).sum();
    Some((whole - taken).max(0.0))
}

/// Whether everything was measured or a sample.
fn measured(report: &DiagnosisReport<'_>, kind: DiagnosticKind) -> String {
    let (share, unit) = match kind {
        DiagnosticKind::Gsd => (gsd::measured(&report.found(|found| found.gsd.as_ref())), "nodes"),
        DiagnosticKind::Epr => {
            (epr::measured(&report.found(|found| found.epr.as_ref())), "messages")
        }
        _ => return "all".to_owned(),
    };
    match share {
        None => DASH.to_owned(),
        Some(share) if share < 1.0 => format!("{:.1} % of {unit}", 100.0 * share),
        Some(_) => "all".to_owned(),
    }
}
