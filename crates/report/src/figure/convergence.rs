//! Scores over rounds.

use super::gather::{along, curve_chart, datasets};
use crate::Results;
use crate::chart::Chart;
use boostfgl_fairness::{HEADLINES, Headline};

pub(super) fn draw(results: &Results) -> Vec<Chart> {
    let mut charts = Vec::new();
    for headline in [&HEADLINES.overall_f1, &HEADLINES.accuracy] {
        charts.extend(datasets(results).iter().filter_map(|name| chart(results, name, headline)));
    }
    charts
}

/// One metric over rounds on one dataset; `None` if no method has it.
fn chart(results: &Results, dataset: &str, headline: &Headline) -> Option<Chart> {
    let mut lines = along(results, dataset, headline.key, 1.0);
    // Rounds without an evaluation must not interrupt the curve.
    lines.iter_mut().for_each(|line| line.points.retain(|point| point[1].is_finite()));
    let about =
        [&format!("{} over rounds", headline.title), "round", &format!("{}, %", headline.title)];
    curve_chart(results, dataset, about, lines, None)
}
