//! The verdict: differences between groups of nodes or between methods, and how certain they are.

use super::about;
use super::against::against;
use super::differs;
use super::group_scores::{GroupScore, GroupScores};
use super::{RULE, RunGroup};
use crate::markup::Markup;
use crate::{Block, BlockRow, Summary};
use boostfgl_fairness::statistics::Certainty;
use boostfgl_fairness::{Group, HEADLINES, Headline, Reading, Scores, mean};
use std::cmp::Ordering;

pub(super) fn section(runs: &RunGroup) -> Option<String> {
    let mut page = Markup::default();
    let written = match (&runs.group_scores[..], runs.summaries().count()) {
        ([Some(base), rest @ ..], 2..) if rest.iter().any(Option::is_some) => {
            against(runs, base, &mut page)
        }
        ([Some(only), ..], _) => alone(runs, only, &mut page),
        _ => by_metric(runs, &mut page),
    };
    written?;
    if let Some(sentence) = differs::sentence(runs) {
        page.text("p", &[("class", &"note")], &sentence);
    }
    if let Some(classes) = about::minority(runs) {
        page.text("p", &[("class", &"note")], &classes);
    }
    page.raw(&scores(runs));
    Some(page.finish())
}

/// A box with the verdict and a note on how to read it.
pub(super) fn verdict(page: &mut Markup, sentence: &str, note: &str) {
    page.raw("<div class=\"verdict\">");
    page.text("p", &[("class", &"sentence")], sentence);
    page.text("p", &[("class", &"note")], note);
    page.raw("</div>");
}

/// The verdict on a single run: the worst group against the best. Groups too small to be ranked are
/// in the table, but not in the sentence.
fn alone(runs: &RunGroup, group_scores: &GroupScores, page: &mut Markup) -> Option<()> {
    let (all, groups) = group_scores.groups.split_first()?;
    let ranked: Vec<&GroupScore> = groups
        .iter()
        .filter(|group| group.accuracy.mean().is_finite() && !group.is_small(runs.min_group))
        .collect();
    let right =
        format!("{} is right for {:.1} % of all test nodes", runs.labels()[0], all.accuracy.mean());
    let client = worst_client(group_scores, runs.min_group);
    match worst_and_best(&ranked) {
        Some((worst, best)) => {
            let sentence = format!(
                "{right}, but only for {:.1} % of those that are {}: {:.1} points fewer than for \
                 {}.{client}",
                worst.accuracy.mean(),
                adjective(&worst.name),
                apart(worst, best),
                best.name,
            );
            verdict(page, &sentence, overlap(worst, best));
        }
        None => {
            let note = if ranked.len() < 2 {
                format!(
                    "No two groups have {} test nodes: there is nothing to rank.",
                    runs.min_group
                )
            } else {
                "The accuracies of the groups that are large enough to rank differ by less than 0.05 points.".to_owned()
            };
            verdict(page, &format!("{right}.{client}"), &note);
        }
    }
    let rows: Vec<Vec<String>> =
        group_scores.groups.iter().map(|group| row(group, runs.min_group)).collect();
    let head =
        ["group", "test nodes", "accuracy, %", "95 % interval", "macro-F1, %"].map(str::to_owned);
    page.table(&head, &rows);
    Some(())
}

/// The groups with the least and the greatest accuracy; `None` if they differ by less than 0.05
/// points.
fn worst_and_best<'a>(ranked: &[&'a GroupScore]) -> Option<(&'a GroupScore, &'a GroupScore)> {
    let worst = ranked.iter().copied().min_by(|a, b| by_accuracy(a, b))?;
    let best = ranked.iter().copied().max_by(|a, b| by_accuracy(a, b))?;
    Some((worst, best)).filter(|(worst, best)| apart(worst, best) >= 0.05)
}

/// The order of two groups by accuracy.
fn by_accuracy(a: &GroupScore, b: &GroupScore) -> Ordering {
    a.accuracy.mean().total_cmp(&b.accuracy.mean())
}

/// The gap between the best group and the worst, in points.
fn apart(worst: &GroupScore, best: &GroupScore) -> f64 {
    best.accuracy.mean() - worst.accuracy.mean()
}

/// How to interpret the intervals over nodes of the worst and the best group.
fn overlap(worst: &GroupScore, best: &GroupScore) -> &'static str {
    let ends = worst.accuracy.interval().zip(best.accuracy.interval());
    if ends.is_some_and(|(worst, best)| worst[1] < best[0]) {
        "The 95 % intervals of the two groups do not overlap: chance in the sample of test nodes \
         alone does not explain the gap. They say nothing about other seeds."
    } else {
        "The 95 % intervals of the two groups overlap: another sample of test nodes might not \
         show the gap."
    }
}

/// A sentence on the least accuracy of a client, among those large enough to be ranked. Every seed
/// has its own partition, so over several seeds it is not the accuracy of one client.
fn worst_client(group_scores: &GroupScores, min_group: usize) -> String {
    let ranked: Vec<&GroupScore> =
        group_scores.clients.iter().filter(|client| !client.is_small(min_group)).collect();
    let seeds: Vec<u64> = group_scores.groups[0].accuracy.seeds.keys().copied().collect();
    let mut worst = Vec::new();
    for seed in &seeds {
        let accuracies = ranked.iter().filter_map(|client| client.accuracy.seeds.get(seed));
        worst.extend(accuracies.copied().reduce(f64::min));
    }
    match (ranked.len(), mean(&worst), &seeds[..]) {
        (0 | 1, _, _) | (_, None, _) => String::new(),
        (_, Some(worst), [_]) => format!(" The worst served client has {worst:.1} %."),
        (_, Some(worst), _) => {
            format!(" The worst served client of a seed has {worst:.1} % on average.")
        }
    }
}

/// The name of a group after "those that are".
fn adjective(group: &str) -> &str {
    match group {
        "majority classes" => "of majority classes",
        "minority classes" => "of minority classes",
        "heterophilous minority" => "heterophilous and of minority classes",
        other => other,
    }
}

/// The table row of one group.
fn row(group: &GroupScore, min_group: usize) -> Vec<String> {
    let interval = match group.accuracy.interval() {
        Some([low, high]) => format!("{low:.1} to {high:.1}"),
        None => "–".to_owned(),
    };
    let (name, nodes) = (group.named(min_group), format!("{:.0}", group.nodes));
    vec![name, nodes, group.accuracy.shown(), interval, group.macro_f1.shown()]
}

/// The verdict without predictions, from the headline metrics.
fn by_metric(runs: &RunGroup, page: &mut Markup) -> Option<()> {
    let Some(block) = &runs.block else {
        let (_, label, summary) = runs.summaries().next()?;
        verdict(
            page,
            &only_scores(label, &summary.mean.0),
            "Predictions of single nodes were not kept, so there are no intervals over groups.",
        );
        return Some(());
    };
    let mut sentences = Vec::new();
    for headline in HEADLINES.iter().filter(|headline| headline.group != Group::All) {
        let compared = against_base(block, &runs.base, headline.key);
        sentences.push(format!("For {} ({}), {compared}.", headline.group.nodes(), headline.title));
    }
    let limit = block.limit().and_then(|limit| limit.sentence(block.unit()));
    let note = format!("{RULE} {}", limit.unwrap_or_default());
    verdict(page, &sentences.join(" "), note.trim_end());
    Some(())
}

/// The scores of a single run, in one sentence.
fn only_scores(label: &str, scores: &Scores) -> String {
    format!(
        "{label} is right for {} % of all test nodes; macro-F1 is {} % on all nodes and {} % on \
         heterophilous nodes of minority classes.",
        percent(scores.accuracy.pooled),
        percent(scores.overall_f1.pooled),
        percent(scores.hete_min_f1.pooled)
    )
}

/// One decimal, or a dash where there is no value.
fn percent(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.1}"))
}

/// The methods that differ from the base in a metric, by certainty.
fn against_base(block: &Block, base: &str, key: &str) -> String {
    let found: Vec<String> = Certainty::ALL
        .into_iter()
        .filter_map(|certainty| methods_with(block, key, certainty))
        .collect();
    if found.is_empty() {
        format!("nothing is compared with {base}")
    } else {
        format!("against {base}, {}", found.join("; "))
    }
}

/// The methods whose difference to the base has this certainty, under its word; `None` without
/// any.
fn methods_with(block: &Block, key: &str, wanted: Certainty) -> Option<String> {
    let rows = block.rows.iter().filter(|row| certainty(row, key) == Some(wanted));
    let names: Vec<&str> = rows.map(|row| row.label.as_str()).collect();
    (!names.is_empty()).then(|| format!("{}: {}", wanted.word(), names.join(", ")))
}

/// The certainty of the difference of a method to the base in a metric.
fn certainty(row: &BlockRow, key: &str) -> Option<Certainty> {
    Some(row.metrics.get(key)?.difference?.certainty())
}

/// The table of the headline metrics in all readings, as in `summary.json`.
fn scores(runs: &RunGroup) -> String {
    let mut page = Markup::default();
    let mut rows = Vec::new();
    for (_, label, summary) in runs.summaries() {
        for reading in Reading::ALL {
            let mut row = vec![label.to_owned(), reading.name().to_owned()];
            row.extend(HEADLINES.iter().map(|headline| cell(summary, headline, reading)));
            rows.push(row);
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let titles = HEADLINES.iter().map(|headline| headline.title);
    let head: Vec<String> =
        ["method", "reading"].into_iter().chain(titles).map(str::to_owned).collect();
    page.raw("<details class=\"scores\"><summary>");
    page.raw("The headline metrics in their three readings</summary>");
    page.table(&head, &rows);
    page.text(
        "p",
        &[("class", &"note")],
        "Percent, mean ± standard deviation over seeds. Pooled: macro-F1 over all classes, one \
         set of test nodes. Present: over the classes that occur in the set. Client: the mean of \
         the clients' own scores, weighted by their nodes.",
    );
    page.raw("</details>");
    page.finish()
}

/// Mean and standard deviation of one metric in one reading.
fn cell(summary: &Summary, headline: &Headline, reading: Reading) -> String {
    let [mean, std] =
        [&summary.mean.0, &summary.std.0].map(|scores| scores.get(headline).get(reading));
    match (mean, std) {
        (None, _) => "–".to_owned(),
        (Some(mean), None) => format!("{mean:.2}"),
        (Some(mean), Some(std)) => format!("{mean:.2} ± {std:.2}"),
    }
}
