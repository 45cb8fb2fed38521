//! Skew against hardness, client by client.

use super::gather::{datasets, labels, rows};
use crate::Results;
use crate::chart::{Chart, Cloud, Points};

pub(super) fn draw(results: &Results) -> Vec<Chart> {
    let chart = |dataset: String| {
        let cloud = |method: &String| {
            let mut points = Vec::new();
            for row in rows(results, &dataset, method) {
                let (Some(hardness), Some(skew)) =
                    (row.series.get("hardness"), row.series.get("gsd"))
                else {
                    continue;
                };
                for (client, (h, gsd)) in hardness.iter().zip(skew).enumerate() {
                    if let (Some(h), Some(gsd)) = (h, gsd) {
                        points.push((format!("seed {}, client {client}", row.seed), [*h, *gsd]));
                    }
                }
            }
            Cloud { name: method.clone(), points }
        };
        let clouds: Vec<Cloud> =
            labels(results).iter().map(cloud).filter(|cloud| !cloud.points.is_empty()).collect();
        let (x, y) = (
            "hardness H: share of disadvantaged training nodes".to_owned(),
            "mean GSD of the client".to_owned(),
        );
        let title = format!("Gradient share disparity by hardness of clients, {dataset}");
        (!clouds.is_empty()).then(|| Points { title, x, y, clouds }.chart())
    };
    datasets(results).into_iter().filter_map(chart).collect()
}
