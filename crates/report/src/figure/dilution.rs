//! The dilution ratio over rounds.

use super::gather::curves;
use crate::Results;
use crate::chart::Chart;

pub(super) fn draw(results: &Results) -> Vec<Chart> {
    let about = ["Dilution ratio", "round", "DR (1: all of what helps survives)"];
    let note = "What is left of the updates' help for the minority after averaging. Rounds in \
        which no update helps are gaps.";
    curves(results, "dr", about, 1.0, Some(1.0))
        .into_iter()
        .map(|chart| chart.noted(note))
        .collect()
}
