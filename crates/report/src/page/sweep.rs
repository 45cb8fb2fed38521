//! Runs that differ in one or two settings: a curve or a heat map.

use crate::chart::{Chart, Heat, Line, Lines};
use crate::{RunView, Settings, Summary};
use boostfgl_fairness::{HEADLINES, Headline, Scores, mean};
use std::collections::{BTreeMap, BTreeSet};

/// The metrics of a sweep: a chart each.
fn shown() -> [&'static Headline; 3] {
    [&HEADLINES.accuracy, &HEADLINES.overall_f1, &HEADLINES.hete_min_f1]
}

/// The sweeps among some runs: same dataset and method, at least three runs, one or two settings
/// that vary.
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
        .flat_map(|(of, runs)| sweep(&of, &runs))
        .collect()
}

/// A setting of the varied keys, with the scores that its runs have under each seed.
type Spot<'a> = (&'a Settings, BTreeMap<u64, Scores>);

/// Runs of the same settings together, on the seeds that all settings have.
fn spots<'a>(runs: &[(&'a Settings, &Summary)], keys: &[&str]) -> Vec<Spot<'a>> {
    let mut spots: Vec<Spot<'a>> = Vec::new();
    for (settings, summary) in runs {
        let same =
            |spot: &&mut Spot<'a>| keys.iter().all(|key| spot.0.get(key) == settings.get(key));
        let scores = summary.seeds.iter().map(|seed| (seed.seed, seed.scores.0));
        match spots.iter_mut().find(same) {
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

fn sweep((dataset, label): &(String, String), runs: &[(&Settings, &Summary)]) -> Vec<Chart> {
    let varied: BTreeSet<&str> = runs
        .iter()
        .flat_map(|(settings, _)| runs[0].0.differences(settings))
        .map(|(key, _, _)| key)
        .filter(|key| *key != "seeds" && *key != "name")
        .collect();
    let title = |headline: &Headline| format!("{label} on {dataset}: {}, %", headline.title);
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
    let charts = match keys[..] {
        [key] if spots.iter().all(|(settings, _)| settings.number(key).is_some()) => {
            shown().map(|headline| curve(title(headline), key, &spots, headline)).to_vec()
        }
        [rows, columns] => {
            shown().map(|headline| map(title(headline), [rows, columns], &spots, headline)).to_vec()
        }
        _ => Vec::new(),
    };
    charts.into_iter().map(|chart| chart.noted(&note)).collect()
}

/// One setting: mean and spread over seeds at each of its values.
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

/// Two settings: the mean over seeds for each pair of values.
fn map(title: String, keys: [&str; 2], spots: &[Spot<'_>], headline: &Headline) -> Chart {
    let values = |key: &str| -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for value in spots.iter().map(|(settings, _)| settings.get(key).unwrap_or("not set")) {
            if !found.iter().any(|known| known == value) {
                found.push(value.to_owned());
            }
        }
        let number = |text: &String| text.parse::<f64>().unwrap_or(f64::INFINITY);
        found.sort_by(|a, b| number(a).total_cmp(&number(b)).then_with(|| a.cmp(b)));
        found
    };
    let cell = |row: &str, column: &str| {
        let at = |settings: &Settings, key: &str, wanted: &str| {
            settings.get(key).unwrap_or("not set") == wanted
        };
        let found = spots
            .iter()
            .find(|(settings, _)| at(settings, keys[0], row) && at(settings, keys[1], column));
        found.and_then(|(_, seeds)| mean(&pooled(seeds, headline))).unwrap_or(f64::NAN)
    };
    let columns = values(keys[1]);
    let row = |row: String| {
        let numbers = columns.iter().map(|column| cell(&row, column)).collect();
        (row, numbers)
    };
    let rows = values(keys[0]).into_iter().map(row).collect();
    Heat { title, x: keys[1].to_owned(), y: keys[0].to_owned(), columns: columns.clone(), rows }
        .chart()
}
