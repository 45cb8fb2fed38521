//! Attribution of the decrease of the loss.

use boostfgl_fairness::diagnostics::DiagnosticKind;
use boostfgl_fairness::diagnostics::attribution::{Attribution, GroupLoss};

use super::number::percent;
use super::{headings, line, notes, question};
use crate::table::range;
use crate::text_table::{Line, TextTable};

/// The minority compared with the majority.
pub(super) fn tables(found: &[&Attribution]) -> Vec<TextTable> {
    // The majority's share of anything is what the minority leaves.
    let rest = |share: Option<f64>| share.map(|share| 1.0 - share);
    let shares = |found: &Attribution| {
        [found.share_of_nodes, found.share_of_initial_loss, found.share_of_decrease]
    };
    let rows = vec![
        row(found, "minority", |found| &found.minority, &shares),
        row(found, "majority", |found| &found.majority, &|found| shares(found).map(rest)),
    ];
    let columns = [
        ["Nodes", ""],
        ["of nodes", "%"],
        ["of first loss", "%"],
        ["of decrease", "%"],
        ["own decrease", "% of own loss"],
    ];
    let mut told = notes(&[
        "Who had less of the decrease than of the first loss was served less; own decrease is of \
         the group's",
        "own loss. A share leaves 0 to 100 % where the loss of one group fell and that of the \
         other rose.",
        "Losses are under the messages of training, not those that are computed anew for \
         evaluation.",
    ]);
    if found.is_empty() {
        told.push("There is nothing to attribute: the losses overflow.".to_owned());
    }
    Vec::from([TextTable {
        title: question(DiagnosticKind::Attribution),
        labels: "Trained on",
        columns: headings(&columns),
        rows,
        notes: told,
    }])
}

fn row(
    found: &[&Attribution],
    label: &str,
    group: fn(&Attribution) -> &GroupLoss,
    shares: &dyn Fn(&Attribution) -> [Option<f64>; 3],
) -> Line {
    let share =
        |at: usize| percent(&found.iter().map(|found| shares(found)[at]).collect::<Vec<_>>());
    let own: Vec<Option<f64>> =
        found.iter().map(|found| group(found).normalised_decrease).collect();
    let nodes = range(found.iter().map(|found| group(found).nodes));
    line(label, vec![nodes, share(0), share(1), share(2), percent(&own)])
}
