//! The table for a terminal.

use super::view::{AttributeView, DisparityView, GroupView, ThresholdView};
use crate::notes::sentence;
use crate::text_table::{Line, Marked, TextTable};
use crate::{Style, Summary};

/// The most groups of a table; the others are in the report.
const MOST: usize = 12;

/// Rates of the positive class for the groups of one attribute, over the seeds of a run.
///
/// Intervals, and every group of a long list, are in the report and in `summary.json`.
pub struct FairnessTable {
    title: String,
    view: AttributeView,
}

impl FairnessTable {
    /// One table per attribute of a run; empty if it has none and no positive class is configured.
    /// `title` names data and method.
    pub fn of(title: &str, summary: &Summary) -> Vec<Self> {
        let views = AttributeView::all(summary).into_iter();
        views.map(|view| Self { title: title.to_owned(), view }).collect()
    }

    /// As text, ending in a newline.
    pub fn text(&self, style: Style) -> String {
        let scored = self.view.groups.iter().any(|group| group.scores.is_some());
        let rows = self
            .view
            .groups
            .iter()
            .take(MOST + 1)
            .map(|group| Line { label: group.name.clone(), cells: vec![cells(group, scored)] });
        let by = self.view.name.as_ref().map(|name| format!(" by {name}")).unwrap_or_default();
        let table = TextTable {
            title: format!("{}: `{}` against the rest{by}", self.title, self.view.class),
            labels: "Group",
            columns: columns(scored),
            rows: rows.collect(),
            notes: notes(&self.view),
        };
        table.text(style)
    }
}

/// The headings of the columns.
fn columns(scored: bool) -> Vec<[String; 2]> {
    let counts = [["Nodes", ""], ["Positive", ""]];
    let shares =
        [["Selected", "%"], ["Recall", "%"], ["FPR", "%"], ["Precision", "%"], ["Accuracy", "%"]];
    let scores = [["AUC", ""], ["AP", ""], ["ECE", ""]];
    let scores = scores.iter().filter(|_| scored);
    let all = counts.iter().chain(&shares).chain(scores);
    all.map(|heading| heading.map(str::to_owned)).collect()
}

/// The cells of one group.
fn cells(group: &GroupView, scored: bool) -> Vec<Marked> {
    let counts = [group.nodes.clone(), group.positives.clone()];
    let shares = group.shares.iter().map(|rate| rate.without_spread().percent());
    let scores = group.scores.unwrap_or_default();
    let scores = scores.iter().filter(|_| scored).map(|rate| rate.without_spread().fraction());
    counts.into_iter().chain(shares).chain(scores).map(Marked::plain).collect()
}

/// What the columns mean, and how far groups are apart.
fn notes(view: &AttributeView) -> Vec<String> {
    let mut notes = sentence("", view.positive_class().as_str(), 0);
    let (shown, all) = view.seeds;
    if all > 1 {
        let seeds = if shown == all { format!("{all}") } else { format!("{shown} of {all}") };
        notes.push(format!("Mean over {seeds} seeds; the report has the spread."));
    }
    if view.groups.len() > MOST + 1 {
        let more = view.groups.len() - MOST - 1;
        notes.push(format!("{more} more groups are in the report and in summary.json."));
    }
    notes.extend(view.note.iter().flat_map(|note| sentence("", note, 0)));
    for disparity in view.disparities.iter().filter(|found| found.difference.mean.is_some()) {
        notes.extend(sentence("", &compared(disparity), 2));
    }
    if let Some((group, accuracy)) = &view.worst {
        let text = format!("Worst-group accuracy: {} % ({group}).", accuracy.percent());
        notes.extend(sentence("", &text, 2));
    }
    notes.extend(view.binning().iter().flat_map(|text| sentence("", text, 2)));
    if !view.left_out.is_empty() {
        let text = format!("Not compared: {}.", view.left_out.join("; "));
        notes.extend(sentence("", &text, 2));
    }
    notes.extend(view.thresholds.iter().flat_map(|found| sentence("", &effect(found), 2)));
    notes
}

/// `Demographic parity: difference 12.0 points, ratio 0.520 (smallest sex=f, largest sex=m).`
fn compared(found: &DisparityView) -> String {
    let ends = found.ends.as_ref();
    let ends = ends.map(|[low, high]| format!(" (smallest {low}, largest {high})"));
    let mut name = found.name.to_owned();
    name[..1].make_ascii_uppercase();
    let (difference, ratio) = (found.difference.percent(), found.ratio.fraction());
    format!("{name}: difference {difference} points, ratio {ratio}{}.", ends.unwrap_or_default())
}

/// What thresholds change, their cost first.
fn effect(found: &ThresholdView) -> String {
    let changes = found
        .effects
        .iter()
        .map(|(name, before, after)| format!("{name} {} to {}", before.percent(), after.percent()));
    let changes: Vec<String> = changes.collect();
    format!(
        "Thresholds by group ({}), chosen on validation nodes, in percent: {}.",
        found.rule,
        changes.join(", ")
    )
}
