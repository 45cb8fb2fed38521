//! Updates that were not used, by client and reason.

use super::RunGroup;
use crate::markup::Markup;
use std::collections::BTreeMap;

/// More lines than anybody reads.
const MOST: usize = 40;

pub(super) fn section(runs: &RunGroup) -> Option<String> {
    let mut rows = Vec::new();
    for (view, label) in runs.views.iter().zip(runs.labels()) {
        // By client and reason: how many, and the first of them in words.
        let mut found: BTreeMap<(usize, &str), (usize, String)> = BTreeMap::new();
        for round in view.rounds.iter().flat_map(|rounds| &rounds.rounds) {
            for one in &round.refused {
                let first =
                    || (0, format!("seed {}, round {}: {}", round.seed, round.round, one.text));
                found.entry((one.client, one.reason.as_str())).or_insert_with(first).0 += 1;
            }
        }
        for ((client, reason), (count, first)) in found {
            rows.push(
                [
                    label.clone(),
                    reason.to_owned(),
                    format!("client {client}"),
                    count.to_string(),
                    first,
                ]
                .to_vec(),
            );
        }
    }
    if rows.is_empty() {
        return None;
    }
    let mut page = Markup::default();
    let left = rows.len().saturating_sub(MOST);
    rows.truncate(MOST);
    page.text(
        "p",
        &[],
        "Updates that screening kept from the model. The rounds went on without them.",
    );
    page.table(&["run", "reason", "whose", "how many", "the first"].map(str::to_owned), &rows);
    if left > 0 {
        page.text("p", &[], &format!("{left} more lines are in rounds.jsonl."));
    }
    Some(page.finish())
}
