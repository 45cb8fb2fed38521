//! Precision of one class.

use super::{Classes, Metric, Parameter, one_class};
use crate::ClassCounts;

/// The share of the nodes predicted to be of a class that truly are: hits_c / predicted_c, also
/// called positive predictive value.
///
/// ```
/// use boostfgl_fairness::{Classes, Confusion, Metric, metrics::Precision};
///
/// let confusion = Confusion::from_pairs(2, [(0, 1), (1, 0), (1, 1), (1, 1)])?;
/// assert_eq!(Precision.compute(&confusion, Classes::One(1)), Some(2.0 / 3.0));
/// # Ok::<(), boostfgl_fairness::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Precision;

impl Metric for Precision {
    fn name(&self) -> &'static str {
        "precision"
    }

    fn meaning(&self) -> &'static str {
        "share of the nodes predicted to be of a class that are of it"
    }

    fn parameter(&self) -> Parameter {
        Parameter::Class
    }

    fn counted(&self) -> &'static str {
        "predicted as it"
    }

    fn share(&self, classes: &[ClassCounts], over: Classes) -> Option<(u64, u64)> {
        Some(one_class(classes, over)?.precision())
    }
}
