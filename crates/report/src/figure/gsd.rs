//! Gradient share disparity over rounds.

use super::gather::curves;
use crate::Results;
use crate::chart::Chart;

pub(super) fn draw(results: &Results) -> Vec<Chart> {
    let about = ["Gradient share disparity", "round", "GSD (1: minority nodes get their share)"];
    let note = "Mean gradient norm of a minority node over that of a majority node. Below 1 the \
        minority is short of its share.";
    let mut charts = curves(results, "gsd", about, 1.0, Some(1.0));
    // Without node boosting all weights are 1, and the second chart would equal the first.
    if results.rows.iter().any(|row| row.series.get("gsd") != row.series.get("gsd.boosted")) {
        let about =
            ["Gradient share disparity with node weights", "round", "GSD with α (1: their share)"];
        charts.extend(curves(results, "gsd.boosted", about, 1.0, Some(1.0)));
    }
    charts.into_iter().map(|chart| chart.noted(note)).collect()
}
