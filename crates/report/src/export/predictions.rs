//! One row per run, seed and node.

use super::Parts;
use super::records::{Column, Records, keys};
use super::runs::Run;
use crate::SeedPredictions;

/// One part per seed, so that the predictions of all seeds are not copied at once.
pub(super) fn records<'a>(runs: &'a [Run<'a>]) -> Parts<'a> {
    Box::new(runs.iter().flat_map(of_run))
}

/// The parts of a run.
fn of_run<'a>(run: &'a Run<'a>) -> impl Iterator<Item = Records<'a>> {
    let seeds = run.view.predictions.iter().flat_map(|predictions| &predictions.seeds);
    seeds.map(move |seed| of_seed(run, seed))
}

/// The part of one seed.
fn of_seed<'a>(run: &'a Run<'a>, seed: &'a SeedPredictions) -> Records<'a> {
    let rows = &seed.rows;
    let mut columns = keys(rows.iter().map(move |_| run));
    columns.push(Column::seed("seed", rows.iter().map(|_| Some(seed.seed))).required());
    columns.push(Column::text("node", rows.iter().map(|row| Some(&row.node[..]))).required());
    columns
        .push(Column::count("client", rows.iter().map(|row| Some(row.client.into()))).required());
    columns.push(Column::text("split", rows.iter().map(|row| Some(row.split.name()))).required());
    columns.push(Column::text("label", rows.iter().map(|row| row.label.as_deref())));
    columns.push(
        Column::text("prediction", rows.iter().map(|row| Some(&row.prediction[..]))).required(),
    );
    columns.push(Column::flag("minority", rows.iter().map(|row| row.minority)));
    columns.push(Column::flag("heterophilous", rows.iter().map(|row| row.heterophilous)));
    Records { columns }
}
