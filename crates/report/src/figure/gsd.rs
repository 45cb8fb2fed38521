//! Gradient share disparity over rounds.

use super::gather::curves;
use crate::Results;
use crate::chart::Chart;

pub(super) fn draw(results: &Results) -> Vec<Chart> {
    let about = ["Gradient share disparity", "round", "GSD (1: minority nodes get their share)"];
    let note = "Mean gradient norm of a minority node over that of a majority node. Below 1 the \
        minority is short of its share.";
    let plain = curves(results, "gsd", about, 1.0, Some(1.0));
    let weighted =
        ["Gradient share disparity with node weights", "round", "GSD with α (1: their share)"];
    // The weights of node boosting are 1 without it: then the second chart would be the first
    // again.
    let boosted = |row: &crate::ResultRow| row.series.get("gsd") != row.series.get("gsd.boosted");
    let second = results
        .rows
        .iter()
        .any(boosted)
        .then(|| curves(results, "gsd.boosted", weighted, 1.0, Some(1.0)));
    plain.into_iter().chain(second.into_iter().flatten()).map(|chart| chart.noted(note)).collect()
}
