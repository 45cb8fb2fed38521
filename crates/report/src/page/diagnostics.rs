//! What diagnostics found: the figures of the experiments, drawn from these runs.

use super::Family;
use crate::figure;
use crate::{Results, RunView};

pub(super) fn section(family: &Family) -> Option<String> {
    let watched =
        |view: &RunView| view.diagnoses.as_ref().is_some_and(|found| !found.seeds.is_empty());
    if !family.views.iter().any(watched) {
        return None;
    }
    let names = ["gsd", "epr", "khop", "dilution", "alignment", "attribution", "hardness"];
    let charts: String = names
        .iter()
        .flat_map(|name| figure::charts(&Results::of_runs(name, &family.views)))
        .map(|c| c.html())
        .collect();
    (!charts.is_empty()).then(|| format!("<div class=\"charts\">{charts}</div>"))
}
