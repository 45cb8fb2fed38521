//! Claims about messages: topology confounding.

use super::{Bound, Claim, differences, of_method};

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        experiment: "epr",
        text: "Under FedAvg minority nodes receive a larger share of harmful messages than majority nodes (points)",
        paper: "Sec. 3.2, App. B.4",
        bound: Bound::Above(0.0),
        measure: |results| of_method(results, "fedavg", "gap.minority"),
    },
    Claim {
        experiment: "epr",
        text: "Under FedAvg heterophilous nodes receive a larger share of harmful messages than the others (points)",
        paper: "Sec. 3.2, App. B.4",
        bound: Bound::Above(0.0),
        measure: |results| of_method(results, "fedavg", "gap.heterophilous"),
    },
    Claim {
        experiment: "epr",
        text: "Topology boosting lowers the share of harmful messages: FedAvg + topology minus FedAvg < 0 (points)",
        paper: "Theorem 2",
        bound: Bound::Below(0.0),
        measure: |results| differences(results, ("fedavg + topology", "negative.all"), ("fedavg", "negative.all")),
    },
    Claim {
        experiment: "khop",
        text: "Under FedAvg error grows with the distance from minority nodes: slope > 0 (points per hop)",
        paper: "Sec. 3.2, Fig. 3",
        bound: Bound::Above(0.0),
        measure: |results| of_method(results, "fedavg", "slope.minority"),
    },
    Claim {
        experiment: "khop",
        text: "Under FedAvg error grows with the distance from heterophilous nodes: slope > 0 (points per hop)",
        paper: "Sec. 3.2, Fig. 3",
        bound: Bound::Above(0.0),
        measure: |results| of_method(results, "fedavg", "slope.heterophilous"),
    },
    Claim {
        experiment: "khop",
        text: "BoostFGL suppresses the growth: its slope from minority nodes minus FedAvg's < 0 (points per hop)",
        paper: "Fig. 3",
        bound: Bound::Below(0.0),
        measure: |results| differences(results, ("boostfgl", "slope.minority"), ("fedavg", "slope.minority")),
    },
];
