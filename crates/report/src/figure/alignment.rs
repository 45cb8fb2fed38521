//! The alignment of updates with the direction that helps the minority.

use super::gather::{along, datasets};
use crate::chart::{Chart, Line, Lines};
use crate::{BINS, Results};

pub(super) fn draw(results: &Results) -> Vec<Chart> {
    datasets(results).iter().filter_map(|dataset| chart(results, dataset)).collect()
}

/// The histogram of cosines of every method on one dataset; `None` if no method has one.
fn chart(results: &Results, dataset: &str) -> Option<Chart> {
    let mut lines = along(results, dataset, "histogram", 0.0);
    lines.iter_mut().for_each(to_percent);
    let chart = Lines {
        title: format!("Alignment of updates with what helps the minority, {dataset}"),
        x: "cosine of an update and the minority's descent".to_owned(),
        y: "updates, %".to_owned(),
        lines,
        ..Lines::default()
    };
    (!chart.lines.is_empty())
        .then(|| chart.chart().noted("All clients, rounds and seeds together, in bins of 0.1."))
}

/// Turns counts by number of the bin into percent by the middle of the bin, from −1 to 1.
fn to_percent(line: &mut Line) {
    let total: f64 =
        line.points.iter().map(|point| point[1]).filter(|count| count.is_finite()).sum();
    for point in &mut line.points {
        point[0] = (point[0] + 0.5) * 2.0 / BINS as f64 - 1.0;
        let share = if total > 0.0 { 100.0 * point[1] / total } else { f64::NAN };
        (point[1], point[2], point[3]) = (share, share, share);
    }
}
