//! The verdict: who fares how, and how sure that is.

use super::about;
use super::against::against;
use super::group_scores::{Fared, Judged};
use super::{Family, RULE};
use crate::markup::Markup;
use crate::{Block, Summary};
use boostfgl_fairness::statistics::Certainty;
use boostfgl_fairness::{Readings, Scores, mean};

pub(super) fn section(family: &Family) -> Option<String> {
    let mut page = Markup::default();
    let told = match (&family.judged[..], family.summaries().count()) {
        ([Some(base), rest @ ..], 2..) if rest.iter().any(Option::is_some) => {
            against(family, base, &mut page)
        }
        ([Some(only), ..], _) => alone(family, only, &mut page),
        _ => by_metric(family, &mut page),
    };
    told?;
    // Which classes the groups above are about.
    if let Some(classes) = about::minority(family) {
        page.text("p", &[("class", &"note")], &classes);
    }
    page.raw(&scores(family));
    Some(page.finish())
}

/// One sentence in a box, and one on how to read it.
pub(super) fn verdict(page: &mut Markup, sentence: &str, note: &str) {
    page.raw("<div class=\"verdict\">");
    page.text("p", &[("class", &"sentence")], sentence);
    page.text("p", &[("class", &"note")], note);
    page.raw("</div>");
}

/// A run alone: who fares worst. Groups too small to be ranked are shown and not named.
fn alone(family: &Family, judged: &Judged, page: &mut Markup) -> Option<()> {
    let (all, groups) = judged.groups.split_first()?;
    let ranked = || {
        groups
            .iter()
            .filter(|group| group.accuracy.mean().is_finite() && !group.is_small(family.min_group))
    };
    let by = |a: &&Fared, b: &&Fared| a.accuracy.mean().total_cmp(&b.accuracy.mean());
    let right = format!(
        "{} is right for {:.1} % of all test nodes",
        family.labels()[0],
        all.accuracy.mean()
    );
    let client = worst_client(judged, family.min_group);
    match ranked()
        .min_by(by)
        .zip(ranked().max_by(by))
        .filter(|(worst, best)| apart(worst, best) >= 0.05)
    {
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
            let note = match ranked().count() {
                0 | 1 => format!(
                    "No two groups have {} test nodes: there is nothing to rank.",
                    family.min_group
                ),
                _ => "The groups that are large enough to rank fare alike.".to_owned(),
            };
            verdict(page, &format!("{right}.{client}"), &note);
        }
    }
    let rows: Vec<Vec<String>> =
        judged.groups.iter().map(|group| row(group, family.min_group)).collect();
    let head =
        ["group", "test nodes", "accuracy, %", "95 % interval", "macro-F1, %"].map(str::to_owned);
    page.table(&head, &rows);
    Some(())
}

/// How far the best group is from the worst, in points.
fn apart(worst: &Fared, best: &Fared) -> f64 {
    best.accuracy.mean() - worst.accuracy.mean()
}

/// What the intervals over nodes of the worst and the best group allow to say.
fn overlap(worst: &Fared, best: &Fared) -> &'static str {
    let ends = worst.accuracy.interval().zip(best.accuracy.interval());
    if ends.is_some_and(|(worst, best)| worst[1] < best[0]) {
        "The 95 % intervals of the two groups do not overlap: chance in the sample of test nodes \
         alone does not explain the \
         gap. They say nothing about other seeds."
    } else {
        "The 95 % intervals of the two groups overlap: another sample of test nodes might not \
         show the gap."
    }
}

/// The client that fares worst, of those large enough to be ranked. Under each seed clients are
/// other sets of nodes, so over several seeds it has no name.
fn worst_client(judged: &Judged, min_group: usize) -> String {
    let ranked: Vec<&Fared> =
        judged.clients.iter().filter(|client| !client.is_small(min_group)).collect();
    let accuracy = |seed: u64| {
        ranked.iter().filter_map(move |client| client.accuracy.seeds.get(&seed).copied())
    };
    let seeds: Vec<u64> = judged.groups[0].accuracy.seeds.keys().copied().collect();
    let worst: Vec<f64> =
        seeds.iter().filter_map(|seed| accuracy(*seed).reduce(f64::min)).collect();
    match (ranked.len(), mean(&worst), &seeds[..]) {
        (0 | 1, _, _) | (_, None, _) => String::new(),
        (_, Some(worst), [_]) => format!(" The worst served client has {worst:.1} %."),
        (_, Some(worst), _) => {
            format!(" The worst served client of a seed has {worst:.1} % on average.")
        }
    }
}

fn adjective(group: &str) -> &str {
    match group {
        "majority classes" => "of majority classes",
        "minority classes" => "of minority classes",
        "heterophilous minority" => "heterophilous and of minority classes",
        other => other,
    }
}

fn row(group: &Fared, min_group: usize) -> Vec<String> {
    let interval = match group.accuracy.interval() {
        Some([low, high]) => format!("{low:.1} to {high:.1}"),
        None => "–".to_owned(),
    };
    let (name, nodes) = (group.named(min_group), format!("{:.0}", group.nodes));
    vec![name, nodes, group.accuracy.shown(), interval, group.macro_f1.shown()]
}

/// Without predictions: by the four metrics.
fn by_metric(family: &Family, page: &mut Markup) -> Option<()> {
    let Some(block) = &family.block else {
        let (_, label, summary) = family.summaries().next()?;
        let of = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.1}"));
        let scores = &summary.mean.0;
        let sentence = format!(
            "{label} is right for {} % of all test nodes; macro-F1 is {} % on all nodes and {} % \
             on heterophilous nodes of \
             minority classes.",
            of(scores.accuracy.pooled),
            of(scores.overall_f1.pooled),
            of(scores.hete_min_f1.pooled)
        );
        verdict(
            page,
            &sentence,
            "Predictions of single nodes were not kept, so there are no intervals over groups.",
        );
        return Some(());
    };
    let metrics = [
        ("hete_f1", "heterophilous nodes (Hete-F1)"),
        ("hete_min_f1", "heterophilous minority nodes (Hete-min-F1)"),
    ];
    let sentences = metrics
        .map(|(key, name)| format!("For {name}, {}.", against_base(block, &family.base, key)));
    let limit = block.limit().and_then(|limit| limit.sentence(block.unit()));
    let note = format!("{RULE} {}", limit.unwrap_or_default());
    verdict(page, &sentences.join(" "), note.trim_end());
    Some(())
}

/// Which methods are ahead of the base in a metric, lean so, are behind or lean so, in words that
/// the rule allows.
fn against_base(block: &Block, base: &str, key: &str) -> String {
    let certainty = |row: &crate::BlockRow| Some(row.metrics.get(key)?.difference?.certainty());
    let list = |wanted: Certainty| -> Option<String> {
        let rows = block.rows.iter().filter(|row| certainty(row) == Some(wanted));
        let names: Vec<&str> = rows.map(|row| row.label.as_str()).collect();
        (!names.is_empty()).then(|| format!("{}: {}", wanted.word(), names.join(", ")))
    };
    let said: Vec<String> = Certainty::ALL.into_iter().filter_map(list).collect();
    if said.is_empty() {
        format!("nothing is compared with {base}")
    } else {
        format!("against {base}, {}", said.join("; "))
    }
}

/// The readings of a metric.
const READINGS: [Reading; 3] =
    [("pooled", |r| r.pooled), ("present", |r| r.present), ("client", |r| r.client)];

/// A reading: its name, and how it is taken.
type Reading = (&'static str, fn(&Readings) -> Option<f64>);

/// The four metrics in all readings, as `summary.json` has them.
fn scores(family: &Family) -> String {
    let mut page = Markup::default();
    let summaries: Vec<(&str, &Summary)> =
        family.summaries().map(|(_, label, summary)| (label, summary)).collect();
    if summaries.is_empty() {
        return String::new();
    }
    let head = ["method", "reading", "Accuracy", "Overall-F1", "Hete-F1", "Hete-min-F1"]
        .map(str::to_owned);
    let mut rows = Vec::new();
    for (label, summary) in summaries {
        let (mean, std) = (&summary.mean.0, &summary.std.0);
        let metrics = |scores: &Scores| {
            [scores.accuracy, scores.overall_f1, scores.hete_f1, scores.hete_min_f1]
        };
        for (name, pick) in READINGS {
            let cell = |(mean, std): (&Readings, &Readings)| match (pick(mean), pick(std)) {
                (None, _) => "–".to_owned(),
                (Some(mean), None) => format!("{mean:.2}"),
                (Some(mean), Some(std)) => format!("{mean:.2} ± {std:.2}"),
            };
            let mut row = vec![label.to_owned(), name.to_owned()];
            row.extend(metrics(mean).iter().zip(&metrics(std)).map(cell));
            rows.push(row);
        }
    }
    page.raw(
        "<details class=\"scores\"><summary>The four metrics in their three readings</summary>",
    );
    page.table(&head, &rows);
    page.text(
        "p",
        &[("class", &"note")],
        "Percent, mean ± standard deviation over seeds. Pooled: macro-F1 over all classes, one \
         set of test nodes. Present: over \
         the classes that occur in the set. Client: the mean of the clients' own scores, weighted \
         by their nodes.",
    );
    page.raw("</details>");
    page.finish()
}
