//! Tables of sweeps: the number of clients, the noise and the boosting strengths.

use super::sections::{datasets, methods};
use super::selection::{Selection, spread};
use super::table::Table;
use crate::{Results, Row};
use std::fmt::Write as _;

/// The value of the varied key in a row of a one-dimensional sweep.
fn varied(row: &Row) -> Option<&String> {
    row.varied.values().next()
}

/// The values of the varied key of a one-dimensional sweep, in order.
fn values(results: &Results, sweep: &str) -> Vec<String> {
    let rows = results.rows.iter().filter(|row| row.sweep == sweep);
    let mut found: Vec<String> = Vec::new();
    for value in rows.filter_map(varied) {
        if !found.contains(value) {
            found.push(value.clone());
        }
    }
    found
}

/// How a sweep is shown: the Overall-F1 itself, or in percent of that under the first value and the
/// same seed.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Shown {
    Itself,
    PercentOfFirst,
}

/// Datasets and methods by the values of the varied key.
pub(super) fn table(results: &Results, name: &str, heading: &str, shown: Shown) -> String {
    let values = values(results, name);
    let head = values.iter().map(|value| format!("{heading} {value}"));
    let mut table = Table::new(["Dataset".to_owned(), "Method".to_owned()].into_iter().chain(head));
    for dataset in datasets(results) {
        for method in methods(results) {
            let runs = Selection::new(results, |row| {
                row.sweep == name && row.dataset == dataset && row.method == method
            });
            let cells = values.iter().map(|value| sweep_cell(&runs, value, &values[0], shown));
            table.row([dataset.clone(), method.clone()].into_iter().chain(cells));
        }
    }
    format!("{}\n", table.markdown())
}

/// Overall-F1 of the rows with that value of the varied key; `first` is the first value.
fn sweep_cell(runs: &Selection<'_>, value: &String, first: &String, shown: Shown) -> String {
    let rows = runs.rows.iter().filter(|row| varied(row) == Some(value));
    let numbers = rows.filter_map(|row| match shown {
        Shown::Itself => runs.results.value(row, "overall_f1"),
        Shown::PercentOfFirst => percent_of_first(runs, row, first),
    });
    spread(&numbers.collect::<Vec<f64>>(), 1)
}

/// Overall-F1 of a row in percent of that under the first value and the same seed.
fn percent_of_first(runs: &Selection<'_>, row: &Row, first: &String) -> Option<f64> {
    let mut rows = runs.rows.iter();
    let base = rows.find(|other| varied(other) == Some(first) && other.seed == row.seed)?;
    let base = runs.results.value(base, "overall_f1").filter(|base| *base > 0.0)?;
    Some(100.0 * runs.results.value(row, "overall_f1")? / base)
}

/// The sweep over the node-boosting strength, and for each dataset the heat map of τ and edge
/// budget.
pub(super) fn sensitivity(results: &Results) -> String {
    let mut text =
        format!("Node-boosting strength:\n\n{}", table(results, "lambda_n", "λₙ =", Shown::Itself));
    let heat_map = Selection::new(results, |row| row.sweep == "heat map");
    let (thresholds, budgets) = (axis(&heat_map, THRESHOLD), axis(&heat_map, BUDGET));
    for dataset in datasets(results) {
        if !heat_map.rows.iter().any(|row| row.dataset == dataset) {
            continue;
        }
        let head = thresholds.iter().map(|value| format!("τ = {value}"));
        let mut table = Table::new(std::iter::once(format!("{dataset}: edge budget")).chain(head));
        for budget in &budgets {
            let cells =
                thresholds.iter().map(|threshold| heat_cell(results, &dataset, threshold, budget));
            table.row(std::iter::once(budget.clone()).chain(cells));
        }
        let _ = writeln!(text, "{}", table.markdown());
    }
    text
}

/// The key of τ.
const THRESHOLD: &str = "boost.topology.tau";
/// The key of the edge budget.
const BUDGET: &str = "boost.topology.edge_budget";

/// The values of a varied key, in ascending order.
fn axis(heat_map: &Selection<'_>, key: &str) -> Vec<String> {
    let mut found: Vec<String> =
        heat_map.rows.iter().filter_map(|row| row.varied.get(key).cloned()).collect();
    found.sort_by(|a, b| number(a).total_cmp(&number(b)));
    found.dedup();
    found
}

/// The number in a text; 0 if it is none.
fn number(text: &str) -> f64 {
    text.parse().unwrap_or(0.0)
}

/// The mean Overall-F1 of one cell of the heat map.
fn heat_cell(results: &Results, dataset: &str, threshold: &String, budget: &String) -> String {
    let cell = Selection::new(results, |row| {
        row.sweep == "heat map"
            && row.dataset == dataset
            && row.varied.get(THRESHOLD) == Some(threshold)
            && row.varied.get(BUDGET) == Some(budget)
    });
    cell.middle("overall_f1", 1)
}
