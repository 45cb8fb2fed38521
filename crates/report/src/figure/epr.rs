//! Edge-wise propagation reliability: how often messages harm, and by how much.

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

/// The percentiles that results hold, in their order.
const PERCENTILES: [u32; 9] = [1, 5, 10, 25, 50, 75, 90, 95, 99];

/// A percentile of R in a group, averaged over seeds; `None` if no seed has it.
fn mean_percentile<'a>(
    rows: impl Iterator<Item = &'a ResultRow>,
    group: &str,
    percent: u32,
) -> Option<f64> {
    let key = format!("quantiles.{group}");
    let place = PERCENTILES.iter().position(|known| *known == percent)?;
    let known = rows.filter_map(|row| *row.series.get(&key)?.get(place)?);
    mean(&known.collect::<Vec<f64>>())
}

/// The spread of R in every group: median, the middle half and the middle nine tenths.
fn distributions(results: &Results) -> Vec<Chart> {
    let methods = labels(results);
    let chart = |dataset: String| {
        let mut dots = Vec::new();
        for (group, name) in GROUPS {
            for (series, method) in methods.iter().enumerate() {
                let percentile =
                    |percent: u32| mean_percentile(rows(results, &dataset, method), group, percent);
                if let (Some(low), Some(q1), Some(median), Some(q3), Some(high)) =
                    (percentile(5), percentile(25), percentile(50), percentile(75), percentile(95))
                {
                    let group = name.to_owned();
                    let (interval, wide) = ([q1, q3], Some([low, high]));
                    dots.push(Dot { group, series, mean: median, interval, wide });
                }
            }
        }
        let chart = Dots {
            title: format!("Reliability of messages, {dataset}"),
            x: "R: what the receiver's loss would rise by without the message".to_owned(),
            interval: "median, middle half, middle 90 %".to_owned(),
            series: methods.clone(),
            dots,
            mark: Some(0.0),
            first_colour: 0,
        };
        (!chart.dots.is_empty()).then(|| chart.chart())
    };
    datasets(results).into_iter().filter_map(chart).collect()
}
