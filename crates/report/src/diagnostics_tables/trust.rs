//! Trust in the whole update and in each layer.

use boostfgl_fairness::diagnostics::DiagnosticKind;
use boostfgl_fairness::diagnostics::trust::{ClientTrust, Trust};

use super::number::{middle, spread};
use super::{line, notes, question};
use crate::text_table::{Line, TextTable};

/// With more layers there is no room for the spread.
const FEW_LAYERS: usize = 3;

/// The weights of the last round, and how far those of layers are from those of the whole.
pub(super) fn tables(found: &[&Trust]) -> Vec<TextTable> {
    let layers = found.first().map_or(&[][..], |trust| &trust.layers);
    let show = if layers.len() > FEW_LAYERS { middle } else { spread };
    let rounds = found.iter().filter_map(|trust| trust.rounds.last());
    let last = rounds.flat_map(|round| &round.clients).map(|client| client.client).max();
    let clients = 0..last.map_or(0, |last| last + 1);
    let mut rows: Vec<Line> =
        clients.map(|client| row(found, client, layers.len(), show)).collect();
    let variations: Vec<Vec<f64>> = found.iter().map(|trust| trust.variation()).collect();
    let distance = |l: usize| {
        show(&variations.iter().map(|layers| layers.get(l).copied()).collect::<Vec<_>>(), 3)
    };
    let empty = [String::new(), String::new(), String::new()];
    rows.push(line("distance", empty.into_iter().chain((0..layers.len()).map(distance)).collect()));
    let mut columns = vec![
        ["Gap".to_owned(), String::new()],
        ["Update".to_owned(), "norm".to_owned()],
        ["Weight".to_owned(), "whole".to_owned()],
    ];
    columns.extend(layers.iter().map(|name| ["Weight".to_owned(), name.clone()]));
    Vec::from([TextTable {
        title: question(DiagnosticKind::Trust),
        labels: "Client",
        columns,
        rows,
        notes: notes(&[
            "Weights that trust would give in the last round, by the norm of the whole update and \
             of each layer:",
            "size / ((1 + λ norm)(1 + γ gap)), normalised, whatever form of trust the run itself \
             uses.",
            "Distance: the share of the weight that a layer gives to somebody else, mean over \
             rounds; 0 is none.",
        ]),
    }])
}

fn row(
    found: &[&Trust],
    client: usize,
    layers: usize,
    show: fn(&[Option<f64>], usize) -> String,
) -> Line {
    let of_seeds: Vec<Option<&ClientTrust>> = found
        .iter()
        .map(|trust| {
            trust
                .rounds
                .last()
                .and_then(|round| round.clients.iter().find(|one| one.client == client))
        })
        .collect();
    let each = |pick: &dyn Fn(&ClientTrust) -> Option<f64>| {
        show(&of_seeds.iter().map(|one| pick((*one)?)).collect::<Vec<_>>(), 3)
    };
    let mut cells =
        vec![each(&|one| one.gap), each(&|one| Some(one.norm)), each(&|one| Some(one.weight))];
    cells.extend((0..layers).map(|l| each(&|one| one.layer_weights.get(l).copied())));
    line(format!("client {client}"), cells)
}
