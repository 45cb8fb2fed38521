//! Time, memory and traffic.

use super::RunGroup;
use crate::markup::Markup;
use crate::{Block, BlockRow, Round};

pub(super) fn section(runs: &RunGroup) -> Option<String> {
    let mut page = Markup::default();
    let rows: Vec<Vec<String>> = runs
        .summaries()
        .map(|(at, label, summary)| {
            let seeds = summary.seeds.len().max(1) as f64;
            let rounds =
                runs.views[at].rounds.as_ref().map_or(&[][..], |rounds| &rounds.rounds[..]);
            vec![
                label.to_owned(),
                format!("{:.2}", summary.wall_seconds / seeds),
                format!("{:.2}", summary.cpu_seconds / seeds),
                format!("{:.2}", summary.train_cpu_seconds / seeds),
                format!("{:.0}", summary.peak_rss_mib),
                per_round(summary.bytes.up, rounds),
                per_round(summary.bytes.down, rounds),
                megabytes((summary.bytes.up + summary.bytes.down) as f64 / seeds),
            ]
        })
        .collect();
    if rows.is_empty() {
        return runs.block.as_ref().map(comparison);
    }
    let head = [
        "method",
        "clock, s per seed",
        "processor, s per seed",
        "of it training, s",
        "peak memory, MiB",
        "up, MB per client and round",
        "down, MB per client and round",
        "all traffic, MB per seed",
    ];
    page.table(&head.map(str::to_owned), &rows);
    page.text(
        "p",
        &[("class", &"note")],
        "Times include diagnostics, if any watched, and depend on what else the machine did; \
         bytes do not.",
    );
    Some(page.finish())
}

/// Bytes as MB with two decimals.
fn megabytes(bytes: f64) -> String {
    format!("{:.2}", bytes / 1e6)
}

/// The bytes per participation of a client in a round, as MB.
fn per_round(bytes: u64, rounds: &[Round]) -> String {
    let participations: usize = rounds.iter().map(|round| round.clients.len()).sum();
    if participations == 0 {
        "–".to_owned()
    } else {
        megabytes(bytes as f64 / participations as f64)
    }
}

/// The cost of the cells of a comparison, by method.
fn comparison(block: &Block) -> String {
    let mut page = Markup::default();
    let rows: Vec<Vec<String>> = block.rows.iter().map(cells).collect();
    let head = [
        "method",
        "processor, s per seed",
        "peak memory, MiB",
        "up, MB per client and round",
        "down, MB per client and round",
    ];
    page.table(&head.map(str::to_owned), &rows);
    page.finish()
}

/// The table row of one method.
fn cells(row: &BlockRow) -> Vec<String> {
    let cost = &row.cost;
    vec![
        row.label.clone(),
        decimals(cost.cpu_seconds, 2),
        decimals(cost.peak_rss_mib, 0),
        cost.bytes_up.map_or("–".to_owned(), megabytes),
        cost.bytes_down.map_or("–".to_owned(), megabytes),
    ]
}

/// A number with this many decimals, or a dash where there is no value.
fn decimals(value: Option<f64>, digits: usize) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.digits$}"))
}
