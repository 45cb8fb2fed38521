//! One row per run, seed, round and client: its training record and its scores.

use super::Parts;
use super::records::{Column, Records, column, keys};
use super::rounds;
use super::runs::Run;
use crate::{ClientRecord, Round};
use boostfgl_fairness::{ClientScores, HEADLINES, Reading};
use std::collections::BTreeMap;

/// One client in one round. Training and evaluation are independent: either may be missing.
#[derive(Clone, Copy)]
struct Place<'a> {
    run: &'a Run<'a>,
    round: &'a Round,
    client: u64,
    /// What it did, if it took part in the round.
    record: Option<&'a ClientRecord>,
    /// Its scores, if it was evaluated.
    scores: Option<&'a ClientScores>,
}

pub(super) fn records<'a>(runs: &'a [Run<'a>]) -> Parts<'a> {
    let rows: Vec<Place<'a>> = runs
        .iter()
        .flat_map(|run| rounds::of_run(run).flat_map(move |round| clients(run, round)))
        .collect();
    let mut columns = keys(rows.iter().map(|row| row.run));
    columns.push(Column::seed("seed", rows.iter().map(|row| Some(row.round.seed))).required());
    columns.push(
        Column::count("round", rows.iter().map(|row| Some(row.round.round as u64))).required(),
    );
    columns.push(Column::count("client", rows.iter().map(|row| Some(row.client))).required());
    columns.push(number(&rows, "loss", |client| Some(client.loss)));
    columns.push(number(&rows, "update_norm", |client| Some(client.update_norm)));
    columns.push(number(&rows, "weight", |client| client.weight));
    columns.push(number(&rows, "trust", |client| client.trust));
    columns.push(number(&rows, "gap", |client| client.gap));
    columns.push(count(&rows, "bytes_up", |client| client.bytes_up));
    columns.push(count(&rows, "bytes_down", |client| client.bytes_down));
    columns.push(count(&rows, "framed_up", |client| client.framed_up));
    columns.push(count(&rows, "framed_down", |client| client.framed_down));
    columns.push(number(&rows, "seconds", |client| Some(client.seconds)));
    columns.push(Column::count("nodes", rows.iter().map(|row| Some(row.scores?.nodes as u64))));
    for headline in HEADLINES.iter() {
        let values = rows.iter().map(|row| row.scores?.scores.get(headline).pooled);
        columns.push(Column::number(column(headline, Reading::Pooled), values));
    }
    Box::new(std::iter::once(Records { columns }))
}

/// The record and the scores of a client.
type Entry<'a> = (Option<&'a ClientRecord>, Option<&'a ClientScores>);

/// A column of measured values of the clients that took part.
fn number<'a>(
    rows: &[Place<'_>],
    name: &str,
    value: fn(&ClientRecord) -> Option<f64>,
) -> Column<'a> {
    Column::number(name, rows.iter().map(|row| value(row.record?)))
}

/// A column of counts of the clients that took part.
fn count<'a>(rows: &[Place<'_>], name: &str, value: fn(&ClientRecord) -> u64) -> Column<'a> {
    Column::count(name, rows.iter().map(|row| row.record.map(value)))
}

/// The clients of a round by number.
fn clients<'a>(run: &'a Run<'a>, round: &'a Round) -> impl Iterator<Item = Place<'a>> {
    let mut clients: BTreeMap<u64, Entry<'a>> = BTreeMap::new();
    for record in &round.clients {
        clients.entry(record.client as u64).or_default().0 = Some(record);
    }
    for scores in round.metrics.iter().flat_map(|metrics| &metrics.0.clients) {
        clients.entry(u64::from(scores.client)).or_default().1 = Some(scores);
    }
    clients.into_iter().map(move |(client, (record, scores))| Place {
        run,
        round,
        client,
        record,
        scores,
    })
}
