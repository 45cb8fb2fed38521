//! Who is served how well: client by client.

use super::{Family, groups};
use crate::markup::Markup;

pub(super) fn section(family: &Family) -> Option<String> {
    let accuracy = groups::draw(
        family,
        "Accuracy by client",
        "accuracy, %",
        |judged| &judged.clients,
        |c| &c.accuracy,
    )?;
    let title = "Macro-F1 by client";
    let f1 = groups::draw(
        family,
        title,
        "macro-F1 over the classes present, %",
        |judged| &judged.clients,
        |c| &c.macro_f1,
    )?;
    let mut page = Markup::default();
    page.raw("<div class=\"charts\">");
    page.raw(&accuracy);
    page.raw(&f1);
    page.raw("</div>");
    let known = family.judged.iter().flatten();
    if known
        .clone()
        .any(|judged| judged.clients.iter().any(|client| client.accuracy.seeds.len() > 1))
    {
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
