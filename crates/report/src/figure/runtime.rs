//! What methods cost.

use super::gather::{datasets, dot, labels, values};
use crate::Results;
use crate::chart::{Chart, Dots};

pub(super) fn draw(results: &Results) -> Vec<Chart> {
    let chart = |dataset: String| {
        let methods = labels(results);
        let dots = methods
            .iter()
            .filter_map(|method| dot(method, 0, &values(results, &dataset, method, "cpu_seconds")));
        let chart = Dots {
            title: format!("Processor time, {dataset}"),
            x: "processor seconds per seed".to_owned(),
            interval: super::gather::band(results),
            series: vec!["processor seconds".to_owned()],
            dots: dots.collect(),
            mark: Some(0.0),
            first_colour: 0,
        };
        (!chart.dots.is_empty()).then(|| chart.chart())
    };
    datasets(results).into_iter().filter_map(chart).collect()
}
