//! Claims about messages: topology confounding.

use super::{Bound, Case, Claim, differences, of_method};
use crate::Results;
use boostfgl_fairness::mean;

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        experiment: "epr",
        text: "Under FedAvg minority nodes receive a larger share of harmful messages than \
            majority nodes (points)",
        paper: "Sec. 3.2, App. B.4",
        bound: Bound::Above(0.0),
        measure: |results| of_method(results, "fedavg", "gap.minority"),
    },
    Claim {
        experiment: "epr",
        text: "Under FedAvg heterophilous nodes receive a larger share of harmful messages than \
            the others (points)",
        paper: "Sec. 3.2, App. B.4",
        bound: Bound::Above(0.0),
        measure: |results| of_method(results, "fedavg", "gap.heterophilous"),
    },
    Claim {
        experiment: "epr",
        text: "Topology boosting suppresses harmful messages: their share under FedAvg + topology \
            minus FedAvg < 0 (points)",
        paper: "after Theorem 3.2, which assumes scores that rise with reliability",
        bound: Bound::Below(0.0),
        measure: |results| {
            differences(results, ("fedavg + topology", "negative.all"), ("fedavg", "negative.all"))
        },
    },
    Claim {
        experiment: "khop",
        text: "Under FedAvg error grows with the distance from minority nodes: slope > 0 (points \
            per hop)",
        paper: "Sec. 3.2, Fig. 3",
        bound: Bound::Above(0.0),
        measure: |results| of_method(results, "fedavg", "slope.minority"),
    },
    Claim {
        experiment: "khop",
        text: "Under FedAvg error grows with the distance from heterophilous nodes: slope > 0 \
            (points per hop)",
        paper: "Sec. 3.2, Fig. 3",
        bound: Bound::Above(0.0),
        measure: |results| of_method(results, "fedavg", "slope.heterophilous"),
    },
    Claim {
        experiment: "khop",
        text: "BoostFGL suppresses the growth, where FedAvg's mean slope is > 0: its slope minus \
            FedAvg's < 0 (points per hop)",
        paper: "Fig. 3",
        bound: Bound::Below(0.0),
        measure: suppression,
    },
];

/// Slopes of BoostFGL minus FedAvg's, on the datasets where FedAvg's mean slope is above 0.
fn suppression(results: &Results) -> Vec<Case> {
    ["minority", "heterophilous"].iter().flat_map(|from| suppression_from(results, from)).collect()
}

/// The same for distances from one group.
fn suppression_from(results: &Results, from: &str) -> Vec<Case> {
    let column = format!("slope.{from}");
    let mut cases = differences(results, ("boostfgl", &column), ("fedavg", &column));
    let base = of_method(results, "fedavg", &column);
    let growing: Vec<&str> = base
        .iter()
        .filter(|case| mean(&case.numbers).is_some_and(|slope| slope > 0.0))
        .map(|case| case.name.as_str())
        .collect();
    cases.retain(|case| growing.contains(&case.name.as_str()));
    cases.iter_mut().for_each(|case| case.name = format!("{}, from {from}", case.name));
    cases
}
