//! Claims about scores, of all nodes and of the disadvantaged ones, and about CPU time.

use super::{Bound, Case, Claim, differences, nonempty, rows_on, value};
use crate::Results;
use boostfgl_fairness::{HEADLINES, mean};

/// What table 1 shows for orientation and the paper does not compare with.
const REFERENCES: [&str; 2] = ["isolated", "central"];

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        experiment: "table1",
        text: "BoostFGL is best or second best in every metric: it minus the second best of the \
            others > 0 (points)",
        paper: "Sec. 5.2, Table 1",
        bound: Bound::Above(0.0),
        measure: over_second,
    },
    Claim {
        experiment: "table1",
        text: "BoostFGL's Overall-F1 is above that of the strongest other method (points; the \
            paper's 8.5 % are relative)",
        paper: "Sec. 5.2, Table 1",
        bound: Bound::Above(0.0),
        measure: |results| over_other(results, "overall_f1", 0),
    },
    Claim {
        experiment: "table1",
        text: "BoostFGL's Hete-min-F1 is above that of the strongest other method (points)",
        paper: "Sec. 5.2, Table 1",
        bound: Bound::Above(0.0),
        measure: |results| over_other(results, "hete_min_f1", 0),
    },
    Claim {
        experiment: "table1",
        text: "BoostFGL's Hete-min-F1 is above FedAvg's (points)",
        paper: "Table 1",
        bound: Bound::Above(0.0),
        measure: |results| {
            differences(results, ("boostfgl", "hete_min_f1"), ("fedavg", "hete_min_f1"))
        },
    },
    Claim {
        experiment: "ablation",
        text: "Taking node boosting away hurts every metric: BoostFGL minus the rest > 0 (points)",
        paper: "Table 2",
        bound: Bound::Above(0.0),
        measure: |results| without(results, "fedavg + topology,model"),
    },
    Claim {
        experiment: "ablation",
        text: "Taking topology boosting away hurts every metric: BoostFGL minus the rest > 0 \
            (points)",
        paper: "Table 2",
        bound: Bound::Above(0.0),
        measure: |results| without(results, "fedavg + node,model"),
    },
    Claim {
        experiment: "ablation",
        text: "Taking model boosting away hurts every metric: BoostFGL minus the rest > 0 (points)",
        paper: "Table 2",
        bound: Bound::Above(0.0),
        measure: |results| without(results, "fedavg + node,topology"),
    },
    Claim {
        experiment: "plug-in",
        text: "Boosts reduce disparities further when stacked on other methods: Hete-min-F1 with \
            minus without > 0 (points)",
        paper: "Introduction; no experiment",
        bound: Bound::Above(0.0),
        measure: stacked,
    },
    Claim {
        experiment: "convergence",
        text: "BoostFGL is higher and faster: its Overall-F1, mean over rounds, minus that of \
            each other method > 0 (points)",
        paper: "Sec. 5.4",
        bound: Bound::Above(0.0),
        measure: faster,
    },
    Claim {
        experiment: "runtime",
        text: "BoostFGL stays close to lightweight methods: below twice FedAvg's processor time \
            (bound ours)",
        paper: "Sec. 5.5",
        bound: Bound::Below(2.0),
        measure: |results| time_ratio(results, &["fedavg"]),
    },
    Claim {
        experiment: "runtime",
        text: "BoostFGL is markedly faster than heavier methods: below half the time (FedSage+, \
            FedTAD, AdaFGL: our reading)",
        paper: "Sec. 5.5",
        bound: Bound::Below(0.5),
        measure: |results| time_ratio(results, &["fedsage-plus", "fedtad", "adafgl"]),
    },
];

fn datasets(results: &Results) -> Vec<String> {
    results.distinct(|row| row.dataset.clone())
}

/// The seeds of BoostFGL on a dataset.
fn seeds(results: &Results, dataset: &str) -> Vec<u64> {
    rows_on(results, "boostfgl", dataset).map(|row| row.seed).collect()
}

/// BoostFGL minus the second best of the other methods, in every metric: above 0 it is best or
/// second best.
fn over_second(results: &Results) -> Vec<Case> {
    let mut cases = Vec::new();
    for metric in HEADLINES.iter().map(|headline| headline.key) {
        for case in over_other(results, metric, 1) {
            cases.push(Case { name: format!("{metric} on {}", case.name), ..case });
        }
    }
    cases
}

/// BoostFGL minus the other method that comes at `place` by its mean over seeds, seed by seed.
fn over_other(results: &Results, metric: &str, place: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for dataset in datasets(results) {
        let ranked = others_by_mean(results, &dataset, metric);
        let Some(other) = ranked.get(place) else { continue };
        let numbers = seeds(results, &dataset).into_iter().filter_map(|seed| {
            let own = value(results, "boostfgl", &dataset, seed, metric)?;
            Some(own - value(results, other, &dataset, seed, metric)?)
        });
        let numbers = numbers.collect();
        cases.push(Case { name: format!("{dataset} (over {other})"), numbers });
    }
    nonempty(cases.into_iter())
}

/// The methods that BoostFGL is compared with, by their mean over its seeds, the best first.
fn others_by_mean(results: &Results, dataset: &str, metric: &str) -> Vec<String> {
    let seeds = seeds(results, dataset);
    let mut others: Vec<(f64, String)> = Vec::new();
    for method in results.distinct(|row| row.method.clone()) {
        if method == "boostfgl" || REFERENCES.contains(&method.as_str()) {
            continue;
        }
        let numbers: Vec<f64> = seeds
            .iter()
            .filter_map(|seed| value(results, &method, dataset, *seed, metric))
            .collect();
        others.extend(mean(&numbers).map(|mean| (mean, method)));
    }
    // A stable sort: of equal means the method that was named first.
    others.sort_by(|a, b| b.0.total_cmp(&a.0));
    others.into_iter().map(|(_, method)| method).collect()
}

/// BoostFGL minus a variant, in every metric.
fn without(results: &Results, variant: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    for metric in HEADLINES.iter().map(|headline| headline.key) {
        for case in differences(results, ("boostfgl", metric), (variant, metric)) {
            cases.push(Case { name: format!("{} {metric}", case.name), ..case });
        }
    }
    cases
}

/// Each method with all boosts minus without.
fn stacked(results: &Results) -> Vec<Case> {
    let mut methods = results.distinct(|row| row.method.clone());
    methods.retain(|method| !method.contains('+'));
    let mut cases = Vec::new();
    for method in methods {
        let boosted = format!("{method} + all");
        for case in differences(results, (&boosted, "hete_min_f1"), (&method, "hete_min_f1")) {
            cases.push(Case { name: format!("{method} on {}", case.name), ..case });
        }
    }
    cases
}

/// The mean over rounds of BoostFGL's curve minus that of each other method, seed by seed.
fn faster(results: &Results) -> Vec<Case> {
    let mut others = results.distinct(|row| row.method.clone());
    others.retain(|method| method != "boostfgl");
    let mut cases = Vec::new();
    for dataset in datasets(results) {
        for other in &others {
            let numbers = seeds(results, &dataset).into_iter().filter_map(|seed| {
                let own = mean_over_rounds(results, "boostfgl", &dataset, seed)?;
                Some(own - mean_over_rounds(results, other, &dataset, seed)?)
            });
            let numbers = numbers.collect();
            cases.push(Case { name: format!("{dataset}, over {other}"), numbers });
        }
    }
    nonempty(cases.into_iter())
}

/// The mean over rounds of a method's Overall-F1.
fn mean_over_rounds(results: &Results, method: &str, dataset: &str, seed: u64) -> Option<f64> {
    let row = rows_on(results, method, dataset).find(|row| row.seed == seed)?;
    let curve: Vec<f64> = row.series.get("overall_f1")?.iter().flatten().copied().collect();
    mean(&curve)
}

/// BoostFGL's CPU time over that of other methods, seed by seed.
fn time_ratio(results: &Results, others: &[&str]) -> Vec<Case> {
    // A first look cuts AdaFGL's training short, so its time is not comparable.
    let mut others = others.to_vec();
    others.retain(|other| !results.origin.quick || *other != "adafgl");
    let mut cases = Vec::new();
    for dataset in datasets(results) {
        for other in &others {
            let numbers = seeds(results, &dataset).into_iter().filter_map(|seed| {
                let own = cpu_seconds(results, "boostfgl", &dataset, seed)?;
                Some(own / cpu_seconds(results, other, &dataset, seed)?)
            });
            let numbers = numbers.collect();
            let name = match others[..] {
                [_] => dataset.clone(),
                _ => format!("{dataset}, {other}"),
            };
            cases.push(Case { name, numbers });
        }
    }
    nonempty(cases.into_iter())
}

/// The CPU time of a method; `None` if it was not measured.
fn cpu_seconds(results: &Results, method: &str, dataset: &str, seed: u64) -> Option<f64> {
    value(results, method, dataset, seed, "cpu_seconds").filter(|seconds| *seconds > 0.0)
}
