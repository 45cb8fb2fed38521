//! Edge-wise propagation reliability: the share of harmful messages and the distribution of R.

use super::gather::{datasets, labels, marks, rows};
use crate::chart::{Chart, Dot, Dots};
use crate::{ResultRow, Results};
use boostfgl_fairness::mean;

/// Groups by their names in results and in charts.
const GROUPS: [(&str, &str); 6] = [
    ("all", "all nodes"),
    ("homophilous", "homophilous"),
    ("heterophilous", "heterophilous"),
    ("majority", "majority classes"),
    ("minority", "minority classes"),
    ("hete_min", "heterophilous minority"),
];

pub(super) fn draw(results: &Results) -> Vec<Chart> {
    let columns = GROUPS.map(|(group, name)| (format!("negative.{group}"), name.to_owned()));
    let note = "A message is harmful if the loss of the node that receives it would be smaller \
        without it.";
    let harmful =
        marks(results, "Harmful messages by receiver", "harmful messages, %", &columns, None);
    harmful.into_iter().map(|chart| chart.noted(note)).chain(distributions(results)).collect()
}

/// The percentiles in results, in the order of the series.
const PERCENTILES: [u32; 9] = [1, 5, 10, 25, 50, 75, 90, 95, 99];

/// A percentile of R in a group, averaged over seeds; `None` if no seed has it.
fn mean_percentile(rows: &[&ResultRow], group: &str, percent: u32) -> Option<f64> {
    let key = format!("quantiles.{group}");
    let place = PERCENTILES.iter().position(|known| *known == percent)?;
    let values = rows.iter().filter_map(|row| *row.series.get(&key)?.get(place)?);
    mean(&values.collect::<Vec<f64>>())
}

/// The distribution of R in every group, one chart per dataset.
fn distributions(results: &Results) -> Vec<Chart> {
    datasets(results).iter().filter_map(|dataset| distribution(results, dataset)).collect()
}

/// Median, middle half and middle 90 % of R by group and method; `None` if no method has them.
fn distribution(results: &Results, dataset: &str) -> Option<Chart> {
    let methods = labels(results);
    let mut dots = Vec::new();
    for (group, name) in GROUPS {
        for (series, method) in methods.iter().enumerate() {
            let rows: Vec<&ResultRow> = rows(results, dataset, method).collect();
            dots.extend(dot(&rows, group, name, series));
        }
    }
    let chart = Dots {
        title: format!("Reliability of messages, {dataset}"),
        x: "R: what the receiver's loss would rise by without the message".to_owned(),
        interval: "median, middle half, middle 90 %".to_owned(),
        series: methods,
        dots,
        mark: Some(0.0),
        first_colour: 0,
    };
    (!chart.dots.is_empty()).then(|| chart.chart())
}

/// The distribution of R in one group under the name of the group; `None` if a percentile is
/// missing.
fn dot(rows: &[&ResultRow], group: &str, name: &str, series: usize) -> Option<Dot> {
    Some(Dot {
        group: name.to_owned(),
        series,
        mean: mean_percentile(rows, group, 50)?,
        interval: [mean_percentile(rows, group, 25)?, mean_percentile(rows, group, 75)?],
        wide: Some([mean_percentile(rows, group, 5)?, mean_percentile(rows, group, 95)?]),
    })
}
