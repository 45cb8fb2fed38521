//! Scores and loss over rounds.

use super::{Curve, Family};
use crate::chart::{Line, Lines};
use crate::markup::Markup;
use crate::{Point, RunView};
use std::collections::BTreeMap;

/// What is drawn: title, name of the axis, and the number of a round.
type Shown = (&'static str, &'static str, fn(&Point) -> Option<f64>);

const SHOWN: [Shown; 5] = [
    ("Accuracy", "accuracy, %", |point| point.accuracy),
    ("Overall-F1", "macro-F1, %", |point| point.overall_f1),
    ("Hete-F1: heterophilous nodes", "macro-F1, %", |point| point.hete_f1),
    ("Hete-min-F1: heterophilous minority nodes", "macro-F1, %", |point| point.hete_min_f1),
    ("Training loss", "loss", |point| Some(point.loss)),
];

pub(super) fn section(family: &Family) -> Option<String> {
    charts(&family.curves)
}

fn charts(curves: &[Curve]) -> Option<String> {
    let seeds = curves.iter().map(|curve| curve.seeds.len()).max()?;
    if curves.iter().all(|curve| curve.seeds.iter().all(|(_, points)| points.is_empty())) {
        return None;
    }
    let chart = |(title, y, pick): Shown| {
        let lines = curves.iter().map(|curve| line(curve, pick)).collect();
        let band = if seeds > 1 {
            format!("± one standard deviation over {seeds} seeds")
        } else {
            String::new()
        };
        let (title, x, y) = (title.to_owned(), "round".to_owned(), y.to_owned());
        let note = if y == "loss" {
            "Methods may weigh nodes differently: compare shapes, not heights."
        } else {
            ""
        };
        Lines { title, x, y, band, lines, mark: None }.chart().noted(note).html()
    };
    Some(format!("<div class=\"charts\">{}</div>", SHOWN.map(chart).concat()))
}

/// Mean and spread over seeds in every round.
fn line(curve: &Curve, pick: fn(&Point) -> Option<f64>) -> Line {
    let mut rounds: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for point in curve.seeds.iter().flat_map(|(_, points)| points) {
        rounds.entry(point.round).or_default().extend(pick(point).filter(|x| x.is_finite()));
    }
    // Where a seed stops early, the mean of the others would look like a jump.
    let most = rounds.values().map(Vec::len).max().unwrap_or(0);
    rounds.retain(|_, values| values.len() == most);
    Line::of(curve.label.clone(), rounds.into_iter().map(|(round, values)| (round as f64, values)))
}

/// A run that may still go on: where it stands, its latest scores, its curves.
pub(super) fn live(view: &RunView) -> String {
    let mut page = Markup::default();
    let (done, of) = view.progress();
    let stands = of.map_or(format!("{done} rounds"), |of| format!("{done} of {of} rounds"));
    page.text("p", &[("class", &"stands")], &stands);
    let curve = Curve::of(view, &view.label());
    let rows: Vec<Vec<String>> =
        curve.seeds.iter().filter_map(|(seed, points)| latest(*seed, points)).collect();
    let head = ["seed", "round", "loss", "Accuracy", "Overall-F1", "Hete-F1", "Hete-min-F1"]
        .map(str::to_owned);
    if rows.is_empty() {
        page.text("p", &[("class", &"note")], "No round has been evaluated yet.");
    } else {
        page.table(&head, &rows);
    }
    // Seed by seed: they are not equally far.
    let apart = |(seed, points): (u64, Vec<Point>)| Curve {
        label: format!("seed {seed}"),
        seeds: vec![(seed, points)],
    };
    let curves: Vec<Curve> = curve.seeds.into_iter().map(apart).collect();
    page.raw(&charts(&curves).unwrap_or_default());
    page.finish()
}

/// The last evaluated round of a seed.
fn latest(seed: u64, points: &[Point]) -> Option<Vec<String>> {
    let point = points.last()?;
    let percent =
        |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.2}"));
    let mut row = vec![seed.to_string(), point.round.to_string(), format!("{:.4}", point.loss)];
    row.extend([point.accuracy, point.overall_f1, point.hete_f1, point.hete_min_f1].map(percent));
    Some(row)
}
