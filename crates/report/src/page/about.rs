//! What a reader needs to know before the numbers: warnings, then the nodes, the split and the
//! round that they describe.

use super::RunGroup;
use crate::Block;
use crate::markup::Markup;
use crate::notes::{self, NotedRun};

/// Warnings about finished runs; `None` if there are none.
pub(super) fn warnings(runs: &RunGroup) -> Option<String> {
    let warned = notes::warned(&noted_runs(runs));
    let federating = runs.block.as_ref().map(Block::cost_of_federating).unwrap_or_default();
    let all: Vec<&String> = warned.iter().chain(&federating).collect();
    if all.is_empty() {
        return None;
    }
    let mut page = Markup::default();
    page.raw("<div class=\"warnings\"><ul>");
    all.iter().for_each(|text| page.text("li", &[], text));
    page.raw("</ul></div>");
    if let Some(text) = notes::not_ranked(&noted_runs(runs)) {
        page.text("p", &[("class", &"note")], &format!("Not ranked: {text}"));
    }
    Some(page.finish())
}

/// Minority classes, split, round and budget.
pub(super) fn section(runs: &RunGroup) -> Option<String> {
    let noted = noted_runs(runs);
    let mut facts: Vec<(String, String)> = notes::about(&noted)
        .into_iter()
        .map(|(name, parts)| (name.to_owned(), parts.join(", ")))
        .collect();
    let budgets: Vec<String> = noted.iter().filter_map(budget).collect();
    if !budgets.is_empty() {
        facts.push(("Rounds × epochs".to_owned(), budgets.join(", ")));
    }
    facts.extend(runs.remarks.iter().cloned());
    if facts.is_empty() {
        return None;
    }
    let mut page = Markup::default();
    page.raw("<dl>");
    for (name, value) in &facts {
        page.text("dt", &[], name);
        page.text("dd", &[], value);
    }
    page.raw("</dl>");
    Some(page.finish())
}

/// A sentence with the minority classes and their number of test nodes.
pub(super) fn minority(runs: &RunGroup) -> Option<String> {
    let about = notes::about(&noted_runs(runs));
    let (name, parts) = about.into_iter().find(|(name, _)| *name == notes::MINORITY)?;
    Some(format!("{name}: {}.", parts.join(", ")))
}

/// The runs of the group, or the methods of a comparison.
fn noted_runs(runs: &RunGroup) -> Vec<NotedRun<'_>> {
    let noted: Vec<NotedRun<'_>> = runs
        .summaries()
        .map(|(_, label, summary)| NotedRun {
            label,
            seeds: summary.seeds.iter().map(|seed| (seed.round, &seed.details)).collect(),
        })
        .collect();
    match &runs.block {
        Some(block) if noted.is_empty() => block.noted_runs(),
        _ => noted,
    }
}

/// Rounds × epochs of a run, such as `fedavg 50×1`.
fn budget(run: &NotedRun<'_>) -> Option<String> {
    Some(format!("{} {}", run.label, run.budget()?))
}
