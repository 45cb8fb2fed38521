//! Runs that differ in one or two settings: a curve or a heat map.

use crate::chart::{Chart, Heat, Line, Lines};
use crate::figure::sort_as_numbers;
use crate::{RunView, Settings, Summary};
use boostfgl_fairness::{HEADLINES, Headline, Scores, mean};
use std::collections::{BTreeMap, BTreeSet};

/// The metrics of a sweep, one chart each.
fn shown() -> [&'static Headline; 3] {
    [&HEADLINES.accuracy, &HEADLINES.overall_f1, &HEADLINES.hete_min_f1]
}

/// The charts of all sweeps: at least three runs of one dataset and method that differ in one or
/// two settings.
pub(super) fn charts(views: &[RunView]) -> Vec<Chart> {
    let mut sorted: BTreeMap<(String, String), Vec<(&Settings, &Summary)>> = BTreeMap::new();
    for view in views {
        if let (Some(settings), Some(summary)) = (&view.settings, &view.summary) {
            sorted
                .entry((summary.dataset.clone(), summary.label()))
                .or_default()
                .push((settings, summary));
        }
    }
    sorted
        .into_iter()
        .filter(|(_, runs)| runs.len() > 2)
        .flat_map(|(key, runs)| sweep(&key, &runs))
        .collect()
}

/// One combination of settings, with the scores under each seed.
type Spot<'a> = (&'a Settings, BTreeMap<u64, Scores>);

/// Merges runs of the same settings and keeps the seeds that all combinations have.
fn spots<'a>(runs: &[(&'a Settings, &Summary)], keys: &[&str]) -> Vec<Spot<'a>> {
    let mut spots: Vec<Spot<'a>> = Vec::new();
    for (settings, summary) in runs {
        let scores = summary.seeds.iter().map(|seed| (seed.seed, seed.scores.0));
        let same = spots.iter_mut().find(|spot| same_values(spot.0, settings, keys));
        match same {
            Some(spot) => scores.for_each(|(seed, scores)| {
                spot.1.entry(seed).or_insert(scores);
            }),
            None => spots.push((settings, scores.collect())),
        }
    }
    let common: BTreeSet<u64> =
        spots.first().map_or(BTreeSet::new(), |spot| spot.1.keys().copied().collect());
    let common: BTreeSet<u64> = common
        .into_iter()
        .filter(|seed| spots.iter().all(|spot| spot.1.contains_key(seed)))
        .collect();
    spots.iter_mut().for_each(|spot| spot.1.retain(|seed, _| common.contains(seed)));
    spots.retain(|spot| !spot.1.is_empty());
    spots
}

/// Whether two configurations agree in these keys.
fn same_values(a: &Settings, b: &Settings, keys: &[&str]) -> bool {
    keys.iter().all(|key| a.get(key) == b.get(key))
}

/// The charts of one dataset and method; empty unless they are a sweep.
fn sweep((dataset, label): &(String, String), runs: &[(&Settings, &Summary)]) -> Vec<Chart> {
    let varied: BTreeSet<&str> = runs
        .iter()
        .flat_map(|(settings, _)| runs[0].0.differences(settings))
        .map(|(key, _, _)| key)
        .filter(|key| *key != "seeds" && *key != "name")
        .collect();
    let keys: Vec<&str> = varied.into_iter().collect();
    let spots = spots(runs, &keys);
    if spots.len() < 3 {
        return Vec::new();
    }
    let seeds = spots[0].1.len();
    let note = format!(
        "Mean over the {seeds} seed{} that all runs have.",
        if seeds == 1 { "" } else { "s" }
    );
    let mut charts = Vec::new();
    for headline in shown() {
        let title = format!("{label} on {dataset}: {}, %", headline.title);
        let chart = match keys[..] {
            [key] if spots.iter().all(|(settings, _)| settings.number(key).is_some()) => {
                curve(title, key, &spots, headline)
            }
            [rows, columns] => map(title, [rows, columns], &spots, headline),
            _ => return Vec::new(),
        };
        charts.push(chart.noted(&note));
    }
    charts
}

/// One setting: mean and standard deviation over seeds at each of its values.
fn curve(title: String, key: &str, spots: &[Spot<'_>], headline: &Headline) -> Chart {
    let mut points: Vec<(f64, Vec<f64>)> = spots
        .iter()
        .filter_map(|(settings, seeds)| Some((settings.number(key)?, pooled(seeds, headline))))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let band = "± one standard deviation over seeds".to_owned();
    let y = format!("{}, %", headline.title);
    let (x, lines) = (key.to_owned(), vec![Line::of(key, points)]);
    Lines { title, x, y, band, lines, mark: None }.chart()
}

/// The pooled values of the seeds that have one.
fn pooled(seeds: &BTreeMap<u64, Scores>, headline: &Headline) -> Vec<f64> {
    seeds.values().filter_map(|scores| scores.get(headline).pooled).collect()
}

/// Two settings, down and across: the mean over seeds for each pair of values.
fn map(title: String, [down, across]: [&str; 2], spots: &[Spot<'_>], headline: &Headline) -> Chart {
    let columns = values(spots, across);
    let mut rows = Vec::new();
    for row in values(spots, down) {
        let numbers = columns
            .iter()
            .map(|column| {
                let here = [(down, &row[..]), (across, &column[..])];
                mean_at(spots, here, headline)
            })
            .collect();
        rows.push((row, numbers));
    }
    Heat { title, x: across.to_owned(), y: down.to_owned(), columns, rows }.chart()
}

/// The mean over seeds at two values of settings; NaN if no run has them.
fn mean_at(spots: &[Spot<'_>], here: [(&str, &str); 2], headline: &Headline) -> f64 {
    let spot = spots
        .iter()
        .find(|(settings, _)| here.iter().all(|(key, wanted)| value(settings, key) == *wanted));
    spot.and_then(|(_, seeds)| mean(&pooled(seeds, headline))).unwrap_or(f64::NAN)
}

/// All values of a setting, numbers first and increasing.
fn values(spots: &[Spot<'_>], key: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for value in spots.iter().map(|(settings, _)| value(settings, key)) {
        if !found.iter().any(|known| known == value) {
            found.push(value.to_owned());
        }
    }
    sort_as_numbers(&mut found);
    found
}

/// The value of a setting as a heading.
fn value<'a>(settings: &'a Settings, key: &str) -> &'a str {
    settings.get(key).unwrap_or("not set")
}
