//! One row per run, seed and round.

use super::Parts;
use super::records::{Column, Records, column, keys, readings};
use super::runs::Run;
use crate::Round;

/// The rounds of a run, in the order of its file.
pub(super) fn of_run<'a>(run: &'a Run<'a>) -> impl Iterator<Item = &'a Round> + Clone {
    run.view.rounds.iter().flat_map(|rounds| &rounds.rounds)
}

pub(super) fn records<'a>(runs: &'a [Run<'a>]) -> Parts<'a> {
    let rows = runs.iter().flat_map(|run| of_run(run).map(move |round| (run, round)));
    let rounds: Vec<&'a Round> = rows.clone().map(|(_, round)| round).collect();
    let mut columns = keys(rows.map(|(run, _)| run));
    columns.push(Column::seed("seed", rounds.iter().map(|round| Some(round.seed))).required());
    columns.push(
        Column::count("round", rounds.iter().map(|round| Some(round.round as u64))).required(),
    );
    columns.push(Column::number("loss", rounds.iter().map(|round| Some(round.loss))));
    columns.push(Column::number("val_accuracy", rounds.iter().map(|round| round.val_accuracy)));
    for (headline, reading) in readings() {
        let values =
            rounds.iter().map(|round| round.metrics.as_ref()?.0.scores.get(headline).get(reading));
        columns.push(Column::number(column(headline, reading), values));
    }
    columns.push(Column::count("bytes_up", rounds.iter().map(|round| Some(round.bytes_up))));
    columns.push(Column::count("bytes_down", rounds.iter().map(|round| Some(round.bytes_down))));
    columns.push(Column::number("seconds", rounds.iter().map(|round| Some(round.seconds))));
    Box::new(std::iter::once(Records { columns }))
}
