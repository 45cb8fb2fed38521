//! Gradient share disparity by definition of the minority.

use super::gather::{curve_chart, datasets, labels, values};
use crate::chart::{Chart, Line};
use crate::{RATIOS, Results};

pub(super) fn draw(results: &Results) -> Vec<Chart> {
    datasets(results).iter().filter_map(|dataset| chart(results, dataset)).collect()
}

/// One curve per method on one dataset; `None` if no method has a value.
fn chart(results: &Results, dataset: &str) -> Option<Chart> {
    let lines = labels(results).iter().map(|method| line(results, dataset, method)).collect();
    let about = [
        "Gradient share disparity by minority ratio",
        "share of nodes that counts as minority, q",
        "GSD of the last round",
    ];
    curve_chart(results, dataset, about, lines, Some(1.0))
}

/// The disparity of one method for every ratio q.
fn line(results: &Results, dataset: &str, method: &str) -> Line {
    let points = RATIOS.map(|q| (q, values(results, dataset, method, &format!("gsd.q{q}"))));
    Line::of(method, points)
}
