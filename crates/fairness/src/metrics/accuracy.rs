//! Accuracy.

use super::{Classes, Metric, hits_and_nodes};
use crate::ClassCounts;

/// The share of nodes whose prediction is right:
///
/// Acc(S) = 1/|S| · Σ_{v∈S} 𝟙\[ŷ_v = y_v\]
///
/// It averages nodes, not classes, so all [`Classes`] give the same value.
///
/// ```
/// use boostfgl_fairness::{Classes, Confusion, Metric, metrics::Accuracy};
///
/// let confusion = Confusion::from_pairs(2, [(0, 0), (0, 0), (0, 1), (1, 1)])?;
/// assert_eq!(Accuracy.compute(&confusion, Classes::All), Some(0.75));
/// # Ok::<(), boostfgl_fairness::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Accuracy;

impl Metric for Accuracy {
    fn name(&self) -> &'static str {
        "accuracy"
    }

    fn meaning(&self) -> &'static str {
        "share of nodes predicted right"
    }

    fn stored(&self) -> bool {
        true
    }

    fn share(&self, classes: &[ClassCounts], _over: Classes) -> Option<(u64, u64)> {
        Some(hits_and_nodes(classes))
    }
}
