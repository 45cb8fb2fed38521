//! What must be known before a number is believed: warnings first, then which nodes, split and
//! round the numbers are about.

use super::Family;
use crate::Block;
use crate::markup::Markup;
use crate::remarks::{self, Remarked};

/// What is wrong with the runs though they ended; nothing if all is well.
pub(super) fn warnings(family: &Family) -> Option<String> {
    let warned = remarks::warned(&remarked(family));
    let federating = family.block.as_ref().map(Block::cost_of_federating).unwrap_or_default();
    let all: Vec<&String> = warned.iter().chain(&federating).collect();
    if all.is_empty() {
        return None;
    }
    let mut page = Markup::default();
    page.raw("<div class=\"warnings\"><ul>");
    all.iter().for_each(|text| page.text("li", &[], text));
    page.raw("</ul></div>");
    if let Some(text) = remarks::not_ranked(&remarked(family)) {
        page.text("p", &[("class", &"note")], &format!("Not ranked: {text}"));
    }
    Some(page.finish())
}

/// Minority classes, split, round and budget of the numbers that follow.
pub(super) fn section(family: &Family) -> Option<String> {
    let runs = remarked(family);
    let mut facts: Vec<(String, String)> = remarks::about(&runs)
        .into_iter()
        .map(|(name, parts)| (name.to_owned(), parts.join(", ")))
        .collect();
    let budgets: Vec<String> = runs.iter().filter_map(budget).collect();
    if !budgets.is_empty() {
        facts.push(("Rounds × epochs".to_owned(), budgets.join(", ")));
    }
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

/// The minority classes and how many test nodes they have, in a sentence.
pub(super) fn minority(family: &Family) -> Option<String> {
    let about = remarks::about(&remarked(family));
    let (name, parts) = about.into_iter().find(|(name, _)| *name == remarks::MINORITY)?;
    Some(format!("{name}: {}.", parts.join(", ")))
}

/// The runs of a family, or the methods of a comparison.
fn remarked(family: &Family) -> Vec<Remarked<'_>> {
    let runs: Vec<Remarked<'_>> = family
        .summaries()
        .map(|(_, label, summary)| Remarked {
            label,
            seeds: summary.seeds.iter().map(|seed| (seed.round, &seed.details)).collect(),
        })
        .collect();
    match &family.block {
        Some(block) if runs.is_empty() => block.remarked(),
        _ => runs,
    }
}

/// `fedavg 50×1`.
fn budget(run: &Remarked<'_>) -> Option<String> {
    Some(format!("{} {}", run.label, run.budget()?))
}
