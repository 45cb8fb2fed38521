//! Claims about gradients: label skew on the client.

use super::{Bound, Case, Claim, differences, nonempty, of_method};
use crate::reproduce::Results;
use crate::reproduce::distil::RATIOS;

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        experiment: "gsd",
        text: "Under FedAvg, minority nodes get less gradient per node than majority nodes: GSD < 1",
        paper: "Sec. 3.1, Fig. 1",
        bound: Bound::Below(1.0),
        measure: |results| of_method(results, "fedavg", "gsd.mean"),
    },
    Claim {
        experiment: "gsd-q",
        text: "GSD < 1 in the last round of FedAvg for every minority ratio q from 0.1 to 0.9 (shown: the largest)",
        paper: "App. B.2",
        bound: Bound::Below(1.0),
        measure: largest_ratio,
    },
    Claim {
        experiment: "gsd",
        text: "Node boosting raises GSD: that of FedAvg + node with α minus that of FedAvg > 0",
        paper: "Lemma 1",
        bound: Bound::Above(0.0),
        measure: |results| differences(results, ("fedavg + node", "gsd.boosted.mean"), ("fedavg", "gsd.mean")),
    },
    Claim {
        experiment: "gsd",
        text: "BoostFGL brings GSD closer to 1: |GSD − 1| of BoostFGL minus that of FedAvg < 0",
        paper: "Sec. 3.4",
        bound: Bound::Below(0.0),
        measure: distance_from_parity,
    },
    Claim {
        experiment: "attribution",
        text: "Under FedAvg the minority's share of the decrease of the loss is below its share of the nodes (points)",
        paper: "App. B.2",
        bound: Bound::Below(0.0),
        measure: |results| of_method(results, "fedavg", "excess"),
    },
    Claim {
        experiment: "attribution",
        text: "BoostFGL raises the minority's share of the decrease over FedAvg's (points)",
        paper: "App. B.2",
        bound: Bound::Above(0.0),
        measure: |results| differences(results, ("boostfgl", "share_of_decrease"), ("fedavg", "share_of_decrease")),
    },
    Claim {
        experiment: "hardness",
        text: "Under FedAvg harder clients have lower GSD: correlation over clients < 0",
        paper: "App. B.3",
        bound: Bound::Below(0.0),
        measure: |results| of_method(results, "fedavg", "correlation"),
    },
    Claim {
        experiment: "hardness",
        text: "BoostFGL makes GSD more alike over clients: its spread minus FedAvg's < 0",
        paper: "App. B.3",
        bound: Bound::Below(0.0),
        measure: |results| differences(results, ("boostfgl", "gsd.boosted.spread"), ("fedavg", "gsd.boosted.spread")),
    },
];

fn largest_ratio(results: &Results) -> Vec<Case> {
    let case = |dataset: String| {
        let rows = results.of_method("fedavg").filter(|row| row.dataset == dataset);
        let largest = rows.filter_map(|row| {
            let ratios = RATIOS.iter().filter_map(|q| results.value(row, &format!("gsd.q{q}")));
            ratios.reduce(f64::max)
        });
        Case { name: dataset.clone(), numbers: largest.collect() }
    };
    nonempty(results.distinct(|row| row.dataset.clone()).into_iter().map(case))
}

fn distance_from_parity(results: &Results) -> Vec<Case> {
    let case = |dataset: String| {
        let of = |method: &'static str, column: &'static str, seed: u64| {
            let mut rows = results.of_method(method).filter(|row| row.dataset == dataset && row.seed == seed);
            rows.next().and_then(|row| results.value(row, column)).map(|gsd| (gsd - 1.0).abs())
        };
        let seeds = results.of_method("boostfgl").filter(|row| row.dataset == dataset).map(|row| row.seed);
        let numbers =
            seeds.filter_map(|seed| Some(of("boostfgl", "gsd.boosted.mean", seed)? - of("fedavg", "gsd.mean", seed)?));
        Case { name: dataset.clone(), numbers: numbers.collect() }
    };
    nonempty(results.distinct(|row| row.dataset.clone()).into_iter().map(case))
}
