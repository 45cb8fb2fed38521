//! CPU time of methods.

use super::gather::{band, datasets, dot, labels, values};
use crate::Results;
use crate::chart::{Chart, Dots};

pub(super) fn draw(results: &Results) -> Vec<Chart> {
    datasets(results).iter().filter_map(|dataset| chart(results, dataset)).collect()
}

/// One row per method on one dataset; `None` if no method has a time.
fn chart(results: &Results, dataset: &str) -> Option<Chart> {
    let mut dots = Vec::new();
    for method in labels(results) {
        dots.extend(dot(&method, 0, &values(results, dataset, &method, "cpu_seconds")));
    }
    let chart = Dots {
        title: format!("Processor time, {dataset}"),
        x: "processor seconds per seed".to_owned(),
        interval: band(results),
        series: vec!["processor seconds".to_owned()],
        dots,
        mark: Some(0.0),
        first_colour: 0,
    };
    (!chart.dots.is_empty()).then(|| chart.chart())
}
