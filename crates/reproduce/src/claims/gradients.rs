//! Claims about gradients: label skew on the client.

use super::{Bound, Case, Claim, by_dataset, differences, of_method, rows_on, value};
use crate::{Results, Row};
use boostfgl_report::RATIOS;

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        experiment: "gsd",
        text: "Under FedAvg, minority nodes get less gradient per node than majority nodes: GSD < \
            1",
        paper: "Sec. 3.1, Fig. 1",
        bound: Bound::Below(1.0),
        measure: |results| of_method(results, "fedavg", "gsd.mean"),
    },
    Claim {
        experiment: "gsd-q",
        text: "GSD < 1 in the last round of FedAvg over a wide range of minority ratios: for over \
            half of q = 0.1 … 0.9 (share)",
        paper: "App. B.2",
        bound: Bound::Above(0.5),
        measure: share_below_parity,
    },
    Claim {
        experiment: "gsd",
        text: "Node weights raise GSD: with α minus without, of the same gradients of FedAvg + \
            node > 0",
        paper: "Lemma 3.1",
        bound: Bound::Above(0.0),
        measure: |results| {
            differences(
                results,
                ("fedavg + node", "gsd.boosted.mean"),
                ("fedavg + node", "gsd.mean"),
            )
        },
    },
    Claim {
        experiment: "gsd",
        text: "Node boosting raises GSD along training: FedAvg + node with α minus FedAvg > 0",
        paper: "Sec. 3.4",
        bound: Bound::Above(0.0),
        measure: |results| {
            differences(results, ("fedavg + node", "gsd.boosted.mean"), ("fedavg", "gsd.mean"))
        },
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
        text: "Under FedAvg the minority's share of the decrease of the loss is below its share \
            of the nodes (points)",
        paper: "App. B.2",
        bound: Bound::Below(0.0),
        measure: |results| of_method(results, "fedavg", "excess"),
    },
    Claim {
        experiment: "attribution",
        text: "BoostFGL raises the minority's share of the decrease over FedAvg's (points)",
        paper: "Fig. \"Loss-reduction attribution\"",
        bound: Bound::Above(0.0),
        measure: |results| {
            differences(results, ("boostfgl", "share_of_decrease"), ("fedavg", "share_of_decrease"))
        },
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
        text: "BoostFGL lowers the level of GSD on clients: mean over them minus FedAvg's < 0 \
            (against Lemma 3.1)",
        paper: "App. B.3",
        bound: Bound::Below(0.0),
        measure: |results| {
            differences(results, ("boostfgl", "gsd.boosted.mean"), ("fedavg", "gsd.boosted.mean"))
        },
    },
    Claim {
        experiment: "hardness",
        text: "BoostFGL makes GSD more alike over clients: its spread minus FedAvg's < 0",
        paper: "App. B.3",
        bound: Bound::Below(0.0),
        measure: |results| {
            differences(
                results,
                ("boostfgl", "gsd.boosted.spread"),
                ("fedavg", "gsd.boosted.spread"),
            )
        },
    },
];

/// The share of minority ratios at which GSD of FedAvg is below 1, seed by seed.
fn share_below_parity(results: &Results) -> Vec<Case> {
    by_dataset(results, |dataset| {
        rows_on(results, "fedavg", dataset)
            .filter_map(|row| ratios_below_one(results, row))
            .collect()
    })
}

/// The share of the minority ratios with a GSD at which it is below 1; `None` if none has one.
fn ratios_below_one(results: &Results, row: &Row) -> Option<f64> {
    let ratios: Vec<f64> =
        RATIOS.iter().filter_map(|q| results.value(row, &format!("gsd.q{q}"))).collect();
    let below = ratios.iter().filter(|gsd| **gsd < 1.0).count();
    (!ratios.is_empty()).then(|| below as f64 / ratios.len() as f64)
}

/// |GSD − 1| of BoostFGL minus that of FedAvg, seed by seed.
fn distance_from_parity(results: &Results) -> Vec<Case> {
    by_dataset(results, |dataset| {
        let seeds = rows_on(results, "boostfgl", dataset).map(|row| row.seed);
        seeds
            .filter_map(|seed| {
                let boosted = value(results, "boostfgl", dataset, seed, "gsd.boosted.mean")?;
                let plain = value(results, "fedavg", dataset, seed, "gsd.mean")?;
                Some((boosted - 1.0).abs() - (plain - 1.0).abs())
            })
            .collect()
    })
}
