//! Gradient share disparity.

use boostfgl_fairness::diagnostics::DiagnosticKind;
use boostfgl_fairness::diagnostics::gsd::{Gsd, Mass, Ratio, Weighting};

use super::number::spread;
use super::{headings, line, notes, question};
use crate::table::range;
use crate::text_table::{Line, TextTable};

/// All clients together, and each alone.
pub(super) fn tables(found: &[&Gsd]) -> Vec<TextTable> {
    let clients =
        found.iter().filter_map(|gsd| gsd.rounds.first()).map(|round| round.clients.len()).max();
    let boosted = found.iter().any(|gsd| is_boosted(gsd));
    let mut rows = Vec::new();
    for client in std::iter::once(None).chain((0..clients.unwrap_or(0)).map(Some)) {
        let label =
            client.map_or_else(|| "all clients".to_owned(), |client| format!("client {client}"));
        rows.push(row(found, client, Weighting::Plain, label.clone()));
        if boosted {
            rows.push(row(found, client, Weighting::Boosted, format!("{label}, boosted")));
        }
    }
    let mut notes = notes(&[
        "GSD = (G_min / N_min) / (G_maj / N_maj): below 1 a minority node gets less gradient than \
         a majority",
        "node, above 1 more. G sums the gradient norms of N training nodes, G_min / G_maj is not \
         per node.",
    ]);
    if boosted {
        notes.push(
            "Boosted: norms times the weights that node boosting gives the nodes.".to_owned(),
        );
    }
    notes.extend(sampling(found));
    Vec::from([TextTable {
        title: question(DiagnosticKind::Gsd),
        labels: "Trained on",
        columns: headings(&[
            ["N_min", ""],
            ["N_maj", ""],
            ["GSD", "first round"],
            ["GSD", "mean"],
            ["GSD", "last round"],
            ["G_min / G_maj", "mean"],
        ]),
        rows,
        notes,
    }])
}

/// One client, or all of them for `None`.
fn row(found: &[&Gsd], client: Option<usize>, weighting: Weighting, label: String) -> Line {
    let (mut first, mut last) = (Vec::new(), Vec::new());
    let (mut means, mut masses) = (Vec::new(), Vec::new());
    for gsd in found {
        let last_round = gsd.rounds.len().checked_sub(1);
        let mean = mean_over_rounds(gsd, client, weighting);
        first.push(in_round(gsd, 0, client, weighting).map(|ratio| ratio.per_node));
        last.push(
            last_round
                .and_then(|round| in_round(gsd, round, client, weighting))
                .map(|ratio| ratio.per_node),
        );
        means.push(mean.map(|ratio| ratio.per_node));
        masses.push(mean.map(|ratio| ratio.mass));
    }
    line(
        label,
        vec![
            range(found.iter().map(|gsd| nodes(gsd, client, true))),
            range(found.iter().map(|gsd| nodes(gsd, client, false))),
            spread(&first, 2),
            spread(&means, 2),
            spread(&last, 2),
            spread(&masses, 2),
        ],
    )
}

/// The ratio of a client, or of all for `None`, in one round.
fn in_round(gsd: &Gsd, round: usize, client: Option<usize>, weighting: Weighting) -> Option<Ratio> {
    match client {
        None => gsd.pooled(round, &gsd.minority(), weighting),
        Some(client) => gsd.of_client(round, client, &gsd.minority(), weighting),
    }
}

fn mean_over_rounds(gsd: &Gsd, client: Option<usize>, weighting: Weighting) -> Option<Ratio> {
    match client {
        None => gsd.mean_over_rounds(&gsd.minority(), weighting),
        Some(client) => gsd.client_mean_over_rounds(client, &gsd.minority(), weighting),
    }
}

/// The masses of the first round, with the number of their class. The training nodes are the same
/// in every round.
fn masses(gsd: &Gsd, client: Option<usize>) -> impl Iterator<Item = (usize, &Mass)> {
    let clients = gsd.rounds.first().into_iter().flat_map(|round| round.clients.iter().enumerate());
    let wanted = clients.filter(move |(at, _)| client.is_none_or(|client| client == *at));
    wanted.flat_map(|(_, classes)| classes.iter().enumerate())
}

/// The number of training nodes of the minority or of the majority.
fn nodes(gsd: &Gsd, client: Option<usize>, minority: bool) -> usize {
    let classes = gsd.minority();
    masses(gsd, client)
        .filter(|(class, _)| classes.get(*class) == Some(&Some(minority)))
        .map(|(_, mass)| mass.nodes)
        .sum()
}

/// Whether nodes have weights other than 1.
fn is_boosted(gsd: &Gsd) -> bool {
    let all = gsd.rounds.iter().flat_map(|round| round.clients.iter().flatten());
    all.into_iter().any(|mass| mass.sum.to_bits() != mass.weighted_sum.to_bits())
}

/// The share of the training nodes that was measured.
pub(super) fn measured(found: &[&Gsd]) -> Option<f64> {
    let (mut measured, mut nodes) = (0, 0);
    for (_, mass) in found.iter().flat_map(|gsd| masses(gsd, None)) {
        measured += mass.measured;
        nodes += mass.nodes;
    }
    (nodes > 0).then(|| measured as f64 / nodes as f64)
}

/// How much was measured and the error of that, if it is a sample.
fn sampling(found: &[&Gsd]) -> Option<String> {
    let share = measured(found).filter(|share| *share < 1.0)?;
    let largest = found
        .iter()
        .filter_map(|gsd| gsd.mean_over_rounds(&gsd.minority(), Weighting::Plain))
        .map(|ratio| ratio.error)
        .fold(0.0, f64::max);
    let share = 100.0 * share;
    Some(format!(
        "Sampled: {share:.1} % of the nodes were measured; standard error of the mean by that \
         {largest:.3}."
    ))
}
