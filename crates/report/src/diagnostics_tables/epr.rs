//! Edge-wise propagation reliability.

use boostfgl_fairness::diagnostics::DiagnosticKind;
use boostfgl_fairness::diagnostics::epr::{Epr, EprGroup};

use super::number::{middle, percent, spread};
use super::{headings, line, notes, question};
use crate::table::range;
use crate::text_table::{Line, TextTable};

/// The harmful messages by group and by client, and where the reliabilities lie.
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
        groups(found).map(|name| of_group(&group(found, name), name)).collect();
    let clients = found.iter().map(|epr| epr.clients.len()).max().unwrap_or(0);
    rows.extend((0..clients).map(|client| of_client(found, client)));
    let mut told = notes(&[
        "A message u→v is harmful if the loss of v is smaller without it: R = ℓ without it − ℓ \
         with it < 0.",
        "Groups are of the receiving node v, whose label must be known; the model is that of the \
         last round.",
        "Messages are those of that round's training, not those that are computed anew for \
         evaluation.",
    ]);
    if measured(found).is_some_and(|share| share < 1.0) {
        told.push(
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
        notes: told,
    }
}

fn of_group(seeds: &[Option<&EprGroup>], name: &str) -> Line {
    let each = |pick: fn(&EprGroup) -> Option<f64>| {
        seeds.iter().map(|group| pick((*group)?)).collect::<Vec<_>>()
    };
    let count =
        |pick: fn(&EprGroup) -> usize| range(seeds.iter().map(|group| group.map_or(0, pick)));
    let points: Vec<Option<f64>> =
        each(|group| group.sampling_error).iter().map(|e| e.map(|e| 100.0 * e)).collect();
    line(
        name,
        vec![
            count(|group| group.edges),
            count(|group| group.measured),
            percent(&each(|group| group.negative_share)),
            middle(&points, 1),
            spread(&each(|group| group.mean), 4),
        ],
    )
}

fn of_client(found: &[&Epr], client: usize) -> Line {
    let seeds: Vec<_> =
        found.iter().map(|epr| epr.clients.iter().find(|one| one.client == client)).collect();
    let share = |one: &boostfgl_fairness::diagnostics::epr::EprClient| {
        (one.measured > 0).then(|| one.negative as f64 / one.measured as f64)
    };
    let measured = range(seeds.iter().map(|one| one.map_or(0, |one| one.measured)));
    let harmful = percent(&seeds.iter().map(|one| share((*one)?)).collect::<Vec<_>>());
    line(
        format!("client {client}"),
        vec![String::new(), measured, harmful, String::new(), String::new()],
    )
}

fn quantiles(found: &[&Epr]) -> TextTable {
    let row = |name: &str| {
        let seeds = group(found, name);
        let at = |q: usize| {
            middle(
                &seeds
                    .iter()
                    .map(|g| g.and_then(|g| g.quantiles.get(q).copied()))
                    .collect::<Vec<_>>(),
                4,
            )
        };
        line(name, (0..Epr::QUANTILES.len()).map(at).collect())
    };
    TextTable {
        title: "how reliable are messages? (epr)".to_owned(),
        labels: "Into",
        columns: Epr::QUANTILES
            .iter()
            .map(|q| [format!("{:.0} %", 100.0 * q), "R".to_owned()])
            .collect(),
        rows: groups(found).map(row).collect(),
        notes: notes(&[
            "The quantiles of R, mean over seeds: so many percent of the messages have at most \
             this R.",
        ]),
    }
}

/// The share of the messages that was measured.
pub(super) fn measured(found: &[&Epr]) -> Option<f64> {
    let all: Vec<&EprGroup> = group(found, "all").into_iter().flatten().collect();
    let (measured, edges) =
        all.iter().fold((0, 0), |(m, e), group| (m + group.measured, e + group.edges));
    (edges > 0).then(|| measured as f64 / edges as f64)
}
