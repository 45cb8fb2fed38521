//! Sensitivity: one varied setting as curves, two as a heat map.

use super::gather::{datasets, labels, over_setting, rows};
use crate::chart::{Chart, Heat};
use crate::{ResultRow, Results};
use boostfgl_fairness::mean;

/// What is shown.
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

/// A map per dataset and method.
fn maps(results: &Results, down: &str, across: &str) -> Vec<Chart> {
    let of = |row: &ResultRow, key: &str| row.varied.get(key).cloned().unwrap_or_default();
    let (rows_of, columns) = (sorted(results, down), sorted(results, across));
    let mut charts = Vec::new();
    for dataset in datasets(results) {
        for method in labels(results) {
            let cell = |a: &String, b: &String| {
                let here = rows(results, &dataset, &method)
                    .filter(|row| of(row, down) == *a && of(row, across) == *b);
                mean(&here.filter_map(|row| results.value(row, COLUMN)).collect::<Vec<f64>>())
                    .unwrap_or(f64::NAN)
            };
            let line = |a: &String| (a.clone(), columns.iter().map(|b| cell(a, b)).collect());
            let lines: Vec<(String, Vec<f64>)> = rows_of.iter().map(line).collect();
            if lines.iter().flat_map(|(_, numbers)| numbers).any(|x| x.is_finite()) {
                let title = format!("Overall-F1, %: {method} on {dataset}");
                let (x, y) = (across.to_owned(), down.to_owned());
                charts.push(Heat { title, x, y, columns: columns.clone(), rows: lines }.chart());
            }
        }
    }
    charts
}

/// The values of a setting, as numbers increase.
fn sorted(results: &Results, key: &str) -> Vec<String> {
    let mut found = results.distinct(|row| row.varied.get(key).cloned().unwrap_or_default());
    let number = |text: &String| text.parse::<f64>().unwrap_or(f64::INFINITY);
    found.sort_by(|a, b| number(a).total_cmp(&number(b)).then_with(|| a.cmp(b)));
    found
}
