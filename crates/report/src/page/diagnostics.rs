//! The figures of diagnostics, drawn from the runs of the page.

use super::RunGroup;
use crate::figure::FIGURES;
use crate::{Results, RunView};

pub(super) fn section(runs: &RunGroup) -> Option<String> {
    if !runs.views.iter().any(has_diagnostics) {
        return None;
    }
    // `gsd-q` repeats `gsd` for other definitions of the minority.
    let charts: String = FIGURES
        .iter()
        .filter(|figure| figure.diagnostic.is_some() && figure.name != "gsd-q")
        .flat_map(|figure| figure.charts(&Results::of_runs(figure.experiment, &runs.views)))
        .map(|chart| chart.html())
        .collect();
    (!charts.is_empty()).then(|| format!("<div class=\"charts\">{charts}</div>"))
}

/// Whether the results of any diagnostic were recorded.
fn has_diagnostics(view: &RunView) -> bool {
    view.diagnostics.as_ref().is_some_and(|found| !found.seeds.is_empty())
}
