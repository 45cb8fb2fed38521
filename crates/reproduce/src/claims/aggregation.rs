//! Claims about the aggregation: dilution on the server.

use super::{Bound, Claim, differences, of_method};

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        experiment: "dilution",
        text: "Averaging cancels minority-improving signal: DR of FedAvg under equal weights < \
            0.9 (it cannot exceed 1)",
        paper: "Sec. 3.3, App. B.5",
        bound: Bound::Below(0.9),
        measure: |results| of_method(results, "fedavg", "dr.uniform.mean"),
    },
    Claim {
        experiment: "dilution",
        text: "Trust raises DR: under trust minus under sizes, of the same updates of BoostFGL > 0",
        paper: "Theorem 3.3",
        bound: Bound::Above(0.0),
        measure: |results| {
            differences(results, ("boostfgl", "dr.mean"), ("boostfgl", "dr.size.mean"))
        },
    },
    Claim {
        experiment: "dilution",
        text: "Trust raises DR, pooled over rounds: under trust minus under sizes, of the same \
            updates of BoostFGL > 0",
        paper: "Theorem 3.3",
        bound: Bound::Above(0.0),
        measure: |results| {
            differences(results, ("boostfgl", "dr.pooled"), ("boostfgl", "dr.size.pooled"))
        },
    },
    Claim {
        experiment: "dilution",
        text: "DR is higher in BoostFGL's run than in FedAvg's: difference > 0",
        paper: "App. B.5",
        bound: Bound::Above(0.0),
        measure: |results| differences(results, ("boostfgl", "dr.mean"), ("fedavg", "dr.mean")),
    },
    Claim {
        experiment: "alignment",
        text: "Updates are often against the minority: more than 10 % of FedAvg's have a negative \
            cosine (percent)",
        paper: "App. B.5",
        bound: Bound::Above(10.0),
        measure: |results| of_method(results, "fedavg", "negative"),
    },
];
