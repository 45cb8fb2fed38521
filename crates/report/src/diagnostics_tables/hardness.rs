//! Hardness of clients.

use boostfgl_fairness::diagnostics::DiagnosticKind;
use boostfgl_fairness::diagnostics::hardness::{ClientHardness, Hardness};

use super::number::{percent, spread};
use super::{headings, line, notes, question};
use crate::table::range;
use crate::text_table::{Line, TextTable};

/// The clients, and how their hardness goes with their skew.
pub(super) fn tables(found: &[&Hardness]) -> Vec<TextTable> {
    let last =
        found.iter().flat_map(|hardness| &hardness.clients).map(|client| client.client).max();
    let differs = |client: &ClientHardness| {
        client.gsd.map(f64::to_bits) != client.weighted_gsd.map(f64::to_bits)
    };
    let boosted = found.iter().flat_map(|hardness| &hardness.clients).any(differs);
    let rows =
        (0..last.map_or(0, |last| last + 1)).map(|client| row(found, client, boosted)).collect();
    let correlation =
        spread(&found.iter().map(|hardness| hardness.correlation).collect::<Vec<_>>(), 2);
    let mut told = notes(&[
        "Hardness is the mean of both shares of training nodes; hard are the hardest fifth of the \
         clients.",
        "A dash: the client has no minority or no majority training node. Seeds divide the graph \
         anew.",
    ]);
    told.push(format!(
        "Spearman's correlation of hardness and GSD over clients: {correlation}; below 0 the \
         harder get less."
    ));
    let mut columns = vec![
        ["Nodes", ""],
        ["Minority", "%"],
        ["Heterophilous", "%"],
        ["Hardness", ""],
        ["Hard", "seeds"],
    ];
    columns.push(["GSD", "mean"]);
    if boosted {
        columns.push(["GSD", "boosted"]);
    }
    Vec::from([TextTable {
        title: question(DiagnosticKind::Hardness),
        labels: "Client",
        columns: headings(&columns),
        rows,
        notes: told,
    }])
}

/// The skew under node boosting has a column where nodes are weighted.
fn row(found: &[&Hardness], client: usize, boosted: bool) -> Line {
    let of_seeds: Vec<Option<&ClientHardness>> = found
        .iter()
        .map(|hardness| hardness.clients.iter().find(|one| one.client == client))
        .collect();
    let each = |pick: fn(&ClientHardness) -> Option<f64>| {
        of_seeds.iter().map(|one| pick((*one)?)).collect::<Vec<_>>()
    };
    let hard = of_seeds.iter().flatten().filter(|one| one.hard).count();
    let mut cells = vec![
        range(of_seeds.iter().map(|one| one.map_or(0, |one| one.nodes))),
        percent(&each(|one| Some(one.minority))),
        percent(&each(|one| Some(one.heterophilous))),
        spread(&each(|one| Some(one.hardness)), 2),
        hard.to_string(),
        spread(&each(|one| one.gsd), 2),
    ];
    if boosted {
        cells.push(spread(&each(|one| one.weighted_gsd), 2));
    }
    line(format!("client {client}"), cells)
}
