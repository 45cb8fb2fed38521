//! False positive rate of one class.

use super::{Classes, Metric, Parameter, one_class};
use crate::ClassCounts;

/// The share of the nodes of other classes that are predicted to be of a class: (predicted_c −
/// hits_c) / (nodes − truth_c).
///
/// ```
/// use boostfgl_fairness::{Classes, Confusion, Metric, metrics::FalsePositiveRate};
///
/// let confusion = Confusion::from_pairs(2, [(0, 1), (0, 0), (0, 0), (1, 1)])?;
/// assert_eq!(FalsePositiveRate.compute(&confusion, Classes::One(1)), Some(1.0 / 3.0));
/// # Ok::<(), boostfgl_fairness::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct FalsePositiveRate;

impl Metric for FalsePositiveRate {
    fn name(&self) -> &'static str {
        "false_positive_rate"
    }

    fn meaning(&self) -> &'static str {
        "share of the nodes of other classes that are predicted to be of a class"
    }

    fn parameter(&self) -> Parameter {
        Parameter::Class
    }

    fn larger_is_better(&self) -> bool {
        false
    }

    fn counted(&self) -> &'static str {
        "of other classes"
    }

    fn share(&self, classes: &[ClassCounts], over: Classes) -> Option<(u64, u64)> {
        Some(one_class(classes, over)?.false_positive_rate())
    }
}
