//! Metric × group, with intervals.

use super::RunGroup;
use super::group_scores::{GroupScore, GroupScores, Known};
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
            |g| &g.macro_f1,
        )?,
    ];
    Some(format!("<div class=\"charts\">{}</div>", charts.concat()))
}

/// More rows than this are a wall, not a picture.
const MOST: usize = 60;

/// A number of every group of every run, the first [`MOST`] of them; `None` without predictions.
pub(super) fn draw(
    runs: &RunGroup,
    title: &str,
    x: &str,
    groups: fn(&GroupScores) -> &Vec<GroupScore>,
    number: fn(&GroupScore) -> &Known,
) -> Option<String> {
    let (mut dots, mut empty) = (Vec::new(), Vec::new());
    let group_scores = || {
        runs.group_scores
            .iter()
            .enumerate()
            .filter_map(|(series, group_scores)| Some((series, group_scores.as_ref()?)))
    };
    let (_, first) = group_scores().next()?;
    let of = groups(first).len();
    // Runs of one runs share their groups, but a broken one may lack some.
    for name in groups(first).iter().take(MOST).map(|group| &group.name) {
        for (series, group_scores) in group_scores() {
            let Some(group) = groups(group_scores).iter().find(|group| group.name == *name) else {
                continue;
            };
            if group.nodes == 0.0 {
                empty.push(name.as_str());
                continue;
            }
            let (mean, interval) =
                (number(group).mean(), number(group).interval().unwrap_or([f64::NAN; 2]));
            let small = if group.is_small(runs.min_group) { ", too small to rank" } else { "" };
            let group = format!("{name} ({:.0}{small})", group.nodes);
            let last: Option<&Dot> = dots.last();
            let group = last
                .filter(|dot| dot.group.starts_with(&format!("{name} (")))
                .map_or(group, |dot| dot.group.clone());
            dots.push(Dot { group, series, mean, interval, wide: None });
        }
    }
    let chart = Dots {
        title: if of > MOST { format!("{title}, first {MOST} of {of}") } else { title.to_owned() },
        x: x.to_owned(),
        interval: "95 % interval over test nodes".to_owned(),
        series: runs.labels().to_vec(),
        dots,
        mark: None,
        first_colour: 0,
    };
    let seeds =
        group_scores().map(|(_, group_scores)| group_scores.groups[0].accuracy.seeds.len()).max();
    empty.dedup();
    let note = note(seeds.unwrap_or(1), runs.min_group, &empty);
    Some(chart.chart().noted(note).html())
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
