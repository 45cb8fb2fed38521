//! Scores by client.

use super::{RunGroup, groups};
use crate::Summary;
use crate::client_table::{self, ClientTable};
use crate::markup::Markup;

pub(super) fn section(runs: &RunGroup) -> Option<String> {
    let both = [table(runs), charts(runs)];
    both.iter().any(Option::is_some).then(|| both.into_iter().flatten().collect())
}

/// The clients that have names and graphs of their own.
fn table(runs: &RunGroup) -> Option<String> {
    let runs: Vec<(&str, &Summary)> =
        runs.summaries().map(|(_, label, summary)| (label, summary)).collect();
    let (headings, rows) = ClientTable::of(&runs)?.rows();
    let mut page = Markup::default();
    page.table(&headings, &rows);
    page.text("p", &[("class", &"note")], client_table::NOTE);
    Some(page.finish())
}

/// Scores by client, from predictions.
fn charts(runs: &RunGroup) -> Option<String> {
    let accuracy = groups::draw(
        runs,
        "Accuracy by client",
        "accuracy, %",
        |group_scores| &group_scores.clients,
        |client| &client.accuracy,
    )?;
    let title = "Macro-F1 by client";
    let f1 = groups::draw(
        runs,
        title,
        "macro-F1 over the classes present, %",
        |group_scores| &group_scores.clients,
        |client| &client.macro_f1,
    )?;
    let mut page = Markup::default();
    page.raw("<div class=\"charts\">");
    page.raw(&accuracy);
    page.raw(&f1);
    page.raw("</div>");
    let known = runs.group_scores.iter().flatten();
    if known.clone().any(|group_scores| {
        group_scores.clients.iter().any(|client| client.accuracy.seeds.len() > 1)
    }) {
        page.text(
            "p",
            &[("class", &"note")],
            "Every seed draws its own partition, so “client 0” is another set of nodes under each \
             seed: read this chart as how \
             unequal clients are, not as the story of one of them.",
        );
    }
    Some(page.finish())
}
