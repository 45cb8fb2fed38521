//! One row per run: its scores and its cost.

use super::Parts;
use super::records::{Column, Records, column, keys, readings};
use super::runs::Run;
use crate::{Row, SeedSummary, Summary, Table};
use boostfgl_fairness::mean;

/// Runs without a summary have a row without numbers; `state` has the reason.
pub(super) fn records<'a>(runs: &'a [Run<'a>]) -> Parts<'a> {
    let summaries: Vec<Option<&'a Summary>> =
        runs.iter().map(|run| run.view.summary.as_ref()).collect();
    let mut columns = keys(runs.iter());
    columns.push(Column::text("state", runs.iter().map(|run| Some(run.state()))).required());
    columns.push(count(&summaries, "seeds", |summary| summary.seeds.len() as u64));
    columns.push(Column::owned("seed_list", summaries.iter().map(|summary| summary.map(seeds))));
    for (headline, reading) in readings() {
        let name = column(headline, reading);
        let mean = summaries.iter().map(|summary| (*summary)?.mean.0.get(headline).get(reading));
        let std = summaries.iter().map(|summary| (*summary)?.std.0.get(headline).get(reading));
        columns.push(Column::number(format!("{name}_mean"), mean));
        columns.push(Column::number(format!("{name}_std"), std));
    }
    columns.push(seed_mean(&summaries, "seed_seconds_mean", |seed| seed.seconds));
    columns.push(seed_mean(&summaries, "seed_cpu_seconds_mean", |seed| seed.cpu_seconds));
    columns.push(number(&summaries, "wall_seconds", |summary| summary.wall_seconds));
    columns.push(number(&summaries, "cpu_seconds", |summary| summary.cpu_seconds));
    columns.push(number(&summaries, "train_cpu_seconds", |summary| summary.train_cpu_seconds));
    columns.push(number(&summaries, "peak_rss_mib", |summary| summary.peak_rss_mib));
    columns.push(count(&summaries, "bytes_up", |summary| summary.bytes.up));
    columns.push(count(&summaries, "bytes_down", |summary| summary.bytes.down));
    columns.push(count(&summaries, "framed_up", |summary| summary.bytes.framed_up));
    columns.push(count(&summaries, "framed_down", |summary| summary.bytes.framed_down));
    columns.push(text(&summaries, "program", |summary| &summary.program));
    columns.push(text(&summaries, "digest", |summary| &summary.digest));
    Box::new(std::iter::once(Records { columns }))
}

/// A column of texts of finished runs.
fn text<'a>(
    summaries: &[Option<&'a Summary>],
    name: &str,
    value: fn(&'a Summary) -> &'a str,
) -> Column<'a> {
    Column::text(name, summaries.iter().map(|summary| summary.map(value)))
}

/// A column of counts of finished runs.
fn count<'a>(summaries: &[Option<&Summary>], name: &str, value: fn(&Summary) -> u64) -> Column<'a> {
    Column::count(name, summaries.iter().map(|summary| summary.map(value)))
}

/// A column of measured values of finished runs.
fn number<'a>(
    summaries: &[Option<&Summary>],
    name: &str,
    value: fn(&Summary) -> f64,
) -> Column<'a> {
    Column::number(name, summaries.iter().map(|summary| summary.map(value)))
}

/// A column of means over the seeds of finished runs.
fn seed_mean<'a>(
    summaries: &[Option<&Summary>],
    name: &str,
    value: fn(&SeedSummary) -> f64,
) -> Column<'a> {
    let means = summaries
        .iter()
        .map(|summary| mean(&(*summary)?.seeds.iter().map(value).collect::<Vec<f64>>()));
    Column::number(name, means)
}

/// The seeds as a list such as `0 1 2`, without commas since it is a field of CSV.
fn seeds(summary: &Summary) -> String {
    summary.seeds.iter().map(|seed| seed.seed.to_string()).collect::<Vec<_>>().join(" ")
}

/// One table per dataset, with datasets and runs in order of appearance.
pub(super) fn tables(runs: &[Run<'_>]) -> Vec<Table> {
    let finished: Vec<(&Run<'_>, &Summary)> =
        runs.iter().filter_map(|run| Some((run, run.view.summary.as_ref()?))).collect();
    let mut datasets: Vec<&str> = Vec::new();
    for (_, summary) in &finished {
        if !datasets.contains(&&summary.dataset[..]) {
            datasets.push(&summary.dataset);
        }
    }
    let mut tables = Vec::new();
    for dataset in datasets {
        let here: Vec<(&Run<'_>, &Summary)> =
            finished.iter().copied().filter(|(_, summary)| summary.dataset == dataset).collect();
        tables.push(Table::new(dataset, rows(&here)).with_cost(true));
    }
    tables
}

/// The rows of one table. Runs with the same method are distinguished by the names of their
/// folders.
fn rows(runs: &[(&Run<'_>, &Summary)]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (run, summary) in runs {
        let same_method = runs.iter().filter(|(other, _)| other.method == run.method).count();
        let label = if same_method > 1 {
            format!("{} ({})", run.method, run.name)
        } else {
            run.method.clone()
        };
        rows.push(Row { label, ..Row::from(*summary) });
    }
    rows
}

/// A sentence that names the runs without a summary and their states; `None` without any.
pub(super) fn not_shown(runs: &[Run<'_>]) -> Option<String> {
    let missing = runs.iter().filter(|run| run.view.summary.is_none());
    let missing: Vec<String> =
        missing.map(|run| format!("{} ({})", run.name, run.state())).collect();
    (!missing.is_empty())
        .then(|| format!("Without a summary, and so in no table: {}.", missing.join(", ")))
}
