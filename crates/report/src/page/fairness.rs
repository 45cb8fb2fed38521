//! Protected attributes: rates of the positive class for every group, how far groups are apart, and
//! the effect of thresholds.

use super::RunGroup;
use crate::group_fairness::{AttributeView, GroupView, Rate, ThresholdView};
use crate::markup::Markup;

pub(super) fn section(runs: &RunGroup) -> Option<String> {
    let mut page = Markup::default();
    let mut is_empty = true;
    for (_, label, summary) in runs.summaries() {
        for view in AttributeView::all(summary) {
            is_empty = false;
            attribute(&mut page, label, &view);
        }
    }
    if is_empty {
        return None;
    }
    page.text("p", &[("class", &"note")], NOTE);
    Some(page.finish())
}

/// How to read the tables.
const NOTE: &str = "Percent of test nodes, with Wilson's 95 % interval over nodes in brackets; over \
    several seeds mean ± standard deviation, and the mean of the intervals. Demographic parity \
    compares selection rates, equalised odds the larger difference (the smaller ratio) of recall \
    and false positive rate. AUC, average precision (AP) and expected calibration error (ECE, 16 \
    bins) are about the probability of the positive class; runs with evaluation.probabilities = \
    true have them. Entropy is the generalised entropy index of benefits. docs/fairness.md has the \
    formulas.";

/// The tables of one attribute of one run.
fn attribute(page: &mut Markup, label: &str, view: &AttributeView) {
    let by = view.name.as_ref().map(|name| format!(" by {name}")).unwrap_or_default();
    page.text("h4", &[], &format!("{label}{by}"));
    let (shown, all) = view.seeds;
    let mut about = view.positive_class();
    if shown < all {
        about.push_str(&format!(" Shown are {shown} of {all} seeds: others have another class."));
    }
    page.text("p", &[], &about);
    view.note.iter().for_each(|note| page.text("p", &[("class", &"note")], note));
    groups(page, &view.groups);
    view.binning().iter().for_each(|text| page.text("p", &[("class", &"note")], text));
    disparities(page, view);
    classes(page, view);
    view.thresholds.iter().for_each(|found| thresholds(page, found));
}

/// The rates of every group.
fn groups(page: &mut Markup, groups: &[GroupView]) {
    let scored = groups.iter().any(|group| group.scores.is_some());
    let mut head = vec![
        "group",
        "n",
        "positive",
        "selected",
        "recall",
        "FPR",
        "precision",
        "accuracy",
        "entropy",
    ];
    if scored {
        head.extend(["AUC", "AP", "ECE"]);
    }
    let rows: Vec<Vec<String>> = groups
        .iter()
        .map(|group| {
            let counts = [group.name.clone(), group.nodes.clone(), group.positives.clone()];
            let shares = group.shares.iter().map(Rate::with_interval);
            let entropy = std::iter::once(group.entropy.fraction());
            let scores = group.scores.unwrap_or_default();
            let scores = scores.iter().filter(|_| scored).map(Rate::fraction);
            counts.into_iter().chain(shares).chain(entropy).chain(scores).collect()
        })
        .collect();
    page.table(&owned(&head), &rows);
}

/// How far groups are apart, the worst group, and the groups that are left out.
fn disparities(page: &mut Markup, view: &AttributeView) {
    if view.disparities.is_empty() {
        return;
    }
    let rows: Vec<Vec<String>> = view
        .disparities
        .iter()
        .map(|found| {
            let [low, high] = found.ends.clone().unwrap_or_else(|| ["–", "–"].map(str::to_owned));
            let numbers = [found.difference.percent(), found.ratio.fraction()];
            std::iter::once(found.name.to_owned()).chain(numbers).chain([low, high]).collect()
        })
        .collect();
    let head = ["compared", "difference, points", "ratio", "smallest", "largest"];
    page.table(&owned(&head), &rows);
    if let Some((group, accuracy)) = &view.worst {
        let text = format!("Worst-group accuracy: {} % ({group}).", accuracy.with_interval());
        page.text("p", &[], &text);
    }
    if !view.left_out.is_empty() {
        let text = format!("Not compared: {}.", view.left_out.join("; "));
        page.text("p", &[("class", &"note")], &text);
    }
}

/// One-vs-rest, the differences of every class.
fn classes(page: &mut Markup, view: &AttributeView) {
    if view.classes.is_empty() {
        return;
    }
    let rows: Vec<Vec<String>> = view
        .classes
        .iter()
        .map(|(class, [parity, odds])| vec![class.clone(), parity.percent(), odds.percent()])
        .collect();
    let head = ["class", "demographic parity, points", "equalised odds, points"];
    page.table(&owned(&head), &rows);
}

/// Thresholds and their effect.
fn thresholds(page: &mut Markup, found: &ThresholdView) {
    let change = found.accuracy_change();
    let cost = change.map(|change| format!(" Accuracy changes by {change:+.1} points."));
    let text = format!(
        "Thresholds by group ({}), chosen on validation nodes, evaluated on test nodes.{} \
         Predictions in files are those of the model.",
        found.rule,
        cost.unwrap_or_default()
    );
    page.text("p", &[], &text);
    let rows: Vec<Vec<String>> =
        found.groups.iter().map(|(group, shown)| vec![group.clone(), shown.clone()]).collect();
    page.table(&owned(&["group", "threshold"]), &rows);
    let rows: Vec<Vec<String>> = found
        .effects
        .iter()
        .map(|(name, before, after)| vec![(*name).to_owned(), before.percent(), after.percent()])
        .collect();
    page.table(&owned(&["percent", "model", "with thresholds"]), &rows);
}

fn owned(head: &[&str]) -> Vec<String> {
    head.iter().map(|title| (*title).to_owned()).collect()
}
