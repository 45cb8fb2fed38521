//! The share of minority nodes in the decrease of the training loss.

use super::gather::{marks, named};
use crate::Results;
use crate::chart::Chart;

pub(super) fn draw(results: &Results) -> Vec<Chart> {
    let columns = named(&[
        ("share_of_decrease", "share of the decrease"),
        ("share_of_nodes", "share of the nodes"),
        ("share_of_initial_loss", "share of the initial loss"),
    ]);
    let note = "If the minority's share of the decrease of the loss is below its share of the \
        nodes, training worked for others.";
    let charts =
        marks(results, "The minority's share", "minority, % of all training nodes", &columns, None);
    charts.into_iter().map(|chart| chart.noted(note)).collect()
}
