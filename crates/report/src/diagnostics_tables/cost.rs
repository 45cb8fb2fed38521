//! What diagnostics took.

use boostfgl_fairness::diagnostics::DiagnosticKind;

use super::number::{DASH, middle, spread};
use super::{DiagnosisReport, epr, gsd, headings, line, notes};
use crate::SeedDiagnosis;
use crate::text_table::TextTable;

/// Seconds of each diagnostic that is shown or that one of these builds on, beside those of the
/// run.
pub(super) fn table(report: &DiagnosisReport<'_>) -> TextTable {
    let needed = |which: &DiagnosticKind| {
        report.shown.iter().any(|shown| shown == which || shown.builds_on().contains(which))
    };
    let seconds = |seed: &SeedDiagnosis, which: DiagnosticKind| {
        seed.found.cost.iter().find(|cost| cost.name == which.name()).map(|cost| cost.seconds)
    };
    let seeds = &report.diagnostics.seeds;
    let rest: Vec<Option<f64>> = seeds.iter().map(|seed| without(report, seed)).collect();
    let row = |which: DiagnosticKind| {
        let taken: Vec<Option<f64>> = seeds.iter().map(|seed| seconds(seed, which)).collect();
        let times = taken
            .iter()
            .zip(&rest)
            .map(|(taken, rest)| Some((*taken)? / rest.filter(|rest| *rest > 0.0)?));
        line(
            which.name(),
            vec![spread(&taken, 3), middle(&times.collect::<Vec<_>>(), 2), measured(report, which)],
        )
    };
    let mut rows: Vec<_> = DiagnosticKind::ALL.into_iter().filter(needed).map(row).collect();
    if rest.iter().any(Option::is_some) {
        rows.push(line("the run itself", vec![spread(&rest, 3), String::new(), String::new()]));
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

/// The seconds of a seed without its diagnostics, if the run is known.
fn without(report: &DiagnosisReport<'_>, seed: &SeedDiagnosis) -> Option<f64> {
    let whole = report.run?.seeds.iter().find(|summary| summary.seed == seed.seed)?.seconds;
    let taken: f64 = seed.found.cost.iter().map(|cost| cost.seconds).sum();
    Some((whole - taken).max(0.0))
}

/// Whether everything was measured or a sample.
fn measured(report: &DiagnosisReport<'_>, which: DiagnosticKind) -> String {
    let (share, of) = match which {
        DiagnosticKind::Gsd => (gsd::measured(&report.found(|found| found.gsd.as_ref())), "nodes"),
        DiagnosticKind::Epr => {
            (epr::measured(&report.found(|found| found.epr.as_ref())), "messages")
        }
        _ => return "all".to_owned(),
    };
    match share {
        None => DASH.to_owned(),
        Some(share) if share < 1.0 => format!("{:.1} % of {of}", 100.0 * share),
        Some(_) => "all".to_owned(),
    }
}
