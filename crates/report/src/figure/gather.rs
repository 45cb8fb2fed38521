//! Turns rows of results into the series of charts.

use crate::chart::{Chart, Dot, Dots, Line, Lines};
use crate::{ResultRow, Results};
use boostfgl_fairness::{mean, sample_std};

/// The name of a method in a legend.
pub(super) fn label(row: &ResultRow) -> String {
    match row.varied.get("run") {
        Some(run) => format!("{} ({run})", row.method),
        None => row.method.clone(),
    }
}

/// All datasets, in order of first appearance.
pub(super) fn datasets(results: &Results) -> Vec<String> {
    results.distinct(|row| row.dataset.clone())
}

/// The labels of all methods, in order of first appearance.
pub(super) fn labels(results: &Results) -> Vec<String> {
    results.distinct(label)
}

/// The rows of one method on one dataset, one per seed.
pub(super) fn rows<'a>(
    results: &'a Results,
    dataset: &'a str,
    method: &'a str,
) -> impl Iterator<Item = &'a ResultRow> {
    results.rows.iter().filter(move |row| row.dataset == dataset && label(row) == method)
}

/// The meaning of a band over seeds; empty for a single seed.
pub(super) fn band(results: &Results) -> String {
    let seeds = results.distinct(|row| row.seed.to_string()).len();
    if seeds > 1 {
        format!("± one standard deviation over those of {seeds} seeds that have a value")
    } else {
        String::new()
    }
}

/// The series `name` of every method on a dataset that has a value. `start` is the x of the first
/// entry.
pub(super) fn along(results: &Results, dataset: &str, name: &str, start: f64) -> Vec<Line> {
    let methods = labels(results);
    let lines = methods.iter().map(|method| series_line(results, dataset, method, name, start));
    lines.filter(has_values).collect()
}

/// The entries of a series, averaged over the seeds of one method on one dataset.
fn series_line(results: &Results, dataset: &str, method: &str, name: &str, start: f64) -> Line {
    let series: Vec<&Vec<Option<f64>>> =
        rows(results, dataset, method).filter_map(|row| row.series.get(name)).collect();
    let longest = series.iter().map(|values| values.len()).max().unwrap_or(0);
    let points = (0..longest).map(|at| (start + at as f64, entries(&series, at)));
    Line::of(method, points)
}

/// Entry `at` of every series that has one.
fn entries(series: &[&Vec<Option<f64>>], at: usize) -> Vec<f64> {
    series.iter().filter_map(|values| values.get(at).copied().flatten()).collect()
}

/// Whether any point has a value.
fn has_values(line: &Line) -> bool {
    line.points.iter().any(|point| point[1].is_finite())
}

/// One chart of a series per dataset.
pub(super) fn curves(
    results: &Results,
    name: &str,
    about: [&str; 3],
    start: f64,
    mark: Option<f64>,
) -> Vec<Chart> {
    let mut charts = Vec::new();
    for dataset in datasets(results) {
        let lines = along(results, &dataset, name, start);
        charts.extend(curve_chart(results, &dataset, about, lines, mark));
    }
    charts
}

/// A chart of curves on one dataset, from its title and the titles of its axes; `None` if no curve
/// has a value.
pub(super) fn curve_chart(
    results: &Results,
    dataset: &str,
    [title, x, y]: [&str; 3],
    lines: Vec<Line>,
    mark: Option<f64>,
) -> Option<Chart> {
    if !lines.iter().any(has_values) {
        return None;
    }
    let chart = Lines {
        title: format!("{title}, {dataset}"),
        x: x.to_owned(),
        y: y.to_owned(),
        band: band(results),
        lines,
        mark,
    };
    Some(chart.chart())
}

/// The values of a column of one method on one dataset, one per seed that has a value.
pub(super) fn values(results: &Results, dataset: &str, method: &str, column: &str) -> Vec<f64> {
    rows(results, dataset, method).filter_map(|row| results.value(row, column)).collect()
}

/// Mean ± standard deviation of some columns, per dataset: a row per column, a mark per method.
pub(super) fn marks(
    results: &Results,
    title: &str,
    x: &str,
    columns: &[(String, String)],
    mark: Option<f64>,
) -> Vec<Chart> {
    let methods = labels(results);
    let mut charts = Vec::new();
    for dataset in datasets(results) {
        let mut dots = Vec::new();
        for (column, name) in columns {
            for (series, method) in methods.iter().enumerate() {
                dots.extend(dot(name, series, &values(results, &dataset, method, column)));
            }
        }
        if dots.is_empty() {
            continue;
        }
        let chart = Dots {
            title: format!("{title}, {dataset}"),
            x: x.to_owned(),
            interval: band(results),
            series: methods.clone(),
            dots,
            mark,
            first_colour: 0,
        };
        charts.push(chart.chart());
    }
    charts
}

/// Mean ± standard deviation; `None` without values.
pub(super) fn dot(group: &str, series: usize, values: &[f64]) -> Option<Dot> {
    let (mean, std) = (mean(values)?, sample_std(values).unwrap_or(0.0));
    Some(Dot {
        group: group.to_owned(),
        series,
        mean,
        interval: [mean - std, mean + std],
        wide: None,
    })
}

/// Columns with their names in a chart, as [`marks`] takes them.
pub(super) fn named(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(column, name)| ((*column).to_owned(), (*name).to_owned())).collect()
}

/// Curves over the values of one varied setting, one chart per dataset.
pub(super) fn over_setting(
    results: &Results,
    key: &str,
    column: &str,
    about: [&str; 3],
) -> Vec<Chart> {
    let mut steps: Vec<f64> = results.rows.iter().filter_map(|row| setting(row, key)).collect();
    steps.sort_by(f64::total_cmp);
    steps.dedup();
    let mut charts = Vec::new();
    for dataset in datasets(results) {
        let mut lines = Vec::new();
        for method in labels(results) {
            let own: Vec<&ResultRow> = rows(results, &dataset, &method).collect();
            let points = steps.iter().map(|&step| {
                let here = own.iter().filter(|row| setting(row, key) == Some(step));
                (step, here.filter_map(|row| results.value(row, column)).collect())
            });
            lines.push(Line::of(&method[..], points));
        }
        charts.extend(curve_chart(results, &dataset, about, lines, None));
    }
    charts
}

/// A varied setting as a number; `None` if it is not one.
fn setting(row: &ResultRow, key: &str) -> Option<f64> {
    row.varied.get(key)?.parse().ok()
}
