//! Hardness of clients.

use boostfgl_fairness::diagnostics::DiagnosticKind;
use boostfgl_fairness::diagnostics::hardness::{ClientHardness, Hardness};

use super::number::{percent, spread};
use super::{headings, line, notes, per_seed, question};
use crate::table::range;
use crate::text_table::{Line, TextTable};

/// The clients, and the correlation of their hardness and their GSD.
pub(super) fn tables(found: &[&Hardness]) -> Vec<TextTable> {
    let last =
        found.iter().flat_map(|hardness| &hardness.clients).map(|client| client.client).max();
    let boosted = found.iter().flat_map(|hardness| &hardness.clients).any(is_boosted);
    let rows =
        (0..last.map_or(0, |last| last + 1)).map(|client| row(found, client, boosted)).collect();
    let correlation =
        spread(&found.iter().map(|hardness| hardness.correlation).collect::<Vec<_>>(), 2);
    let mut notes = notes(&[
        "Hardness is the mean of both shares of training nodes; hard are the hardest fifth of the \
         clients.",
        "A dash: the client has no minority or no majority training node. Seeds divide the graph \
         anew.",
    ]);
    notes.push(format!(
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
        notes,
    }])
}

/// Whether nodes of a client have weights other than 1: then its weighted GSD differs.
fn is_boosted(client: &ClientHardness) -> bool {
    client.gsd.map(f64::to_bits) != client.weighted_gsd.map(f64::to_bits)
}

/// One client; with `boosted` the last column is the GSD under node boosting.
fn row(found: &[&Hardness], client: usize, boosted: bool) -> Line {
    let seeds: Vec<Option<&ClientHardness>> = found
        .iter()
        .map(|hardness| hardness.clients.iter().find(|entry| entry.client == client))
        .collect();
    let hard = seeds.iter().flatten().filter(|entry| entry.hard).count();
    let mut cells = vec![
        range(seeds.iter().map(|entry| entry.map_or(0, |entry| entry.nodes))),
        percent(&per_seed(&seeds, |entry| Some(entry.minority))),
        percent(&per_seed(&seeds, |entry| Some(entry.heterophilous))),
        spread(&per_seed(&seeds, |entry| Some(entry.hardness)), 2),
        hard.to_string(),
        spread(&per_seed(&seeds, |entry| entry.gsd), 2),
    ];
    if boosted {
        cells.push(spread(&per_seed(&seeds, |entry| entry.weighted_gsd), 2));
    }
    line(format!("client {client}"), cells)
}
