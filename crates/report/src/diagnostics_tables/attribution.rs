//! Attribution of the decrease of the loss.

use boostfgl_fairness::diagnostics::DiagnosticKind;
use boostfgl_fairness::diagnostics::attribution::{Attribution, GroupLoss};

use super::number::percent;
use super::{headings, line, notes, question};
use crate::table::range;
use crate::text_table::{Line, TextTable};

/// The minority compared with the majority.
pub(super) fn tables(found: &[&Attribution]) -> Vec<TextTable> {
    let minority: Vec<(Shares, &GroupLoss)> =
        found.iter().map(|found| (shares(found), &found.minority)).collect();
    // The shares of both groups add up to 1.
    let majority: Vec<(Shares, &GroupLoss)> = found
        .iter()
        .map(|found| (shares(found).map(|share| share.map(|x| 1.0 - x)), &found.majority))
        .collect();
    let rows = vec![row("minority", &minority), row("majority", &majority)];
    let columns = [
        ["Nodes", ""],
        ["of nodes", "%"],
        ["of first loss", "%"],
        ["of decrease", "%"],
        ["own decrease", "% of own loss"],
    ];
    let mut notes = notes(&[
        "A group whose share of the decrease is below its share of the first loss was served \
         less. A share",
        "leaves 0 to 100 % if one loss fell and the other rose. Own decrease is of the group's \
         own loss.",
        "Losses are under the messages of training, not those that are computed anew for \
         evaluation.",
    ]);
    if found.is_empty() {
        notes.push("There is nothing to attribute: the losses overflow.".to_owned());
    }
    Vec::from([TextTable {
        title: question(DiagnosticKind::Attribution),
        labels: "Trained on",
        columns: headings(&columns),
        rows,
        notes,
    }])
}

/// Shares of the nodes, of the first loss and of the decrease.
type Shares = [Option<f64>; 3];

/// The shares of the minority.
fn shares(found: &Attribution) -> Shares {
    [found.share_of_nodes, found.share_of_initial_loss, found.share_of_decrease]
}

/// One group, seed by seed.
fn row(label: &str, seeds: &[(Shares, &GroupLoss)]) -> Line {
    let mut cells = vec![range(seeds.iter().map(|(_, group)| group.nodes))];
    for at in 0..3 {
        cells.push(percent(&seeds.iter().map(|(shares, _)| shares[at]).collect::<Vec<_>>()));
    }
    let own: Vec<Option<f64>> = seeds.iter().map(|(_, group)| group.normalised_decrease).collect();
    cells.push(percent(&own));
    line(label, cells)
}
