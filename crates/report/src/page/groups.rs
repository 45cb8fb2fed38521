//! Scores by group of nodes, with intervals.

use super::RunGroup;
use super::group_scores::{GroupScore, GroupScores, SeedScores};
use crate::chart::{Dot, Dots};

pub(super) fn section(runs: &RunGroup) -> Option<String> {
    let charts = [
        draw(
            runs,
            "Accuracy by group",
            "accuracy, %",
            |group_scores| &group_scores.groups,
            |group| &group.accuracy,
        )?,
        draw(
            runs,
            "Macro-F1 by group",
            "macro-F1 over the classes present, %",
            |group_scores| &group_scores.groups,
            |group| &group.macro_f1,
        )?,
    ];
    Some(format!("<div class=\"charts\">{}</div>", charts.concat()))
}

/// The most groups in a chart; more rows would not be readable.
const MOST: usize = 60;

/// The chart of one score of the first [`MOST`] groups of every run; `None` without predictions.
pub(super) fn draw(
    runs: &RunGroup,
    title: &str,
    x: &str,
    groups: fn(&GroupScores) -> &Vec<GroupScore>,
    score: fn(&GroupScore) -> &SeedScores,
) -> Option<String> {
    let known: Vec<(usize, &GroupScores)> = runs
        .group_scores
        .iter()
        .enumerate()
        .filter_map(|(series, group_scores)| Some((series, group_scores.as_ref()?)))
        .collect();
    let all = groups(known.first()?.1);
    let (mut dots, mut empty) = (Vec::new(), Vec::new());
    for name in all.iter().take(MOST).map(|group| &group.name[..]) {
        // All runs share the row, which has the size of the group in the first of them.
        let mut row: Option<String> = None;
        for (series, group_scores) in &known {
            // A damaged run may lack groups that others have.
            let Some(group) = groups(group_scores).iter().find(|group| group.name == name) else {
                continue;
            };
            if group.nodes == 0.0 {
                empty.push(name);
                continue;
            }
            let row = row.get_or_insert_with(|| row_name(group, runs.min_group)).clone();
            dots.push(dot(row, *series, score(group)));
        }
    }
    let seeds = known.iter().map(|(_, scores)| scores.groups[0].accuracy.seeds.len()).max();
    empty.dedup();
    let chart = Dots {
        title: titled(title, all.len()),
        x: x.to_owned(),
        interval: "95 % interval over test nodes".to_owned(),
        series: runs.labels().to_vec(),
        dots,
        mark: None,
        first_colour: 0,
    };
    let note = note(seeds.unwrap_or(1), runs.min_group, &empty);
    Some(chart.chart().noted(note).html())
}

/// The title of the chart, which names the number of groups if only the first are drawn.
fn titled(title: &str, groups: usize) -> String {
    if groups > MOST { format!("{title}, first {MOST} of {groups}") } else { title.to_owned() }
}

/// The name of a row: group and size.
fn row_name(group: &GroupScore, min_group: usize) -> String {
    let small = if group.is_small(min_group) { ", too small to rank" } else { "" };
    format!("{} ({:.0}{small})", group.name, group.nodes)
}

/// One score of one run with its interval.
fn dot(group: String, series: usize, score: &SeedScores) -> Dot {
    let interval = score.interval().unwrap_or([f64::NAN; 2]);
    Dot { group, series, mean: score.mean(), interval, wide: None }
}

/// How to read the intervals, and which groups are `empty`.
fn note(seeds: usize, min_group: usize, empty: &[&str]) -> String {
    let empty = match empty {
        [] => String::new(),
        names => format!(" No test node is in these groups: {}.", names.join(", ")),
    };
    format!(
        "Mean over {seeds} seed{}; in brackets the number of test nodes. The interval shows what \
         another sample of test nodes might have given with the same models, not what other \
         seeds would (accuracy: Wilson; macro-F1: bootstrap, if there are not too many nodes and \
         its draws do not all agree). Groups of fewer than {min_group} test nodes are too small \
         to rank.{empty}",
        if seeds == 1 { "" } else { "s" }
    )
}
