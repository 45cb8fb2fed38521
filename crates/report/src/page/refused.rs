//! Updates refused by screening, by client and reason.

use super::RunGroup;
use crate::markup::Markup;
use std::collections::BTreeMap;

/// The most rows of the table.
const MOST: usize = 40;

pub(super) fn section(runs: &RunGroup) -> Option<String> {
    let mut rows = Vec::new();
    for (view, label) in runs.views.iter().zip(runs.labels()) {
        // By client and reason: the number of updates and the text of the first.
        let mut found: BTreeMap<(usize, &str), (usize, [String; 2])> = BTreeMap::new();
        for round in view.rounds.iter().flat_map(|rounds| &rounds.rounds) {
            for refusal in &round.refused {
                let key = (refusal.client, refusal.reason.as_str());
                let (count, _) = found.entry(key).or_insert_with(|| {
                    let first =
                        format!("seed {}, round {}: {}", round.seed, round.round, refusal.text);
                    (0, [refusal.called().to_string(), first])
                });
                *count += 1;
            }
        }
        for ((_, reason), (count, [client, first])) in found {
            rows.push(
                [label.clone(), reason.to_owned(), client, count.to_string(), first].to_vec(),
            );
        }
    }
    if rows.is_empty() {
        return None;
    }
    let mut page = Markup::default();
    let left = rows.len().saturating_sub(MOST);
    rows.truncate(MOST);
    page.text("p", &[], "Updates that screening refused. The rounds continued without them.");
    page.table(&["run", "reason", "client", "updates", "first"].map(str::to_owned), &rows);
    if left > 0 {
        page.text("p", &[], &format!("{left} more lines are in rounds.jsonl."));
    }
    Some(page.finish())
}
