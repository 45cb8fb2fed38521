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
    let whose = std::iter::once(None).chain((0..clients.unwrap_or(0)).map(Some));
    let boosted = found.iter().any(|gsd| is_boosted(gsd));
    let mut rows = Vec::new();
    for client in whose {
        let label =
            client.map_or_else(|| "all clients".to_owned(), |client| format!("client {client}"));
        rows.push(row(found, client, Weighting::Plain, label.clone()));
        if boosted {
            rows.push(row(found, client, Weighting::Boosted, format!("{label}, boosted")));
        }
    }
    let mut told = notes(&[
        "GSD = (G_min / N_min) / (G_maj / N_maj): below 1 a minority node gets less gradient than \
         a majority",
        "node, above 1 more. G sums the gradient norms of N training nodes, G_min / G_maj is not \
         per node.",
    ]);
    if boosted {
        told.push(
            "Boosted: norms times the weights that node boosting gives the nodes.".to_owned(),
        );
    }
    told.extend(sampling(found));
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
        notes: told,
    }])
}

fn row(found: &[&Gsd], client: Option<usize>, weighting: Weighting, label: String) -> Line {
    let at = |gsd: &Gsd, round: Option<usize>| match client {
        None => gsd.pooled(round?, &gsd.minority(), weighting),
        Some(client) => gsd.of_client(round?, client, &gsd.minority(), weighting),
    };
    let over_rounds = |gsd: &Gsd| match client {
        None => gsd.mean_over_rounds(&gsd.minority(), weighting),
        Some(client) => gsd.client_mean_over_rounds(client, &gsd.minority(), weighting),
    };
    let over_seeds = |ratio: &dyn Fn(&Gsd) -> Option<Ratio>, pick: fn(&Ratio) -> f64| {
        spread(&found.iter().map(|gsd| ratio(gsd).as_ref().map(pick)).collect::<Vec<_>>(), 2)
    };
    let nodes = |minority: bool| range(found.iter().map(|gsd| nodes(gsd, client, minority)));
    let per_node = |ratio: &Ratio| ratio.per_node;
    line(
        label,
        vec![
            nodes(true),
            nodes(false),
            over_seeds(&|gsd| at(gsd, Some(0)), per_node),
            over_seeds(&over_rounds, per_node),
            over_seeds(&|gsd| at(gsd, gsd.rounds.len().checked_sub(1)), per_node),
            over_seeds(&over_rounds, |ratio| ratio.mass),
        ],
    )
}

/// The masses of the first round, with the number of their class; who is trained on does not change
/// later.
fn masses(gsd: &Gsd, client: Option<usize>) -> impl Iterator<Item = (usize, &Mass)> {
    let clients = gsd.rounds.first().into_iter().flat_map(|round| round.clients.iter().enumerate());
    let wanted = clients.filter(move |(at, _)| client.is_none_or(|client| client == *at));
    wanted.flat_map(|(_, classes)| classes.iter().enumerate())
}

fn nodes(gsd: &Gsd, client: Option<usize>, minority: bool) -> usize {
    let classes = gsd.minority();
    let of_group = |class: usize| classes.get(class) == Some(&Some(minority));
    masses(gsd, client).filter(|(class, _)| of_group(*class)).map(|(_, mass)| mass.nodes).sum()
}

/// Whether nodes have weights other than 1.
fn is_boosted(gsd: &Gsd) -> bool {
    let all = gsd.rounds.iter().flat_map(|round| round.clients.iter().flatten());
    all.into_iter().any(|mass| mass.sum.to_bits() != mass.weighted_sum.to_bits())
}

/// The share of the training nodes that was measured.
pub(super) fn measured(found: &[&Gsd]) -> Option<f64> {
    let of = |count: fn(&Mass) -> usize| {
        found.iter().flat_map(|gsd| masses(gsd, None)).map(|(_, mass)| count(mass)).sum::<usize>()
    };
    let (measured, nodes) = (of(|mass| mass.measured), of(|mass| mass.nodes));
    (nodes > 0).then(|| measured as f64 / nodes as f64)
}

fn sampling(found: &[&Gsd]) -> Option<String> {
    let share = measured(found).filter(|share| *share < 1.0)?;
    let error = |gsd: &&Gsd| Some(gsd.mean_over_rounds(&gsd.minority(), Weighting::Plain)?.error);
    let largest = found.iter().filter_map(error).fold(0.0, f64::max);
    let share = 100.0 * share;
    Some(format!(
        "Sampled: {share:.1} % of the nodes were measured; standard error of the mean by that \
         {largest:.3}."
    ))
}
