//! False negative rate of one class.

use super::{Classes, Metric, Parameter, one_class};
use crate::ClassCounts;

/// The share of the nodes of a class that are predicted to be of another: 1 − recall.
///
/// ```
/// use boostfgl_fairness::{Classes, Confusion, Metric, metrics::FalseNegativeRate};
///
/// let confusion = Confusion::from_pairs(2, [(0, 0), (1, 0), (1, 1), (1, 1)])?;
/// assert_eq!(FalseNegativeRate.compute(&confusion, Classes::One(1)), Some(1.0 / 3.0));
/// # Ok::<(), boostfgl_fairness::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct FalseNegativeRate;

impl Metric for FalseNegativeRate {
    fn name(&self) -> &'static str {
        "false_negative_rate"
    }

    fn meaning(&self) -> &'static str {
        "share of the nodes of a class that are predicted to be of another, 1 − recall"
    }

    fn parameter(&self) -> Parameter {
        Parameter::Class
    }

    fn larger_is_better(&self) -> bool {
        false
    }

    fn share(&self, classes: &[ClassCounts], over: Classes) -> Option<(u64, u64)> {
        Some(one_class(classes, over)?.false_negative_rate())
    }
}
