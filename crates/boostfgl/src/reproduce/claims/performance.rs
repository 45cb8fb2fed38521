//! Claims about how well it works, for whom, and how fast.

use super::{Bound, Case, Claim, differences, nonempty};
use crate::reproduce::Results;
use boostfgl_fairness::mean;

/// The four headline metrics.
const METRICS: [&str; 4] = ["accuracy", "overall_f1", "hete_f1", "hete_min_f1"];

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        experiment: "table1",
        text: "BoostFGL is best or second best of the nine methods in every metric: worst rank over the four < 2.5",
        paper: "Sec. 5.2, Table 1",
        bound: Bound::Below(2.5),
        measure: worst_rank,
    },
    Claim {
        experiment: "table1",
        text: "BoostFGL's Overall-F1 is above that of the strongest other method (points; the paper: 8.43 %)",
        paper: "Abstract, Table 1",
        bound: Bound::Above(0.0),
        measure: |results| over_strongest(results, "overall_f1"),
    },
    Claim {
        experiment: "table1",
        text: "BoostFGL's Hete-min-F1 is above that of the strongest other method (points)",
        paper: "Sec. 5.2, Table 1",
        bound: Bound::Above(0.0),
        measure: |results| over_strongest(results, "hete_min_f1"),
    },
    Claim {
        experiment: "table1",
        text: "BoostFGL's Hete-min-F1 is above FedAvg's (points)",
        paper: "Table 1",
        bound: Bound::Above(0.0),
        measure: |results| differences(results, ("boostfgl", "hete_min_f1"), ("fedavg", "hete_min_f1")),
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
        text: "Taking topology boosting away hurts every metric: BoostFGL minus the rest > 0 (points)",
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
        text: "The boosts raise the Hete-min-F1 of any method they are stacked on (points)",
        paper: "Introduction",
        bound: Bound::Above(0.0),
        measure: stacked,
    },
    Claim {
        experiment: "convergence",
        text: "BoostFGL converges faster: its Overall-F1, mean over rounds, minus that of each other method > 0 (points)",
        paper: "Sec. 5.4",
        bound: Bound::Above(0.0),
        measure: faster,
    },
    Claim {
        experiment: "runtime",
        text: "BoostFGL stays close to lightweight methods: at most twice FedAvg's processor time",
        paper: "Sec. 5.5",
        bound: Bound::Below(2.0),
        measure: |results| time_ratio(results, &["fedavg"]),
    },
    Claim {
        experiment: "runtime",
        text: "BoostFGL is markedly faster than heavier methods: below half the time of FedSage+, FedTAD and AdaFGL each",
        paper: "Sec. 5.5",
        bound: Bound::Below(0.5),
        measure: |results| time_ratio(results, &["fedsage-plus", "fedtad", "adafgl"]),
    },
];

fn datasets(results: &Results) -> Vec<String> {
    results.distinct(|row| row.dataset.clone())
}

fn value(results: &Results, method: &str, dataset: &str, seed: u64, column: &str) -> Option<f64> {
    let mut rows = results.of_method(method).filter(|row| row.dataset == dataset && row.seed == seed);
    rows.next().and_then(|row| results.value(row, column))
}

fn seeds(results: &Results, dataset: &str) -> Vec<u64> {
    results.of_method("boostfgl").filter(|row| row.dataset == dataset).map(|row| row.seed).collect()
}

/// One plus the number of methods that are better, in the metric where there are most of them, seed by seed.
fn worst_rank(results: &Results) -> Vec<Case> {
    let methods = results.distinct(|row| row.method.clone());
    let case = |dataset: String| {
        let rank = |seed: u64, metric: &str| {
            let own = value(results, "boostfgl", &dataset, seed, metric)?;
            let others = methods.iter().filter_map(|method| value(results, method, &dataset, seed, metric));
            Some(1 + others.filter(|other| *other > own).count())
        };
        let worst = |seed| METRICS.iter().filter_map(|metric| rank(seed, metric)).max();
        let numbers = seeds(results, &dataset).into_iter().filter_map(worst).map(|rank| rank as f64).collect();
        Case { name: dataset.clone(), numbers }
    };
    nonempty(datasets(results).into_iter().map(case))
}

/// BoostFGL minus the method with the best mean among the others, seed by seed.
fn over_strongest(results: &Results, metric: &str) -> Vec<Case> {
    let case = |dataset: String| {
        let over_seeds = |method: &String| {
            let numbers =
                seeds(results, &dataset).into_iter().filter_map(|s| value(results, method, &dataset, s, metric));
            mean(&numbers.collect::<Vec<f64>>())
        };
        let others = results.distinct(|row| row.method.clone()).into_iter().filter(|method| method != "boostfgl");
        let strongest = others.filter_map(|method| Some((over_seeds(&method)?, method)));
        let Some((_, strongest)) = strongest.reduce(|best, next| if next.0 > best.0 { next } else { best }) else {
            return Case { name: dataset, numbers: Vec::new() };
        };
        let difference = |seed: u64| {
            Some(
                value(results, "boostfgl", &dataset, seed, metric)?
                    - value(results, &strongest, &dataset, seed, metric)?,
            )
        };
        let numbers = seeds(results, &dataset).into_iter().filter_map(difference).collect();
        Case { name: format!("{dataset} (over {strongest})"), numbers }
    };
    nonempty(datasets(results).into_iter().map(case))
}

/// BoostFGL minus a variant, in every metric.
fn without(results: &Results, variant: &str) -> Vec<Case> {
    let of = |metric: &&'static str| {
        let cases = differences(results, ("boostfgl", metric), (variant, metric)).into_iter();
        cases.map(|case| Case { name: format!("{} {metric}", case.name), ..case }).collect::<Vec<_>>()
    };
    METRICS.iter().flat_map(of).collect()
}

/// Each method with all boosts minus without.
fn stacked(results: &Results) -> Vec<Case> {
    let boosted = |method: &String| match method.as_str() {
        "fedavg" => "fedavg + all".to_owned(),
        other => format!("{other} + all"),
    };
    let plain = results.distinct(|row| row.method.clone()).into_iter().filter(|method| !method.contains('+'));
    let of = |method: String| {
        let cases = differences(results, (&boosted(&method), "hete_min_f1"), (&method, "hete_min_f1")).into_iter();
        cases.map(move |case| Case { name: format!("{method} on {}", case.name), ..case }).collect::<Vec<_>>()
    };
    plain.flat_map(of).collect()
}

/// The mean over rounds of BoostFGL's curve minus that of each other method, seed by seed.
fn faster(results: &Results) -> Vec<Case> {
    let curve = |method: &str, seed: u64| {
        let row = results.of_method(method).find(|row| row.seed == seed)?;
        mean(&row.series.get("overall_f1")?.iter().flatten().copied().collect::<Vec<_>>())
    };
    let others = results.distinct(|row| row.method.clone()).into_iter().filter(|method| method != "boostfgl");
    let case = |method: String| {
        let seeds = results.of_method("boostfgl").map(|row| row.seed);
        let numbers = seeds.filter_map(|seed| Some(curve("boostfgl", seed)? - curve(&method, seed)?)).collect();
        Case { name: format!("over {method}"), numbers }
    };
    nonempty(others.map(case))
}

/// BoostFGL's processor time over that of other methods, seed by seed.
fn time_ratio(results: &Results, others: &[&str]) -> Vec<Case> {
    let case = |(dataset, other): (String, &str)| {
        let ratio = |seed: u64| {
            let of = |method: &str| value(results, method, &dataset, seed, "cpu_seconds").filter(|s| *s > 0.0);
            Some(of("boostfgl")? / of(other)?)
        };
        let numbers = seeds(results, &dataset).into_iter().filter_map(ratio).collect();
        Case { name: if others.len() == 1 { dataset } else { format!("{dataset}, {other}") }, numbers }
    };
    let pairs =
        datasets(results).into_iter().flat_map(|dataset| others.iter().map(move |other| (dataset.clone(), *other)));
    nonempty(pairs.map(case))
}
