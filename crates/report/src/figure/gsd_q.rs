//! Gradient share disparity for any definition of the minority.

use super::gather::{band, datasets, labels, values};
use crate::chart::{Chart, Line, Lines};
use crate::{RATIOS, Results};

pub(super) fn draw(results: &Results) -> Vec<Chart> {
    let chart = |dataset: String| {
        let line = |method: &String| {
            let at = |q: f64| (q, values(results, &dataset, method, &format!("gsd.q{q}")));
            Line::of(method.clone(), RATIOS.map(at))
        };
        let lines: Vec<Line> = labels(results).iter().map(line).collect();
        let known = lines.iter().any(|line| line.points.iter().any(|point| point[1].is_finite()));
        let (x, y) = (
            "share of nodes that counts as minority, q".to_owned(),
            "GSD of the last round".to_owned(),
        );
        let title = format!("Gradient share disparity by minority ratio, {dataset}");
        known.then(|| Lines { title, x, y, band: band(results), lines, mark: Some(1.0) }.chart())
    };
    datasets(results).into_iter().filter_map(chart).collect()
}
