//! What is needed to reproduce the runs: configuration, seeds, digests, versions.

use super::RunGroup;
use crate::markup::Markup;
use crate::{RunView, Summary};

pub(super) fn section(runs: &RunGroup) -> Option<String> {
    let mut page = Markup::default();
    if !runs.facts.is_empty() {
        facts(&mut page, &runs.facts);
    }
    for (view, label) in runs.views.iter().zip(runs.labels()) {
        if runs.views.len() > 1 {
            page.text("h3", &[], label);
        }
        facts(&mut page, &of_run(view));
        if let Some(summary) = &view.summary {
            let rows: Vec<Vec<String>> = summary
                .seeds
                .iter()
                .map(|seed| {
                    let digest = seed.identity().to_owned();
                    vec![seed.seed.to_string(), seed.round.to_string(), digest]
                })
                .collect();
            page.raw("<details><summary>Digests of the seeds</summary>");
            page.table(
                &["seed", "reported round", "BLAKE3 of parameters and predictions"]
                    .map(str::to_owned),
                &rows,
            );
            page.raw("</details>");
        }
        if let Some(settings) = &view.settings {
            page.raw("<details><summary>config.toml</summary>");
            page.text("pre", &[], &settings.text);
            page.raw("</details>");
        }
    }
    Some(page.finish()).filter(|text| !text.is_empty())
}

/// Appends a list of facts.
fn facts(page: &mut Markup, facts: &[(String, String)]) {
    page.raw("<dl>");
    for (name, value) in facts {
        page.text("dt", &[], name);
        page.text("dd", &[], value);
    }
    page.raw("</dl>");
}

/// The digest of a run, or where to find those of its seeds.
fn digest(summary: &Summary) -> String {
    match summary.digest.as_str() {
        "" => "of each seed and of the federation: below".to_owned(),
        digest => digest.to_owned(),
    }
}

/// Method, seeds, digest and version of a run.
fn of_run(view: &RunView) -> Vec<(String, String)> {
    let mut facts = vec![("run", view.name.clone())];
    if let Some(summary) = &view.summary {
        let seeds: Vec<String> = summary.seeds.iter().map(|seed| seed.seed.to_string()).collect();
        let boosts =
            if summary.boost.is_empty() { "none".to_owned() } else { summary.boost.join(", ") };
        facts.extend([
            ("dataset", summary.dataset.clone()),
            ("method", summary.method.clone()),
            ("boosts", boosts),
            ("seeds", seeds.join(", ")),
            ("digest", digest(summary)),
            (
                "program",
                format!("boostfgl {}, format of summary.json {}", summary.program, summary.version),
            ),
            ("again", format!("boostfgl run --config {}/config.toml", view.name)),
        ]);
        facts.extend(
            summary.data.as_ref().map(|data| ("fingerprint of the data", data.whole.clone())),
        );
    } else {
        let (done, total) = view.progress();
        let total = total.map_or(String::new(), |total| format!(" of {total}"));
        facts.push(("state", format!("not finished: {done}{total} rounds")));
    }
    facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
