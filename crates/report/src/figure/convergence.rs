//! Scores over rounds.

use super::gather::curves;
use crate::Results;
use crate::chart::Chart;

pub(super) fn draw(results: &Results) -> Vec<Chart> {
    let mut charts = curves(results, "overall_f1", ["Overall-F1 over rounds", "round", "Overall-F1, %"], 1.0, None);
    charts.extend(curves(results, "accuracy", ["Accuracy over rounds", "round", "accuracy, %"], 1.0, None));
    charts
}
