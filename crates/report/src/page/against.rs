//! Differences to the base run by group of nodes, with how certain they are.

use super::group_scores::{ALL, GroupScore, GroupScores};
use super::verdict::verdict;
use super::{RULE, RunGroup};
use crate::Difference;
use crate::comparison::apart;
use crate::markup::Markup;
use boostfgl_fairness::statistics::{Certainty, LEAST_PAIRS, Limit};
use std::collections::BTreeSet;

/// The difference of a run to the base on one group of nodes.
struct Change {
    name: String,
    difference: Difference,
    /// Whether the group is too small to be ranked.
    small: bool,
}

/// A run with its difference to the base on every group.
struct Other<'a> {
    label: &'a str,
    changes: Vec<Change>,
}

/// The verdict on several runs.
pub(super) fn against(runs: &RunGroup, base: &GroupScores, page: &mut Markup) -> Option<()> {
    let others = others(runs, base);
    let sentences: Vec<String> =
        others.iter().take(4).map(|other| other.sentence(&runs.base)).collect();
    let pairs = others
        .iter()
        .map(|other| other.changes.iter().map(|c| c.difference.pairs).max().unwrap_or(0))
        .min();
    verdict(
        page,
        &sentences.join(" "),
        &note(Limit { pairs: pairs.unwrap_or(0), tests: others.len() }),
    );
    table(runs, base, &others, page);
    Some(())
}

/// The other runs whose scores by group are known. The tests of all runs on one group are a family:
/// their p-values are adjusted together.
fn others<'a>(runs: &'a RunGroup, base: &GroupScores) -> Vec<Other<'a>> {
    let rest = runs.group_scores.iter().zip(runs.labels()).skip(1);
    let known: Vec<(&GroupScores, &str)> = rest
        .filter_map(|(group_scores, label)| Some((group_scores.as_ref()?, &label[..])))
        .collect();
    let seeds = shared_seeds(runs, base);
    let mut others: Vec<Other> =
        known.iter().map(|(_, label)| Other { label, changes: Vec::new() }).collect();
    for group in &base.groups {
        let same: Vec<Option<&GroupScore>> = known
            .iter()
            .map(|(group_scores, _)| {
                group_scores.groups.iter().find(|other| other.name == group.name)
            })
            .collect();
        let paired: Vec<Vec<f64>> =
            same.iter().map(|other| paired_differences(*other, group, &seeds)).collect();
        let differences = Difference::family(&paired);
        for (other, difference) in others.iter_mut().zip(differences) {
            let (name, small) = (group.name.clone(), group.is_small(runs.min_group));
            other.changes.extend(difference.map(|difference| Change { name, difference, small }));
        }
    }
    others
}

/// The differences in accuracy to the base under each seed for which both have a value.
fn paired_differences(
    other: Option<&GroupScore>,
    base: &GroupScore,
    seeds: &BTreeSet<u64>,
) -> Vec<f64> {
    let Some(other) = other else { return Vec::new() };
    let (other, base) = (&other.accuracy.seeds, &base.accuracy.seeds);
    seeds.iter().filter_map(|seed| Some(apart(*other.get(seed)?, *base.get(seed)?))).collect()
}

/// The seeds of the table of paired differences, so that the verdict agrees with it.
fn shared_seeds(runs: &RunGroup, base: &GroupScores) -> BTreeSet<u64> {
    let cells = runs.block.as_ref().and_then(|block| block.rows.first()).map(|row| &row.cells);
    match cells {
        Some(cells) => cells.iter().map(|cell| cell.seed).collect(),
        None => base.groups[0].accuracy.seeds.keys().copied().collect(),
    }
}

/// How to read the sentences.
fn note(limit: Limit) -> String {
    let Limit { pairs, .. } = limit;
    if pairs == 0 {
        return "Some of these runs share no seed: there is nothing to pair.".to_owned();
    }
    let few = limit.sentence("seed").unwrap_or_default();
    if pairs < LEAST_PAIRS {
        return format!("{few} Run at least {LEAST_PAIRS} for a leaning and eight for more.");
    }
    format!("Paired over {pairs} seeds: same graph, partition and split. {RULE} {few}")
        .trim_end()
        .to_owned()
}

impl Other<'_> {
    /// One sentence: the groups on which the run differs from the base, by certainty.
    fn sentence(&self, base: &str) -> String {
        let label = self.label;
        let all =
            self.changes.iter().find(|change| change.name == ALL).map(|change| &change.difference);
        let Some(all) = all else {
            return format!("{label} and {base} have no seed in common and cannot be compared.");
        };
        let differ =
            [Certainty::Ahead, Certainty::LeansAhead, Certainty::Behind, Certainty::LeansBehind];
        let parts: Vec<String> =
            differ.into_iter().filter_map(|certainty| self.groups_with(certainty)).collect();
        if parts.is_empty() {
            let points = signed(all.mean);
            return format!(
                "{label} against {base}: {} (all test nodes: {points} points of accuracy).",
                all.certainty().word()
            );
        }
        format!("{label} against {base}, accuracy: {}.", parts.join("; "))
    }

    /// The groups whose difference has this certainty, after its word; `None` without any. Groups
    /// too small to be ranked are left out.
    fn groups_with(&self, wanted: Certainty) -> Option<String> {
        let ranked = self.changes.iter().filter(|change| !change.small);
        let groups = ranked.filter(|change| change.difference.certainty() == wanted);
        let named: Vec<String> = groups.map(Change::named).collect();
        (!named.is_empty()).then(|| format!("{} on {}", wanted.word(), named.join(", ")))
    }
}

impl Change {
    /// The group with its difference.
    fn named(&self) -> String {
        format!("{} ({} points)", self.name, signed(self.difference.mean))
    }

    /// The CSS class and the text of its cell.
    fn shown(&self) -> (&'static str, String) {
        let certainty = self.difference.certainty();
        let class = match certainty {
            _ if self.small => "same",
            Certainty::Ahead => "gain",
            Certainty::LeansAhead => "gain lean",
            Certainty::Behind => "loss",
            Certainty::LeansBehind => "loss lean",
            Certainty::NoDifference | Certainty::TooFew => "same",
        };
        let ends =
            self.difference.interval.map(|i| format!(" ({} to {})", signed(i.lo), signed(i.hi)));
        let word = if self.small { "group too small" } else { certainty.word() };
        (class, format!("{}{}: {word}", signed(self.difference.mean), ends.unwrap_or_default()))
    }
}

/// Points with their sign. Small differences have two digits so that their sign is meaningful.
fn signed(points: f64) -> String {
    let digits = if points.abs() < 0.05 { 2 } else { 1 };
    let text = format!("{points:+.digits$}").replace('-', "−");
    if points.abs() < 0.005 { "0".to_owned() } else { text }
}

/// The differences on every group, coloured by certainty.
fn table(runs: &RunGroup, base: &GroupScores, others: &[Other<'_>], page: &mut Markup) {
    page.raw("<div class=\"scroll\"><table class=\"changes\"><thead><tr>");
    let heads = ["group".to_owned(), "test nodes".to_owned(), format!("{}, accuracy %", runs.base)];
    heads.iter().for_each(|head| page.text("th", &[("scope", &"col")], head));
    others.iter().for_each(|other| {
        page.text("th", &[("scope", &"col")], &format!("{}, difference", other.label));
    });
    page.raw("</tr></thead><tbody>");
    for group in &base.groups {
        page.raw("<tr>");
        page.text("th", &[("scope", &"row")], &group.named(runs.min_group));
        page.text("td", &[], &format!("{:.0}", group.nodes));
        page.text("td", &[], &group.accuracy.shown());
        for other in others {
            let found =
                other.changes.iter().find(|change| change.name == group.name).map(Change::shown);
            let (class, text) = found.unwrap_or(("same", "–".to_owned()));
            page.text("td", &[("class", &class)], &text);
        }
        page.raw("</tr>");
    }
    page.raw("</tbody></table></div>");
}
