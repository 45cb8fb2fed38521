//! Gradient share disparity against hardness, client by client.

use super::gather::{datasets, labels, rows};
use crate::chart::{Chart, Cloud, Points};
use crate::{ResultRow, Results};

pub(super) fn draw(results: &Results) -> Vec<Chart> {
    datasets(results).iter().filter_map(|dataset| chart(results, dataset)).collect()
}

/// One cloud per method on one dataset; `None` if no client has both numbers.
fn chart(results: &Results, dataset: &str) -> Option<Chart> {
    let mut clouds = Vec::new();
    for name in labels(results) {
        let points: Vec<(String, [f64; 2])> =
            rows(results, dataset, &name).flat_map(points).collect();
        if !points.is_empty() {
            clouds.push(Cloud { name, points });
        }
    }
    let (x, y) = (
        "hardness H: share of disadvantaged training nodes".to_owned(),
        "mean GSD of the client".to_owned(),
    );
    let title = format!("Gradient share disparity by hardness of clients, {dataset}");
    (!clouds.is_empty()).then(|| Points { title, x, y, clouds }.chart())
}

/// Hardness and disparity of the clients of one seed that have both.
fn points(row: &ResultRow) -> Vec<(String, [f64; 2])> {
    let mut points = Vec::new();
    let (Some(hardness), Some(gsd)) = (row.series.get("hardness"), row.series.get("gsd")) else {
        return points;
    };
    for (client, (hardness, gsd)) in hardness.iter().zip(gsd).enumerate() {
        if let (Some(hardness), Some(gsd)) = (hardness, gsd) {
            points.push((format!("seed {}, client {client}", row.seed), [*hardness, *gsd]));
        }
    }
    points
}
