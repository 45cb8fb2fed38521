//! Scores over rounds.

use super::gather::{along, band, datasets};
use crate::Results;
use crate::chart::{Chart, Lines};

pub(super) fn draw(results: &Results) -> Vec<Chart> {
    let shown = [("overall_f1", "Overall-F1"), ("accuracy", "Accuracy")];
    let charts = |(series, name): (&str, &str)| {
        let chart = |dataset: String| {
            let mut lines = along(results, &dataset, series, 1.0);
            // Rounds between evaluations are no gaps.
            lines.iter_mut().for_each(|line| line.points.retain(|point| point[1].is_finite()));
            let (title, y) = (format!("{name} over rounds, {dataset}"), format!("{name}, %"));
            let chart =
                Lines { title, x: "round".into(), y, band: band(results), lines, mark: None };
            (!chart.lines.is_empty()).then(|| chart.chart())
        };
        datasets(results).into_iter().filter_map(chart).collect::<Vec<_>>()
    };
    shown.into_iter().flat_map(charts).collect()
}
