//! From rows to the series of a chart.

use crate::chart::{Chart, Dot, Dots, Line, Lines};
use crate::{ResultRow, Results};
use boostfgl_fairness::{mean, sample_std};

/// What a method is called in a legend.
pub(super) fn label(row: &ResultRow) -> String {
    match row.varied.get("run") {
        Some(run) => format!("{} ({run})", row.method),
        None => row.method.clone(),
    }
}

pub(super) fn datasets(results: &Results) -> Vec<String> {
    results.distinct(|row| row.dataset.clone())
}

pub(super) fn labels(results: &Results) -> Vec<String> {
    results.distinct(label)
}

/// Seeds of one method on one dataset.
pub(super) fn rows<'a>(
    results: &'a Results,
    dataset: &'a str,
    method: &'a str,
) -> impl Iterator<Item = &'a ResultRow> {
    results.rows.iter().filter(move |row| row.dataset == dataset && label(row) == method)
}

/// How many seeds there are, as a band is named.
pub(super) fn band(results: &Results) -> String {
    let seeds = results.distinct(|row| row.seed.to_string()).len();
    if seeds > 1 {
        format!("± one standard deviation over those of {seeds} seeds that have a value")
    } else {
        String::new()
    }
}

/// The series `name` of every method on a dataset, place by place; `start` is the x of the first
/// place.
pub(super) fn along(results: &Results, dataset: &str, name: &str, start: f64) -> Vec<Line> {
    let line = |method: &String| {
        let series: Vec<&Vec<Option<f64>>> =
            rows(results, dataset, method).filter_map(|row| row.series.get(name)).collect();
        let longest = series.iter().map(|values| values.len()).max().unwrap_or(0);
        let values = |at: usize| {
            series.iter().filter_map(|values| values.get(at).copied().flatten()).collect()
        };
        Line::of(method.clone(), (0..longest).map(|at| (start + at as f64, values(at))))
    };
    let known = |line: &Line| line.points.iter().any(|point| point[1].is_finite());
    labels(results).iter().map(line).filter(known).collect()
}

/// One chart of a series per dataset.
pub(super) fn curves(
    results: &Results,
    name: &str,
    about: [&str; 3],
    start: f64,
    mark: Option<f64>,
) -> Vec<Chart> {
    let [title, x, y] = about;
    let chart = |dataset: String| {
        let lines = along(results, &dataset, name, start);
        let title = format!("{title}, {dataset}");
        let chart =
            Lines { title, x: x.to_owned(), y: y.to_owned(), band: band(results), lines, mark };
        (!chart.lines.is_empty()).then(|| chart.chart())
    };
    datasets(results).into_iter().filter_map(chart).collect()
}

/// The numbers called `column` of one method on one dataset, one per seed.
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
    let chart = |dataset: String| {
        let mut dots = Vec::new();
        for (column, name) in columns {
            for (series, method) in methods.iter().enumerate() {
                dots.extend(dot(name, series, &values(results, &dataset, method, column)));
            }
        }
        let title = format!("{title}, {dataset}");
        let interval = band(results);
        let chart = Dots {
            title,
            x: x.to_owned(),
            interval,
            series: methods.clone(),
            dots,
            mark,
            first_colour: 0,
        };
        (!chart.dots.is_empty()).then(|| chart.chart())
    };
    datasets(results).into_iter().filter_map(chart).collect()
}

/// Mean and one standard deviation; `None` without numbers.
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

/// Columns with the names they have in a chart.
pub(super) fn named(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(column, name)| ((*column).to_owned(), (*name).to_owned())).collect()
}

/// Curves over the numbers of one varied setting, one chart per dataset.
pub(super) fn over_setting(
    results: &Results,
    key: &str,
    column: &str,
    about: [&str; 3],
) -> Vec<Chart> {
    let [title, x, y] = about;
    let number = |row: &ResultRow| row.varied.get(key).and_then(|value| value.parse::<f64>().ok());
    let mut steps: Vec<f64> = results.rows.iter().filter_map(number).collect();
    steps.sort_by(f64::total_cmp);
    steps.dedup();
    let chart = |dataset: String| {
        let line = |method: String| {
            let at = |step: f64| {
                let here =
                    rows(results, &dataset, &method).filter(move |row| number(row) == Some(step));
                (step, here.filter_map(|row| results.value(row, column)).collect())
            };
            Line::of(
                method.clone(),
                steps.iter().copied().map(at).collect::<Vec<(f64, Vec<f64>)>>(),
            )
        };
        let lines: Vec<Line> = labels(results).into_iter().map(line).collect();
        let known = lines.iter().any(|line| line.points.iter().any(|point| point[1].is_finite()));
        let title = format!("{title}, {dataset}");
        known.then(|| {
            Lines {
                title,
                x: x.to_owned(),
                y: y.to_owned(),
                band: band(results),
                lines,
                mark: None,
            }
            .chart()
        })
    };
    datasets(results).into_iter().filter_map(chart).collect()
}
