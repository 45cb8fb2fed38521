//! Error rate.

use super::{Classes, Metric, hits_and_nodes};
use crate::ClassCounts;

/// The share of nodes whose prediction is wrong: 1 − accuracy.
#[derive(Clone, Copy, Debug, Default)]
pub struct ErrorRate;

impl Metric for ErrorRate {
    fn name(&self) -> &'static str {
        "error"
    }

    fn meaning(&self) -> &'static str {
        "share of nodes predicted wrong, 1 − accuracy"
    }

    fn larger_is_better(&self) -> bool {
        false
    }

    fn share(&self, classes: &[ClassCounts], _over: Classes) -> Option<(u64, u64)> {
        let (hits, nodes) = hits_and_nodes(classes);
        Some((nodes - hits, nodes))
    }
}
