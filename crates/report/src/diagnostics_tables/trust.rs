//! Trust in the whole update and in each layer.

use boostfgl_fairness::diagnostics::DiagnosticKind;
use boostfgl_fairness::diagnostics::trust::{ClientTrust, Trust};

use super::number::{middle, spread};
use super::{line, notes, per_seed, question};
use crate::text_table::{Line, TextTable};

/// With more layers there is no room for the standard deviation.
const FEW_LAYERS: usize = 3;

/// The weights of the last round, and the distance of the weights per layer from those of the whole
/// update.
pub(super) fn tables(found: &[&Trust]) -> Vec<TextTable> {
    let layers = found.first().map_or(&[][..], |trust| &trust.layers);
    let show = if layers.len() > FEW_LAYERS { middle } else { spread };
    let rounds = found.iter().filter_map(|trust| trust.rounds.last());
    let last = rounds.flat_map(|round| &round.clients).map(|client| client.client).max();
    let clients = 0..last.map_or(0, |last| last + 1);
    let mut rows: Vec<Line> =
        clients.map(|client| row(found, client, layers.len(), show)).collect();
    let variations: Vec<Vec<f64>> = found.iter().map(|trust| trust.variation()).collect();
    let mut distances = vec![String::new(); 3];
    for l in 0..layers.len() {
        let seeds: Vec<Option<f64>> =
            variations.iter().map(|layers| layers.get(l).copied()).collect();
        distances.push(show(&seeds, 3));
    }
    rows.push(line("distance", distances));
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
            "Distance: the share of the weight that a layer gives to other clients, mean over \
             rounds; 0 is none.",
        ]),
    }])
}

/// One client: its gap, the norm of its update and its weights.
fn row(
    found: &[&Trust],
    client: usize,
    layers: usize,
    show: fn(&[Option<f64>], usize) -> String,
) -> Line {
    let seeds: Vec<Option<&ClientTrust>> = found
        .iter()
        .map(|trust| trust.rounds.last()?.clients.iter().find(|entry| entry.client == client))
        .collect();
    let mut cells = vec![
        show(&per_seed(&seeds, |entry| entry.gap), 3),
        show(&per_seed(&seeds, |entry| Some(entry.norm)), 3),
        show(&per_seed(&seeds, |entry| Some(entry.weight)), 3),
    ];
    for l in 0..layers {
        cells.push(show(&per_seed(&seeds, |entry| entry.layer_weights.get(l).copied()), 3));
    }
    line(format!("client {client}"), cells)
}
