//! Sensitivity: one varied setting as curves, two as a heat map.

use super::gather::{datasets, labels, over_setting, rows};
use crate::chart::{Chart, Heat};
use crate::{ResultRow, Results};
use boostfgl_fairness::mean;

/// The metric that is drawn.
const COLUMN: &str = "overall_f1";

pub(super) fn draw(results: &Results) -> Vec<Chart> {
    let mut charts = Vec::new();
    for sweep in results.distinct(|row| row.sweep.clone()) {
        let of_sweep = results.rows.iter().filter(|row| row.sweep == sweep).cloned().collect();
        let part = Results { rows: of_sweep, ..results.clone() };
        let keys: Vec<String> = part.rows.first().map_or(Vec::new(), |row| {
            row.varied.keys().filter(|key| *key != "run").cloned().collect()
        });
        match &keys[..] {
            [key] => {
                let about = ["Overall-F1", &key[..], "Overall-F1, %"];
                charts.extend(over_setting(&part, key, COLUMN, about));
            }
            [a, b] => charts.extend(maps(&part, a, b)),
            _ => {}
        }
    }
    charts
}

/// A map per dataset and method that has a value.
fn maps(results: &Results, down: &str, across: &str) -> Vec<Chart> {
    let mut charts = Vec::new();
    for dataset in datasets(results) {
        for method in labels(results) {
            let own: Vec<&ResultRow> = rows(results, &dataset, &method).collect();
            let title = format!("Overall-F1, %: {method} on {dataset}");
            let map = map(results, &own, title, [down, across]);
            if map.rows.iter().flat_map(|(_, numbers)| numbers).any(|x| x.is_finite()) {
                charts.push(map.chart());
            }
        }
    }
    charts
}

/// The means over seeds by two settings, down and across.
fn map(results: &Results, own: &[&ResultRow], title: String, [down, across]: [&str; 2]) -> Heat {
    let columns = sorted(results, across);
    let mut rows = Vec::new();
    for row in sorted(results, down) {
        let here: Vec<&ResultRow> =
            own.iter().copied().filter(|cell| setting(cell, down) == row).collect();
        let numbers = columns.iter().map(|column| cell(results, &here, across, column)).collect();
        rows.push((row, numbers));
    }
    Heat { title, x: across.to_owned(), y: down.to_owned(), columns, rows }
}

/// The mean over the rows in which `key` has this value; NaN without one.
fn cell(results: &Results, rows: &[&ResultRow], key: &str, value: &str) -> f64 {
    let here = rows.iter().filter(|row| setting(row, key) == value);
    mean(&here.filter_map(|row| results.value(row, COLUMN)).collect::<Vec<f64>>())
        .unwrap_or(f64::NAN)
}

/// A varied setting; empty if it is not set.
fn setting<'a>(row: &'a ResultRow, key: &str) -> &'a str {
    row.varied.get(key).map_or("", |value| &value[..])
}

/// The values of a setting, numbers first and increasing.
fn sorted(results: &Results, key: &str) -> Vec<String> {
    let mut found = results.distinct(|row| setting(row, key).to_owned());
    sort_as_numbers(&mut found);
    found
}

/// Sorts texts by the numbers they hold; those without a number come last, in alphabetical order.
pub(crate) fn sort_as_numbers(texts: &mut [String]) {
    texts.sort_by(|a, b| as_number(a).total_cmp(&as_number(b)).then_with(|| a.cmp(b)));
}

/// The number that a text holds; infinity if it holds none.
fn as_number(text: &str) -> f64 {
    text.parse().unwrap_or(f64::INFINITY)
}
