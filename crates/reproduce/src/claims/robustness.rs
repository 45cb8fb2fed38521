//! Claims about settings, numbers of clients and noise that do little harm.

use super::{Bound, Case, Claim, by_dataset, rows_on};
use crate::{Results, Row};
use boostfgl_fairness::mean;
use std::collections::BTreeMap;

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        experiment: "sensitivity",
        text: "Node-boosting strengths up to 1 change Overall-F1 only modestly: largest minus \
            smallest mean < 2 points (bound ours)",
        paper: "Sec. 5.4",
        bound: Bound::Below(2.0),
        measure: |results| range(results, "lambda_n", |value| value <= 1.0),
    },
    Claim {
        experiment: "sensitivity",
        text: "The heat map of τ and edge budget has a broad plateau: over half its cells are \
            within 1 point of the best (share)",
        paper: "Sec. 5.4",
        bound: Bound::Above(0.5),
        measure: plateau,
    },
    Claim {
        experiment: "clients",
        text: "BoostFGL is stable as clients increase: it loses less than 3 points from 3 to 20 \
            (change; bound and range ours)",
        paper: "Sec. 5.5",
        bound: Bound::Above(-3.0),
        measure: |results| change(results, "boostfgl"),
    },
    Claim {
        experiment: "clients",
        text: "BoostFGL is more stable than FedAvg from 3 to 20 clients: difference of the \
            changes > 0 (points)",
        paper: "ours, after Sec. 5.5",
        bound: Bound::Above(0.0),
        measure: less_loss,
    },
    Claim {
        experiment: "privacy",
        text: "BoostFGL withstands noise in propagation: at σ = 0.5 over 95 % of its Overall-F1 \
            is left (level and bound ours)",
        paper: "Sec. 5.6",
        bound: Bound::Above(95.0),
        measure: |results| {
            per_seed(results, |dataset, seed| left(results, "boostfgl", dataset, seed, 0.5))
        },
    },
    Claim {
        experiment: "privacy",
        text: "BoostFGL withstands noise better than FedAvg: percent of Overall-F1 left at σ = \
            0.5, difference > 0",
        paper: "ours, after Sec. 5.6",
        bound: Bound::Above(0.0),
        measure: keeps_more,
    },
];

/// The varied value of a row of a one-dimensional sweep.
fn varied(row: &Row) -> Option<f64> {
    row.varied.values().next()?.parse().ok()
}

/// The mean Overall-F1 over seeds of every variant of a sweep on a dataset; none if one of them
/// lacks a number.
fn means(results: &Results, sweep: &str, dataset: &str, keep: impl Fn(&Row) -> bool) -> Vec<f64> {
    let rows: Vec<&Row> = results
        .rows
        .iter()
        .filter(|row| row.sweep == sweep && row.dataset == dataset && keep(row))
        .collect();
    let mut variants: Vec<_> = rows.iter().map(|row| &row.varied).collect();
    variants.dedup();
    // All variants or none: a plateau over some of them would appear too broad.
    variants
        .into_iter()
        .map(|variant| mean_of_variant(results, &rows, variant))
        .collect::<Option<Vec<f64>>>()
        .unwrap_or_default()
}

/// The mean Overall-F1 of one variant; `None` if a seed lacks a number.
fn mean_of_variant(
    results: &Results,
    rows: &[&Row],
    variant: &BTreeMap<String, String>,
) -> Option<f64> {
    let rows = rows.iter().filter(|row| row.varied == *variant);
    mean(&rows.map(|row| results.value(row, "overall_f1")).collect::<Option<Vec<f64>>>()?)
}

/// The largest mean over the variants of a sweep minus the smallest.
fn range(results: &Results, sweep: &str, within: fn(f64) -> bool) -> Vec<Case> {
    by_dataset(results, |dataset| {
        let means = means(results, sweep, dataset, |row| varied(row).is_some_and(within));
        let most = means.iter().copied().reduce(f64::max);
        let least = means.iter().copied().reduce(f64::min);
        most.zip(least).map(|(most, least)| most - least).into_iter().collect()
    })
}

/// The share of the heat map's cells within 1 point of the best.
fn plateau(results: &Results) -> Vec<Case> {
    by_dataset(results, |dataset| {
        let means = means(results, "heat map", dataset, |_| true);
        let Some(best) = means.iter().copied().reduce(f64::max) else { return Vec::new() };
        vec![means.iter().filter(|m| best - **m <= 1.0).count() as f64 / means.len() as f64]
    })
}

/// Overall-F1 of a method on a dataset under a seed where the varied key has that value.
fn at(results: &Results, method: &str, dataset: &str, seed: u64, value: f64) -> Option<f64> {
    let row = rows_on(results, method, dataset)
        .find(|row| row.seed == seed && varied(row) == Some(value))?;
    results.value(row, "overall_f1")
}

/// A number for every dataset and seed.
fn per_seed(results: &Results, number: impl Fn(&str, u64) -> Option<f64>) -> Vec<Case> {
    by_dataset(results, |dataset| {
        let mut seeds: Vec<u64> =
            results.rows.iter().filter(|row| row.dataset == dataset).map(|row| row.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        seeds.into_iter().filter_map(|seed| number(dataset, seed)).collect()
    })
}

/// What a method gains from 3 to 20 clients, on each dataset.
fn change(results: &Results, method: &str) -> Vec<Case> {
    per_seed(results, |dataset, seed| change_under(results, method, dataset, seed))
}

/// What BoostFGL gains from 3 to 20 clients minus what FedAvg does.
fn less_loss(results: &Results) -> Vec<Case> {
    per_seed(results, |dataset, seed| {
        let own = change_under(results, "boostfgl", dataset, seed)?;
        Some(own - change_under(results, "fedavg", dataset, seed)?)
    })
}

/// What a method gains from 3 to 20 clients under one seed, in points of Overall-F1.
fn change_under(results: &Results, method: &str, dataset: &str, seed: u64) -> Option<f64> {
    Some(at(results, method, dataset, seed, 20.0)? - at(results, method, dataset, seed, 3.0)?)
}

/// Percent of a method's Overall-F1 without noise that is left.
fn left(results: &Results, method: &str, dataset: &str, seed: u64, sigma: f64) -> Option<f64> {
    let without = at(results, method, dataset, seed, 0.0).filter(|f1| *f1 > 0.0)?;
    Some(100.0 * at(results, method, dataset, seed, sigma)? / without)
}

/// Percent left of BoostFGL minus percent left of FedAvg, at σ = 0.5.
fn keeps_more(results: &Results) -> Vec<Case> {
    per_seed(results, |dataset, seed| {
        let own = left(results, "boostfgl", dataset, seed, 0.5)?;
        Some(own - left(results, "fedavg", dataset, seed, 0.5)?)
    })
}
