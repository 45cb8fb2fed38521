//! One row per run, seed, round and client: what it did and how it fares.

use super::Parts;
use super::records::{Column, Records, column, keys};
use super::rounds;
use super::runs::Run;
use crate::{ClientRecord, Round};
use boostfgl_fairness::{ClientScores, HEADLINES, Reading};
use std::collections::BTreeMap;

/// One client in one round. One that took no part may still be evaluated, and one that took part need
/// not be.
#[derive(Clone, Copy)]
struct Place<'a> {
    run: &'a Run<'a>,
    round: &'a Round,
    client: u64,
    did: Option<&'a ClientRecord>,
    fares: Option<&'a ClientScores>,
}

pub(super) fn records<'a>(runs: &'a [Run<'a>]) -> Parts<'a> {
    let rows: Vec<Place<'a>> = runs
        .iter()
        .flat_map(|run| rounds::of(run).flat_map(move |round| clients(run, round)))
        .collect();
    let did = |name: &str, value: fn(&ClientRecord) -> Option<f64>| {
        Column::number(name, rows.iter().map(|row| value(row.did?)))
    };
    let sent = |name: &str, value: fn(&ClientRecord) -> u64| {
        Column::count(name, rows.iter().map(|row| row.did.map(value)))
    };
    let mut columns = keys(rows.iter().map(|row| row.run));
    columns.push(Column::seed("seed", rows.iter().map(|row| Some(row.round.seed))).required());
    columns.push(
        Column::count("round", rows.iter().map(|row| Some(row.round.round as u64))).required(),
    );
    columns.push(Column::count("client", rows.iter().map(|row| Some(row.client))).required());
    columns.push(did("loss", |client| Some(client.loss)));
    columns.push(did("update_norm", |client| Some(client.update_norm)));
    columns.push(did("weight", |client| client.weight));
    columns.push(did("trust", |client| client.trust));
    columns.push(did("gap", |client| client.gap));
    columns.push(sent("bytes_up", |client| client.bytes_up));
    columns.push(sent("bytes_down", |client| client.bytes_down));
    columns.push(did("seconds", |client| Some(client.seconds)));
    columns.push(Column::count("nodes", rows.iter().map(|row| Some(row.fares?.nodes as u64))));
    for headline in HEADLINES.iter() {
        let values = rows.iter().map(|row| row.fares?.scores.get(headline).pooled);
        columns.push(Column::number(column(headline, Reading::Pooled), values));
    }
    Box::new(std::iter::once(Records { columns }))
}

/// The clients of a round by number.
fn clients<'a>(run: &'a Run<'a>, round: &'a Round) -> impl Iterator<Item = Place<'a>> {
    let none = |client| Place { run, round, client, did: None, fares: None };
    let mut places: BTreeMap<u64, Place<'a>> = BTreeMap::new();
    for did in &round.clients {
        let client = did.client as u64;
        places.entry(client).or_insert(none(client)).did = Some(did);
    }
    for fares in round.metrics.iter().flat_map(|metrics| &metrics.0.clients) {
        let client = u64::from(fares.client);
        places.entry(client).or_insert(none(client)).fares = Some(fares);
    }
    places.into_values()
}
