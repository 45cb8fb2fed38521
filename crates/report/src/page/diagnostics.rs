//! What diagnostics found: the figures of the experiments, drawn from these runs.

use super::RunGroup;
use crate::figure::FIGURES;
use crate::{Results, RunView};

pub(super) fn section(runs: &RunGroup) -> Option<String> {
    let watched =
        |view: &RunView| view.diagnostics.as_ref().is_some_and(|found| !found.seeds.is_empty());
    if !runs.views.iter().any(watched) {
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
