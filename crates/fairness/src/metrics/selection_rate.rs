//! Selection rate of one class.

use super::{Classes, Metric, Parameter, one_class};
use crate::ClassCounts;

/// The share of all nodes that are predicted to be of a class: predicted_c / nodes. Groups with
/// equal selection rates have demographic parity.
///
/// A larger rate is neither better nor worse by itself. Where groups are ranked, the group that is
/// selected least often comes first, as if selection were a benefit.
///
/// ```
/// use boostfgl_fairness::{Classes, Confusion, Metric, metrics::SelectionRate};
///
/// let confusion = Confusion::from_pairs(2, [(0, 1), (1, 0), (1, 1), (1, 1)])?;
/// assert_eq!(SelectionRate.compute(&confusion, Classes::One(1)), Some(0.75));
/// # Ok::<(), boostfgl_fairness::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SelectionRate;

impl Metric for SelectionRate {
    fn name(&self) -> &'static str {
        "selection_rate"
    }

    fn meaning(&self) -> &'static str {
        "share of all nodes that are predicted to be of a class"
    }

    fn parameter(&self) -> Parameter {
        Parameter::Class
    }

    fn counted(&self) -> &'static str {
        "of all classes"
    }

    fn share(&self, classes: &[ClassCounts], over: Classes) -> Option<(u64, u64)> {
        Some(one_class(classes, over)?.selection())
    }
}
