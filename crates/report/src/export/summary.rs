//! One row per run: what it reached and what it cost.

use super::Parts;
use super::records::{Column, Records, column, keys, readings};
use super::runs::Run;
use crate::{Row, SeedSummary, Summary, Table};
use boostfgl_fairness::mean;

/// Runs without a summary have a row too: their numbers are missing, and `state` says why.
pub(super) fn records<'a>(runs: &'a [Run<'a>]) -> Parts<'a> {
    let summaries = || runs.iter().map(|run| run.view.summary.as_ref());
    let mut columns = keys(runs.iter());
    columns.push(Column::text("state", runs.iter().map(|run| Some(run.state()))).required());
    columns
        .push(Column::count("seeds", summaries().map(|summary| Some(summary?.seeds.len() as u64))));
    columns.push(Column::owned("seed_list", summaries().map(|summary| Some(seeds(summary?)))));
    for (headline, reading) in readings() {
        let name = column(headline, reading);
        let mean = summaries().map(|summary| summary?.mean.0.get(headline).get(reading));
        let std = summaries().map(|summary| summary?.std.0.get(headline).get(reading));
        columns.push(Column::number(format!("{name}_mean"), mean));
        columns.push(Column::number(format!("{name}_std"), std));
    }
    let number = |name: &str, value: fn(&Summary) -> f64| {
        Column::number(name, summaries().map(|summary| summary.map(value)))
    };
    let per_seed = |value: fn(&SeedSummary) -> f64| {
        summaries().map(move |summary| mean(&summary?.seeds.iter().map(value).collect::<Vec<_>>()))
    };
    columns.push(Column::number("seed_seconds_mean", per_seed(|seed| seed.seconds)));
    columns.push(Column::number("seed_cpu_seconds_mean", per_seed(|seed| seed.cpu_seconds)));
    columns.push(number("wall_seconds", |summary| summary.wall_seconds));
    columns.push(number("cpu_seconds", |summary| summary.cpu_seconds));
    columns.push(number("train_cpu_seconds", |summary| summary.train_cpu_seconds));
    columns.push(number("peak_rss_mib", |summary| summary.peak_rss_mib));
    columns.push(Column::count("bytes_up", summaries().map(|summary| Some(summary?.bytes.up))));
    columns.push(Column::count("bytes_down", summaries().map(|summary| Some(summary?.bytes.down))));
    columns.push(Column::text("program", summaries().map(|summary| Some(&summary?.program[..]))));
    columns.push(Column::text("digest", summaries().map(|summary| Some(&summary?.digest[..]))));
    Box::new(std::iter::once(Records { columns }))
}

/// `0 1 2`: a list that no comma takes apart.
fn seeds(summary: &Summary) -> String {
    summary.seeds.iter().map(|seed| seed.seed.to_string()).collect::<Vec<_>>().join(" ")
}

/// One table per dataset, both in the order in which they come. Runs whose methods are called the
/// same are told apart by the names of their folders.
pub(super) fn tables(runs: &[Run<'_>]) -> Vec<Table> {
    let finished: Vec<(&Run<'_>, &Summary)> =
        runs.iter().filter_map(|run| Some((run, run.view.summary.as_ref()?))).collect();
    let mut datasets: Vec<&str> = Vec::new();
    for (_, summary) in &finished {
        if !datasets.contains(&&summary.dataset[..]) {
            datasets.push(&summary.dataset);
        }
    }
    let table = |dataset: &str| {
        let here = || finished.iter().filter(|(_, summary)| summary.dataset == dataset);
        let row = |(run, summary): &(&Run<'_>, &Summary)| {
            let alike = here().filter(|(other, _)| other.method == run.method).count();
            let label = if alike > 1 {
                format!("{} ({})", run.method, run.name)
            } else {
                run.method.clone()
            };
            Row { label, ..Row::from(*summary) }
        };
        Table::new(dataset, here().map(row).collect()).with_cost(true)
    };
    datasets.into_iter().map(table).collect()
}

/// The runs that no table shows, and why, in a sentence.
pub(super) fn not_shown(runs: &[Run<'_>]) -> Option<String> {
    let missing = runs.iter().filter(|run| run.view.summary.is_none());
    let missing: Vec<String> =
        missing.map(|run| format!("{} ({})", run.name, run.state())).collect();
    (!missing.is_empty())
        .then(|| format!("Without a summary, and so in no table: {}.", missing.join(", ")))
}
