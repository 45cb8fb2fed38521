//! Edge-wise propagation reliability.

use boostfgl_fairness::diagnostics::DiagnosticKind;
use boostfgl_fairness::diagnostics::epr::{Epr, EprClient, EprGroup};

use super::number::{middle, percent, spread};
use super::{headings, line, notes, per_seed, question};
use crate::table::range;
use crate::text_table::{Line, TextTable};

/// The harmful messages by group and by client, and the quantiles of the reliability.
pub(super) fn tables(found: &[&Epr]) -> Vec<TextTable> {
    vec![harmful(found), quantiles(found)]
}

/// The names of the groups, in the order of the first seed.
fn groups<'a>(found: &[&'a Epr]) -> impl Iterator<Item = &'a str> + use<'a> {
    found.first().copied().into_iter().flat_map(|epr| &epr.groups).map(|group| group.group.as_str())
}

/// One group in every seed.
fn group<'a>(found: &[&'a Epr], name: &str) -> Vec<Option<&'a EprGroup>> {
    found.iter().map(|epr| epr.groups.iter().find(|group| group.group == name)).collect()
}

fn harmful(found: &[&Epr]) -> TextTable {
    let mut rows: Vec<Line> =
        groups(found).map(|name| group_row(&group(found, name), name)).collect();
    let clients = found.iter().map(|epr| epr.clients.len()).max().unwrap_or(0);
    rows.extend((0..clients).map(|client| client_row(found, client)));
    let mut notes = notes(&[
        "A message u→v is harmful if the loss of v is smaller without it: R = ℓ without it − ℓ \
         with it < 0.",
        "Groups are of the receiving node v, whose label must be known; the model is that of the \
         last round.",
        "Messages are those of that round's training, not those that are computed anew for \
         evaluation.",
    ]);
    if measured(found).is_some_and(|share| share < 1.0) {
        notes.push(
            "Sampling: standard error of the share, because not every message was measured."
                .to_owned(),
        );
    }
    TextTable {
        title: question(DiagnosticKind::Epr),
        labels: "Into",
        columns: headings(&[
            ["Messages", ""],
            ["Measured", ""],
            ["Harmful", "%"],
            ["Sampling", "± points"],
            ["Mean R", ""],
        ]),
        rows,
        notes,
    }
}

fn group_row(seeds: &[Option<&EprGroup>], name: &str) -> Line {
    let errors = per_seed(seeds, |group| group.sampling_error.map(|error| 100.0 * error));
    line(
        name,
        vec![
            range(seeds.iter().map(|group| group.map_or(0, |group| group.edges))),
            range(seeds.iter().map(|group| group.map_or(0, |group| group.measured))),
            percent(&per_seed(seeds, |group| group.negative_share)),
            middle(&errors, 1),
            spread(&per_seed(seeds, |group| group.mean), 4),
        ],
    )
}

fn client_row(found: &[&Epr], client: usize) -> Line {
    let seeds: Vec<Option<&EprClient>> =
        found.iter().map(|epr| epr.clients.iter().find(|entry| entry.client == client)).collect();
    let measured = range(seeds.iter().map(|entry| entry.map_or(0, |entry| entry.measured)));
    let harmful = percent(&per_seed(&seeds, |entry| {
        (entry.measured > 0).then(|| entry.negative as f64 / entry.measured as f64)
    }));
    line(
        format!("client {client}"),
        vec![String::new(), measured, harmful, String::new(), String::new()],
    )
}

fn quantiles(found: &[&Epr]) -> TextTable {
    TextTable {
        title: "how reliable are messages? (epr)".to_owned(),
        labels: "Into",
        columns: Epr::QUANTILES
            .iter()
            .map(|q| [format!("{:.0} %", 100.0 * q), "R".to_owned()])
            .collect(),
        rows: groups(found).map(|name| quantile_row(&group(found, name), name)).collect(),
        notes: notes(&[
            "The quantiles of R, mean over seeds: this share of the messages has at most this R.",
        ]),
    }
}

fn quantile_row(seeds: &[Option<&EprGroup>], name: &str) -> Line {
    let mut cells = Vec::with_capacity(Epr::QUANTILES.len());
    for q in 0..Epr::QUANTILES.len() {
        cells.push(middle(&per_seed(seeds, |group| group.quantiles.get(q).copied()), 4));
    }
    line(name, cells)
}

/// The share of the messages that was measured.
pub(super) fn measured(found: &[&Epr]) -> Option<f64> {
    let all: Vec<&EprGroup> = group(found, "all").into_iter().flatten().collect();
    let (measured, edges) =
        all.iter().fold((0, 0), |(m, e), group| (m + group.measured, e + group.edges));
    (edges > 0).then(|| measured as f64 / edges as f64)
}
