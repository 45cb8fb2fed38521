//! How updates stand to the direction that helps the minority.

use super::gather::{along, datasets};
use crate::chart::{Chart, Lines};
use crate::{BINS, Results};

pub(super) fn draw(results: &Results) -> Vec<Chart> {
    let chart = |dataset: String| {
        let mut lines = along(results, &dataset, "histogram", 0.0);
        for line in &mut lines {
            let total: f64 =
                line.points.iter().map(|point| point[1]).filter(|count| count.is_finite()).sum();
            for point in &mut line.points {
                // From the number of a bin to its middle, from counts to percent.
                point[0] = (point[0] + 0.5) * 2.0 / BINS as f64 - 1.0;
                let share = if total > 0.0 { 100.0 * point[1] / total } else { f64::NAN };
                (point[1], point[2], point[3]) = (share, share, share);
            }
        }
        let title = format!("Alignment of updates with what helps the minority, {dataset}");
        let (x, y) =
            ("cosine of an update and the minority's descent".to_owned(), "updates, %".to_owned());
        let chart = Lines { title, x, y, lines, ..Lines::default() };
        (!chart.lines.is_empty())
            .then(|| chart.chart().noted("All clients, rounds and seeds together, in bins of 0.1."))
    };
    datasets(results).into_iter().filter_map(chart).collect()
}
