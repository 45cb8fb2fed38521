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

/// DR under three weightings, and how updates lie to the direction that helps the minority.
pub(super) fn tables(found: &[&Dilution]) -> Vec<TextTable> {
    vec![ratios(found), cosines(found)]
}

fn ratios(found: &[&Dilution]) -> TextTable {
    let rows = vec![
        row(found, "as it was aggregated", Dilution::mean_dr, |round| round.dr),
        row(found, "by size", Dilution::mean_dr_size, |round| round.dr_size),
        row(found, "equal weights", Dilution::mean_dr_uniform, |round| round.dr_uniform),
    ];
    let mut told = notes(&[
        "DR = ⟨aggregated update, g_min⟩ / mean of what clients do for the minority: near 1 \
         nothing is lost,",
        "near 0 averaging cancels it, below 0 the minority is worse off. g_min lowers the \
         minority's loss.",
        "As it was aggregated: by the weights that the method reports, without what it does \
         beyond them.",
    ]);
    let helpless = range(found.iter().map(|dilution| dilution.helpless_rounds()));
    if helpless != "0" {
        told.push(format!(
            "Left out: {helpless} rounds in which no client's update helps the minority."
        ));
    }
    if found.iter().all(|dilution| dilution.rounds.is_empty()) {
        told.push(
            "No round has a DR: no client has a minority training node, or the numbers overflow."
                .to_owned(),
        );
    }
    TextTable {
        title: question(DiagnosticKind::Dilution),
        labels: "Weights",
        columns: headings(&[["DR", "first round"], ["DR", "mean"], ["DR", "last round"]]),
        rows,
        notes: told,
    }
}

fn row(
    found: &[&Dilution],
    label: &str,
    over_rounds: fn(&Dilution) -> Option<f64>,
    of_round: fn(&DilutionRound) -> Option<f64>,
) -> Line {
    let ends = |dilution: &&Dilution| {
        let mut rounds = dilution.rounds.iter().filter(|round| round.helps());
        let first = rounds.next();
        let last = rounds.next_back().or(first);
        (first.and_then(of_round), last.and_then(of_round))
    };
    let (first, last): (Vec<_>, Vec<_>) = found.iter().map(ends).unzip();
    let middle = found.iter().map(|dilution| over_rounds(dilution)).collect::<Vec<_>>();
    line(label, vec![spread(&first, 2), spread(&middle, 2), spread(&last, 2)])
}

fn cosines(found: &[&Dilution]) -> TextTable {
    let layers = found.first().map_or(&[][..], |dilution| &dilution.layers);
    let mut rows = vec![alignment(found, "whole update", &|client| Some(client.whole))];
    rows.extend(
        layers
            .iter()
            .enumerate()
            .map(|(l, name)| alignment(found, name, &|c| c.layers.get(l).copied())),
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

fn alignment(
    found: &[&Dilution],
    label: &str,
    part: &dyn Fn(&ClientAlignment) -> Option<Alignment>,
) -> Line {
    let cosines = |dilution: &&Dilution| -> Vec<f64> {
        let clients = dilution.rounds.iter().flat_map(|round| &round.clients);
        clients.filter_map(|client| part(client)?.cosine).collect()
    };
    let of_seeds: Vec<Vec<f64>> = found.iter().map(cosines).collect();
    let below = |cosines: &Vec<f64>| {
        let count = cosines.iter().filter(|cosine| **cosine < 0.0).count();
        (!cosines.is_empty()).then(|| count as f64 / cosines.len() as f64)
    };
    let middle: Vec<Option<f64>> = of_seeds.iter().map(|cosines| mean(cosines)).collect();
    line(label, vec![spread(&middle, 3), percent(&of_seeds.iter().map(below).collect::<Vec<_>>())])
}
