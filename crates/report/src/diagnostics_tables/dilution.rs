//! Dilution ratio and alignment of updates.

use boostfgl_fairness::diagnostics::DiagnosticKind;
use boostfgl_fairness::diagnostics::dilution::{
    Alignment, ClientAlignment, Dilution, DilutionRound,
};
use boostfgl_fairness::mean;

use super::number::{percent, spread};
use super::{headings, line, notes, question};
use crate::table::range;
use crate::text_table::{Line, TextTable};

/// DR under three weightings, and the cosines of updates and the direction that helps the minority.
pub(super) fn tables(found: &[&Dilution]) -> Vec<TextTable> {
    vec![ratios(found), cosines(found)]
}

fn ratios(found: &[&Dilution]) -> TextTable {
    let rows = vec![
        row(found, "as it was aggregated", Dilution::mean_dr, |round| round.dr),
        row(found, "by size", Dilution::mean_dr_size, |round| round.dr_size),
        row(found, "equal weights", Dilution::mean_dr_uniform, |round| round.dr_uniform),
    ];
    let mut notes = notes(&[
        "DR = ⟨aggregated update, g_min⟩ / mean of what clients do for the minority: near 1 \
         nothing is lost,",
        "near 0 averaging cancels it, below 0 the minority is worse off. g_min lowers the \
         minority's loss.",
        "As it was aggregated: by the weights that the method reports, without what it does \
         beyond them.",
    ]);
    let helpless = range(found.iter().map(|dilution| dilution.helpless_rounds()));
    if helpless != "0" {
        notes.push(format!(
            "Left out: {helpless} rounds in which no client's update helps the minority."
        ));
    }
    if found.iter().all(|dilution| dilution.rounds.is_empty()) {
        notes.push(
            "No round has a DR: no client has a minority training node, or the numbers overflow."
                .to_owned(),
        );
    }
    TextTable {
        title: question(DiagnosticKind::Dilution),
        labels: "Weights",
        columns: headings(&[["DR", "first round"], ["DR", "mean"], ["DR", "last round"]]),
        rows,
        notes,
    }
}

/// DR under one weighting.
fn row(
    found: &[&Dilution],
    label: &str,
    over_rounds: fn(&Dilution) -> Option<f64>,
    of_round: fn(&DilutionRound) -> Option<f64>,
) -> Line {
    let (mut first, mut means, mut last) = (Vec::new(), Vec::new(), Vec::new());
    for dilution in found {
        let mut rounds = dilution.rounds.iter().filter(|round| round.helps());
        let first_round = rounds.next();
        let last_round = rounds.next_back().or(first_round);
        first.push(first_round.and_then(of_round));
        means.push(over_rounds(dilution));
        last.push(last_round.and_then(of_round));
    }
    line(label, vec![spread(&first, 2), spread(&means, 2), spread(&last, 2)])
}

fn cosines(found: &[&Dilution]) -> TextTable {
    let layers = found.first().map_or(&[][..], |dilution| &dilution.layers);
    let mut rows = vec![alignment(found, "whole update", |client| Some(client.whole))];
    rows.extend(
        layers
            .iter()
            .enumerate()
            .map(|(l, name)| alignment(found, name, |c| c.layers.get(l).copied())),
    );
    TextTable {
        title: "do updates go where it helps the minority? (dilution)".to_owned(),
        labels: "Part",
        columns: headings(&[["Mean cosine", ""], ["Below 0", "%"]]),
        rows,
        notes: notes(&[
            "Cosine of a client's update and g_min, over all rounds and clients: below 0 it harms \
             the minority.",
        ]),
    }
}

/// The cosines of one part of the updates: the whole update or a layer.
fn alignment(
    found: &[&Dilution],
    label: &str,
    part: impl Fn(&ClientAlignment) -> Option<Alignment>,
) -> Line {
    let (mut means, mut below_zero) = (Vec::new(), Vec::new());
    for dilution in found {
        let clients = dilution.rounds.iter().flat_map(|round| &round.clients);
        let cosines: Vec<f64> = clients.filter_map(|client| part(client)?.cosine).collect();
        let negative = cosines.iter().filter(|cosine| **cosine < 0.0).count();
        means.push(mean(&cosines));
        below_zero.push((!cosines.is_empty()).then(|| negative as f64 / cosines.len() as f64));
    }
    line(label, vec![spread(&means, 3), percent(&below_zero)])
}
