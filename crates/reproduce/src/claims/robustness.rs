//! Claims about what may change without doing harm.

use super::{Bound, Case, Claim, nonempty};
use crate::Results;
use boostfgl_fairness::mean;

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
fn varied(row: &crate::Row) -> Option<f64> {
    row.varied.values().next()?.parse().ok()
}

/// The mean Overall-F1 over seeds of every variant of a sweep on a dataset; none if one of them
/// lacks a number.
fn means(
    results: &Results,
    sweep: &str,
    dataset: &str,
    keep: impl Fn(&crate::Row) -> bool,
) -> Vec<f64> {
    let rows = || {
        results.rows.iter().filter(|row| row.sweep == sweep && row.dataset == dataset && keep(row))
    };
    let mut variants: Vec<_> = rows().map(|row| &row.varied).collect();
    variants.dedup();
    let mean_of = |variant: &&std::collections::BTreeMap<String, String>| {
        let numbers = rows()
            .filter(|row| row.varied == **variant)
            .map(|row| results.value(row, "overall_f1"));
        mean(&numbers.collect::<Option<Vec<f64>>>()?)
    };
    // A part of the variants would make any plateau broad: all of them, or nothing.
    variants.iter().map(mean_of).collect::<Option<Vec<f64>>>().unwrap_or_default()
}

fn range(results: &Results, sweep: &str, within: fn(f64) -> bool) -> Vec<Case> {
    let case = |dataset: String| {
        let means = means(results, sweep, &dataset, |row| varied(row).is_some_and(within));
        let ends =
            means.iter().copied().reduce(f64::max).zip(means.iter().copied().reduce(f64::min));
        Case {
            name: dataset,
            numbers: ends.map(|(most, least)| most - least).into_iter().collect(),
        }
    };
    nonempty(results.distinct(|row| row.dataset.clone()).into_iter().map(case))
}

fn plateau(results: &Results) -> Vec<Case> {
    let case = |dataset: String| {
        let means = means(results, "heat map", &dataset, |_| true);
        let best = means.iter().copied().reduce(f64::max);
        let share = best.map(|best| {
            means.iter().filter(|m| best - **m <= 1.0).count() as f64 / means.len() as f64
        });
        Case { name: dataset, numbers: share.into_iter().collect() }
    };
    nonempty(results.distinct(|row| row.dataset.clone()).into_iter().map(case))
}

/// Overall-F1 of a method on a dataset under a seed where the varied key has that value.
fn at(results: &Results, method: &str, dataset: &str, seed: u64, value: f64) -> Option<f64> {
    let mut rows =
        results.of_method(method).filter(|row| row.dataset == dataset && row.seed == seed);
    rows.find(|row| varied(row) == Some(value)).and_then(|row| results.value(row, "overall_f1"))
}

fn per_seed(results: &Results, number: impl Fn(&str, u64) -> Option<f64>) -> Vec<Case> {
    let case = |dataset: String| {
        let mut seeds: Vec<u64> =
            results.rows.iter().filter(|row| row.dataset == dataset).map(|row| row.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        Case {
            name: dataset.clone(),
            numbers: seeds.into_iter().filter_map(|seed| number(&dataset, seed)).collect(),
        }
    };
    nonempty(results.distinct(|row| row.dataset.clone()).into_iter().map(case))
}

fn change(results: &Results, method: &str) -> Vec<Case> {
    per_seed(results, |dataset, seed| {
        Some(at(results, method, dataset, seed, 20.0)? - at(results, method, dataset, seed, 3.0)?)
    })
}

fn less_loss(results: &Results) -> Vec<Case> {
    per_seed(results, |dataset, seed| {
        let change = |method| {
            Some(
                at(results, method, dataset, seed, 20.0)?
                    - at(results, method, dataset, seed, 3.0)?,
            )
        };
        Some(change("boostfgl")? - change("fedavg")?)
    })
}

/// Percent of a method's Overall-F1 without noise that is left.
fn left(results: &Results, method: &str, dataset: &str, seed: u64, sigma: f64) -> Option<f64> {
    let without = at(results, method, dataset, seed, 0.0).filter(|f1| *f1 > 0.0)?;
    Some(100.0 * at(results, method, dataset, seed, sigma)? / without)
}

fn keeps_more(results: &Results) -> Vec<Case> {
    per_seed(results, |dataset, seed| {
        let left = |method| left(results, method, dataset, seed, 0.5);
        Some(left("boostfgl")? - left("fedavg")?)
    })
}
