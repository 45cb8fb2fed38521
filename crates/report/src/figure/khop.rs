//! Error by distance from disadvantaged nodes.

use super::gather::curves;
use crate::Results;
use crate::chart::Chart;

/// The nodes from which distances are measured, by key in results and by name.
const SOURCES: [(&str, &str); 3] = [
    ("minority", "minority nodes"),
    ("heterophilous", "heterophilous nodes"),
    ("hete_min", "heterophilous minority nodes"),
];

pub(super) fn draw(results: &Results) -> Vec<Chart> {
    let mut charts = Vec::new();
    for (key, name) in SOURCES {
        let title = format!("Error by distance from {name}");
        let about = [&title, "hops", "test nodes predicted wrongly, %"];
        charts.extend(curves(results, &format!("error.{key}"), about, 0.0, None));
    }
    charts
}
