//! The verdict: who gains, who loses, and how sure that is.

use super::Family;
use super::judged::{ALL, Fared, Judged};
use crate::Summary;
use crate::markup::Markup;
use boostfgl_fairness::statistics::mean_interval;
use boostfgl_fairness::{Readings, Scores, mean};

pub(super) fn section(family: &Family) -> Option<String> {
    let mut page = Markup::default();
    let told = match (&family.judged[..], family.summaries().count()) {
        ([Some(base), rest @ ..], 2..) if rest.iter().any(Option::is_some) => against(family, base, &mut page),
        ([Some(only), ..], _) => alone(family, only, &mut page),
        _ => by_metric(family, &mut page),
    };
    told?;
    page.raw(&scores(family));
    Some(page.finish())
}

/// One sentence in a box, and one on how to read it.
fn verdict(page: &mut Markup, sentence: &str, note: &str) {
    page.raw("<div class=\"verdict\">");
    page.text("p", &[("class", &"sentence")], sentence);
    page.text("p", &[("class", &"note")], note);
    page.raw("</div>");
}

/// A run alone: who fares worst.
fn alone(family: &Family, judged: &Judged, page: &mut Markup) -> Option<()> {
    let (all, groups) = judged.groups.split_first()?;
    let known = || groups.iter().filter(|group| group.accuracy.mean().is_finite());
    let by = |a: &&Fared, b: &&Fared| a.accuracy.mean().total_cmp(&b.accuracy.mean());
    let (worst, best) = (known().min_by(by)?, known().max_by(by)?);
    let apart = best.accuracy.mean() - worst.accuracy.mean();
    // Intervals over nodes that do not even touch: no luck with the sample of test nodes explains the gap.
    let sure = worst.accuracy.interval()[1] < best.accuracy.interval()[0];
    let client = worst_client(judged);
    let sentence = format!(
        "{} is right for {:.1} % of all test nodes, but only for {:.1} % of those that are {}: {apart:.1} points fewer than for \
         {}.{client}",
        family.labels()[0],
        all.accuracy.mean(),
        worst.accuracy.mean(),
        adjective(&worst.name),
        best.name,
    );
    let note = if sure {
        "The intervals of the two groups do not touch: another sample of test nodes would show the same gap."
    } else {
        "The intervals of the two groups touch: another sample of test nodes might not show the gap."
    };
    verdict(page, &sentence, note);
    let rows: Vec<Vec<String>> = judged.groups.iter().map(row).collect();
    let head = ["group", "test nodes", "accuracy, %", "95 % interval", "macro-F1, %"].map(str::to_owned);
    page.table(&head, &rows);
    Some(())
}

/// The client that fares worst. Under each seed clients are other sets of nodes, so over several seeds it has no name.
fn worst_client(judged: &Judged) -> String {
    let accuracy =
        |seed: u64| judged.clients.iter().filter_map(move |client| client.accuracy.seeds.get(&seed).copied());
    let seeds: Vec<u64> = judged.groups[0].accuracy.seeds.keys().copied().collect();
    let worst: Vec<f64> = seeds.iter().filter_map(|seed| accuracy(*seed).reduce(f64::min)).collect();
    match (judged.clients.len(), mean(&worst), &seeds[..]) {
        (0 | 1, _, _) | (_, None, _) => String::new(),
        (_, Some(worst), [_]) => format!(" The worst served client has {worst:.1} %."),
        (_, Some(worst), _) => format!(" The worst served client of a seed has {worst:.1} % on average."),
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

fn row(group: &Fared) -> Vec<String> {
    let [low, high] = group.accuracy.interval();
    let interval = if high > low { format!("{low:.1} to {high:.1}") } else { "–".to_owned() };
    vec![group.name.clone(), format!("{:.0}", group.nodes), group.accuracy.shown(), interval, group.macro_f1.shown()]
}

/// What a run is ahead of the base on one group.
struct Change {
    name: String,
    mean: f64,
    ends: Option<[f64; 2]>,
    pairs: usize,
}

/// Fewer pairs than this are not enough to be sure of anything: the interval of three differences leaves out their mean
/// every fourth time.
const ENOUGH: usize = 5;

impl Change {
    fn of(group: &Fared, base: &Fared) -> Option<Self> {
        let pairs = group.accuracy.seeds.iter();
        let differences: Vec<f64> =
            pairs.filter_map(|(seed, value)| Some(value - base.accuracy.seeds.get(seed)?)).collect();
        let ends = mean_interval(&differences).map(|interval| [interval.lo, interval.hi]);
        Some(Self { name: group.name.clone(), mean: mean(&differences)?, ends, pairs: differences.len() })
    }

    fn gains(&self) -> bool {
        self.pairs >= ENOUGH && self.ends.is_some_and(|[low, _]| low > 0.0)
    }

    fn loses(&self) -> bool {
        self.pairs >= ENOUGH && self.ends.is_some_and(|[_, high]| high < 0.0)
    }

    fn told(&self) -> String {
        format!("{} ({} points)", self.name, signed(self.mean))
    }

    fn shown(&self) -> (&'static str, String) {
        let class = if self.gains() {
            "gain"
        } else if self.loses() {
            "loss"
        } else {
            "same"
        };
        let ends =
            self.ends.map_or("one seed".to_owned(), |[low, high]| format!("{} to {}", signed(low), signed(high)));
        (class, format!("{} ({ends})", signed(self.mean)))
    }
}

/// With its sign, which must not be lost where a difference is small; only zero has none.
fn signed(points: f64) -> String {
    let digits = if points.abs() < 0.05 { 2 } else { 1 };
    let text = format!("{points:+.digits$}").replace('-', "−");
    if points.abs() < 0.005 { "0".to_owned() } else { text }
}

/// Runs against the first: who gains, who loses.
fn against(family: &Family, base: &Judged, page: &mut Markup) -> Option<()> {
    let others: Vec<(&String, Vec<Change>)> = family
        .judged
        .iter()
        .zip(family.labels())
        .skip(1)
        .filter_map(|(judged, label)| {
            let groups = judged.as_ref()?.groups.iter().zip(&base.groups);
            Some((label, groups.filter_map(|(group, base)| Change::of(group, base)).collect()))
        })
        .collect();
    let sentences: Vec<String> =
        others.iter().take(4).map(|(label, changes)| sentence(label, &family.base, changes)).collect();
    let seeds = others.iter().map(|(_, changes)| changes.iter().map(|c| c.pairs).max().unwrap_or(0)).min().unwrap_or(0);
    let note = match seeds {
        0 => "Some of these runs share no seed: there is nothing to pair.".to_owned(),
        1 => "One seed: what luck did and what the method did cannot be told apart. Run at least five.".to_owned(),
        2..ENOUGH => format!("{seeds} seeds are too few to be sure of any difference. Run at least {ENOUGH}."),
        _ => format!(
            "Paired over {seeds} seeds: same graph, partition and split. A difference counts as sure if its 95 % bootstrap \
             interval does not hold 0; with few seeds that interval is somewhat too narrow."
        ),
    };
    verdict(page, &sentences.join(" "), &note);
    changes(family, base, &others, page);
    Some(())
}

/// One sentence on one method.
fn sentence(label: &str, base: &str, changes: &[Change]) -> String {
    let list =
        |test: fn(&Change) -> bool| -> Vec<String> { changes.iter().filter(|c| test(c)).map(Change::told).collect() };
    let (gains, losses) = (list(Change::gains), list(Change::loses));
    let all = changes.iter().find(|change| change.name == ALL).map_or(f64::NAN, |change| change.mean);
    match (&gains[..], &losses[..]) {
        ([], []) if !all.is_finite() => format!("{label} and {base} have no seed in common and cannot be compared."),
        ([], []) => format!(
            "Nobody surely gains or loses by {label} instead of {base} (all test nodes: {} points of accuracy).",
            signed(all)
        ),
        (gains, []) => {
            format!("With {label} instead of {base}, these gain accuracy: {}; nobody surely loses.", gains.join(", "))
        }
        ([], losses) => {
            format!("With {label} instead of {base}, these lose accuracy: {}; nobody surely gains.", losses.join(", "))
        }
        (gains, losses) => format!(
            "With {label} instead of {base}, these gain accuracy: {}; these lose: {}.",
            gains.join(", "),
            losses.join(", ")
        ),
    }
}

/// The differences of every group, coloured where they are sure.
fn changes(family: &Family, base: &Judged, others: &[(&String, Vec<Change>)], page: &mut Markup) {
    page.raw("<div class=\"scroll\"><table class=\"changes\"><thead><tr>");
    let heads = ["group".to_owned(), "test nodes".to_owned(), format!("{}, accuracy %", family.base)];
    heads.iter().for_each(|head| page.text("th", &[("scope", &"col")], head));
    others.iter().for_each(|(label, _)| page.text("th", &[("scope", &"col")], &format!("{label}, difference")));
    page.raw("</tr></thead><tbody>");
    for group in &base.groups {
        page.raw("<tr>");
        page.text("th", &[("scope", &"row")], &group.name);
        page.text("td", &[], &format!("{:.0}", group.nodes));
        page.text("td", &[], &group.accuracy.shown());
        for (_, changes) in others {
            let found = changes.iter().find(|change| change.name == group.name).map(Change::shown);
            let (class, text) = found.unwrap_or(("same", "–".to_owned()));
            page.text("td", &[("class", &class)], &text);
        }
        page.raw("</tr>");
    }
    page.raw("</tbody></table></div>");
}

/// Without predictions: by the four metrics.
fn by_metric(family: &Family, page: &mut Markup) -> Option<()> {
    let Some(block) = &family.block else {
        let (_, label, summary) = family.summaries().next()?;
        let of = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.1}"));
        let scores = &summary.mean.0;
        let sentence = format!(
            "{label} is right for {} % of all test nodes; macro-F1 is {} % on all nodes and {} % on heterophilous nodes of \
             minority classes.",
            of(scores.accuracy.pooled),
            of(scores.overall_f1.pooled),
            of(scores.hete_min_f1.pooled)
        );
        verdict(page, &sentence, "Predictions of single nodes were not kept, so there are no intervals over groups.");
        return Some(());
    };
    let metrics =
        [("hete_f1", "heterophilous nodes (Hete-F1)"), ("hete_min_f1", "heterophilous minority nodes (Hete-min-F1)")];
    let mut sentences = Vec::new();
    for (key, name) in metrics {
        let sure = |ahead: bool| -> Vec<String> {
            let holds = |row: &&crate::BlockRow| {
                let difference = row.metrics.get(key).and_then(|metric| metric.difference);
                let enough = difference.filter(|difference| difference.pairs >= ENOUGH);
                enough.and_then(|d| d.interval).is_some_and(|i| if ahead { i.lo > 0.0 } else { i.hi < 0.0 })
            };
            block.rows.iter().filter(holds).map(|row| row.label.clone()).collect()
        };
        let (gain, lose) = (sure(true), sure(false));
        let some = |list: Vec<String>| if list.is_empty() { "nobody".to_owned() } else { list.join(", ") };
        sentences.push(format!(
            "For {name}, surely ahead of {}: {}; surely behind: {}.",
            family.base,
            some(gain),
            some(lose)
        ));
    }
    let pairs = block.rows.iter().flat_map(|row| row.metrics.values()).filter_map(|m| Some(m.difference?.pairs)).max();
    let note = if pairs.unwrap_or(0) < ENOUGH {
        "Fewer than five pairs are too few to be sure of any difference."
    } else {
        "Paired over seeds; sure if the 95 % bootstrap interval of the difference does not hold 0. With few seeds that interval \
         is somewhat too narrow, and of many comparisons some look sure by luck: the table below has p-values."
    };
    verdict(page, &sentences.join(" "), note);
    Some(())
}

/// The readings of a metric.
const READINGS: [Reading; 3] = [("pooled", |r| r.pooled), ("present", |r| r.present), ("client", |r| r.client)];

/// A reading: its name, and how it is taken.
type Reading = (&'static str, fn(&Readings) -> Option<f64>);

/// The four metrics in all readings, as `summary.json` has them.
fn scores(family: &Family) -> String {
    let mut page = Markup::default();
    let summaries: Vec<(&str, &Summary)> = family.summaries().map(|(_, label, summary)| (label, summary)).collect();
    if summaries.is_empty() {
        return String::new();
    }
    let head = ["method", "reading", "Accuracy", "Overall-F1", "Hete-F1", "Hete-min-F1"].map(str::to_owned);
    let mut rows = Vec::new();
    for (label, summary) in summaries {
        let (mean, std) = (&summary.mean.0, &summary.std.0);
        let metrics = |scores: &Scores| [scores.accuracy, scores.overall_f1, scores.hete_f1, scores.hete_min_f1];
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
    page.raw("<details class=\"scores\"><summary>The four metrics in their three readings</summary>");
    page.table(&head, &rows);
    page.text(
        "p",
        &[("class", &"note")],
        "Percent, mean ± standard deviation over seeds. Pooled: macro-F1 over all classes, one set of test nodes. Present: over \
         the classes that occur in the set. Client: the mean of the clients' own scores, weighted by their nodes.",
    );
    page.raw("</details>");
    page.finish()
}
