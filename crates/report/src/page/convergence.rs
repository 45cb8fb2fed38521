//! Scores and loss over rounds.

use super::{Curve, RunGroup};
use crate::chart::{Line, Lines};
use crate::markup::Markup;
use crate::{Point, RunView};
use boostfgl_fairness::{Group, HEADLINES, Headline};
use std::collections::BTreeMap;

/// A value of a round that is drawn.
#[derive(Clone, Copy)]
enum Shown {
    Metric(&'static Headline),
    Loss,
}

impl Shown {
    /// The title of its chart.
    fn title(self) -> String {
        match self {
            Self::Metric(headline) if headline.group == Group::All => headline.title.to_owned(),
            Self::Metric(headline) => format!("{}: {}", headline.title, headline.group.nodes()),
            Self::Loss => "Training loss".to_owned(),
        }
    }

    /// The title of the axis.
    fn axis(self) -> String {
        match self {
            Self::Metric(headline) => format!("{}, %", headline.metric.title()),
            Self::Loss => "loss".to_owned(),
        }
    }

    /// How to read its chart.
    fn note(self) -> &'static str {
        match self {
            Self::Metric(_) => "",
            Self::Loss => "Methods may weigh nodes differently: compare shapes, not heights.",
        }
    }

    /// Its value in a round.
    fn value(self, point: &Point) -> Option<f64> {
        match self {
            Self::Metric(headline) => *point.scores.get(headline),
            Self::Loss => Some(point.loss),
        }
    }
}

pub(super) fn section(runs: &RunGroup) -> Option<String> {
    charts(&runs.curves)
}

/// A chart of every value; `None` without an evaluated round.
fn charts(curves: &[Curve]) -> Option<String> {
    let seeds = curves.iter().map(|curve| curve.seeds.len()).max()?;
    if curves.iter().all(|curve| curve.seeds.iter().all(|(_, points)| points.is_empty())) {
        return None;
    }
    let band = if seeds > 1 {
        format!("± one standard deviation over {seeds} seeds")
    } else {
        String::new()
    };
    let mut html = String::new();
    for shown in HEADLINES.iter().map(Shown::Metric).chain([Shown::Loss]) {
        let chart = Lines {
            title: shown.title(),
            x: "round".to_owned(),
            y: shown.axis(),
            band: band.clone(),
            lines: curves.iter().map(|curve| line(curve, shown)).collect(),
            mark: None,
        };
        html.push_str(&chart.chart().noted(shown.note()).html());
    }
    Some(format!("<div class=\"charts\">{html}</div>"))
}

/// Mean and standard deviation over seeds in every round.
fn line(curve: &Curve, shown: Shown) -> Line {
    let mut rounds: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for point in curve.seeds.iter().flat_map(|(_, points)| points) {
        rounds.entry(point.round).or_default().extend(shown.value(point).filter(|x| x.is_finite()));
    }
    // Rounds that some seeds did not reach are left out: the mean over fewer seeds would jump.
    let most = rounds.values().map(Vec::len).max().unwrap_or(0);
    rounds.retain(|_, values| values.len() == most);
    Line::of(curve.label.clone(), rounds.into_iter().map(|(round, values)| (round as f64, values)))
}

/// The progress, latest scores and curves of a run that may still be training.
pub(super) fn live(view: &RunView) -> String {
    let mut page = Markup::default();
    let (done, total) = view.progress();
    let progress =
        total.map_or(format!("{done} rounds"), |total| format!("{done} of {total} rounds"));
    page.text("p", &[("class", &"stands")], &progress);
    let curve = Curve::of(view, &view.label());
    let rows: Vec<Vec<String>> =
        curve.seeds.iter().filter_map(|(seed, points)| latest(*seed, points)).collect();
    let titles = HEADLINES.iter().map(|headline| headline.title);
    let head: Vec<String> =
        ["seed", "round", "loss"].into_iter().chain(titles).map(str::to_owned).collect();
    if rows.is_empty() {
        page.text("p", &[("class", &"note")], "No round has been evaluated yet.");
    } else {
        page.table(&head, &rows);
    }
    // One curve per seed, since some seeds have more rounds than others.
    let mut curves = Vec::new();
    for (seed, points) in curve.seeds {
        curves.push(Curve { label: format!("seed {seed}"), seeds: vec![(seed, points)] });
    }
    page.raw(&charts(&curves).unwrap_or_default());
    page.finish()
}

/// The table row of the last evaluated round of a seed.
fn latest(seed: u64, points: &[Point]) -> Option<Vec<String>> {
    let point = points.last()?;
    let mut row = vec![seed.to_string(), point.round.to_string(), format!("{:.4}", point.loss)];
    row.extend(point.scores.iter().copied().map(percent));
    Some(row)
}

/// Two decimals, or a dash where there is no value.
fn percent(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.2}"))
}
