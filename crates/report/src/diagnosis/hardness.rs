//! Hardness of clients.

use boostfgl_fairness::diagnostics::Which;
use boostfgl_fairness::diagnostics::hardness::{ClientHardness, Hardness};

use super::number::{percent, spread};
use super::{headings, line, notes, question};
use crate::sheet::{Line, Sheet};
use crate::table::range;

/// The clients, and how their hardness goes with their skew.
pub(super) fn sheets(found: &[&Hardness]) -> Vec<Sheet> {
    let last = found.iter().flat_map(|hardness| &hardness.clients).map(|client| client.client).max();
    let rows = (0..last.map_or(0, |last| last + 1)).map(|client| row(found, client)).collect();
    let correlation = spread(&found.iter().map(|hardness| hardness.correlation).collect::<Vec<_>>(), 2);
    let mut told = notes(&[
        "Hardness is the mean of both shares of training nodes; hard are the hardest fifth of the clients.",
        "A dash: the client has no minority or no majority training node. Seeds divide the graph anew.",
    ]);
    told.push(format!(
        "Spearman's correlation of hardness and GSD over clients: {correlation}; below 0 the harder get less."
    ));
    let columns = [
        ["Nodes", ""],
        ["Minority", "%"],
        ["Heterophilous", "%"],
        ["Hardness", ""],
        ["GSD", "plain"],
        ["GSD", "boosted"],
        ["Hard", "seeds"],
    ];
    Vec::from([Sheet {
        title: question(Which::Hardness),
        labels: "Client",
        columns: headings(&columns),
        rows,
        notes: told,
    }])
}

fn row(found: &[&Hardness], client: usize) -> Line {
    let of_seeds: Vec<Option<&ClientHardness>> =
        found.iter().map(|hardness| hardness.clients.iter().find(|one| one.client == client)).collect();
    let each = |pick: fn(&ClientHardness) -> Option<f64>| of_seeds.iter().map(|one| pick((*one)?)).collect::<Vec<_>>();
    let hard = of_seeds.iter().flatten().filter(|one| one.hard).count();
    line(
        format!("client {client}"),
        vec![
            range(of_seeds.iter().map(|one| one.map_or(0, |one| one.nodes))),
            percent(&each(|one| Some(one.minority))),
            percent(&each(|one| Some(one.heterophilous))),
            spread(&each(|one| Some(one.hardness)), 2),
            spread(&each(|one| one.gsd), 2),
            spread(&each(|one| one.weighted_gsd), 2),
            hard.to_string(),
        ],
    )
}
