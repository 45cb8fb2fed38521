//! What was varied in a comparison: a curve per method over one key, a heat map per method over two.

use crate::Comparison;
use crate::chart::{Chart, Heat, Levels};
use crate::comparison::Spot;
use crate::figure::sort_as_numbers;
use boostfgl_fairness::{HEADLINES, Headline, mean};

/// The metrics that are shown, one chart each.
fn shown() -> [&'static Headline; 3] {
    [&HEADLINES.accuracy, &HEADLINES.overall_f1, &HEADLINES.hete_min_f1]
}

/// The charts of a comparison; empty unless one or two keys were varied.
pub(super) fn charts(comparison: &Comparison) -> Vec<Chart> {
    let spots = comparison.spots();
    let datasets = distinct(spots.iter().map(|spot| spot.dataset));
    let mut charts = Vec::new();
    for dataset in datasets {
        let here: Vec<&Spot<'_>> = spots.iter().filter(|spot| spot.dataset == dataset).collect();
        for headline in shown() {
            match &comparison.varied.keys[..] {
                [key] => charts.push(curves(&here, dataset, key, headline)),
                [down, across] => charts.extend(maps(&here, dataset, [down, across], headline)),
                _ => {}
            }
        }
    }
    charts
}

/// The texts once each, in order of appearance.
fn distinct<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    for text in texts {
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

/// The values of a key that was varied: numbers increasing, words as they were given.
fn levels(spots: &[&Spot<'_>], key: &str) -> Vec<String> {
    let values = distinct(spots.iter().map(|spot| spot.value(key)).filter(|v| !v.is_empty()));
    let mut values: Vec<String> = values.into_iter().map(str::to_owned).collect();
    if are_numbers(&values) {
        sort_as_numbers(&mut values);
    }
    values
}

fn are_numbers(values: &[String]) -> bool {
    values.iter().all(|value| value.parse::<f64>().is_ok())
}

/// One curve per method over the values of a key.
fn curves(spots: &[&Spot<'_>], dataset: &str, key: &str, headline: &Headline) -> Chart {
    let levels = levels(spots, key);
    let methods = distinct(spots.iter().map(|spot| &spot.method[..]));
    let mut curves = Vec::new();
    for method in methods {
        let own: Vec<&&Spot<'_>> = spots.iter().filter(|spot| spot.method == method).collect();
        let at_levels = levels.iter().map(|level| at(&own, &[(key, level)], headline)).collect();
        curves.push((method.to_owned(), at_levels));
    }
    let seeds = spots.iter().map(|spot| spot.row.cells.len()).max().unwrap_or(0);
    let band = match seeds {
        0 | 1 => String::new(),
        seeds => format!("± one standard deviation over {seeds} seeds"),
    };
    let title = format!("{dataset}: {} over {key}", headline.title);
    let y = format!("{}, %", headline.title);
    let ordered = are_numbers(&levels);
    Levels { title, x: key.to_owned(), y, band, levels, ordered, curves }.chart()
}

/// One heat map per method over the values of two keys.
fn maps(
    spots: &[&Spot<'_>],
    dataset: &str,
    [down, across]: [&str; 2],
    headline: &Headline,
) -> Vec<Chart> {
    let (rows, columns) = (levels(spots, down), levels(spots, across));
    let methods = distinct(spots.iter().map(|spot| &spot.method[..]));
    let mut charts = Vec::new();
    for method in methods {
        let own: Vec<&&Spot<'_>> = spots.iter().filter(|spot| spot.method == method).collect();
        let mut numbers = Vec::new();
        for row in &rows {
            let means = columns.iter().map(|column| {
                let values = at(&own, &[(down, row), (across, column)], headline);
                mean(&values).unwrap_or(f64::NAN)
            });
            numbers.push((row.clone(), means.collect()));
        }
        let title = format!("{method} on {dataset}: {}, %", headline.title);
        let (x, y) = (across.to_owned(), down.to_owned());
        let chart = Heat { title, x, y, columns: columns.clone(), rows: numbers }.chart();
        charts.push(chart.noted("Mean over the seeds."));
    }
    charts
}

/// The values over seeds at these values of keys. A key without an effect on the method fits any.
fn at(own: &[&&Spot<'_>], wanted: &[(&str, &str)], headline: &Headline) -> Vec<f64> {
    let fits = |spot: &&&&Spot<'_>| {
        wanted.iter().all(|(key, value)| [value, ""].contains(&spot.value(key)))
    };
    let Some(spot) = own.iter().find(fits) else { return Vec::new() };
    let measured = spot.row.cells.iter().filter_map(|cell| cell.measured());
    measured.filter_map(|measured| measured.scores.0.get(headline).pooled).collect()
}
