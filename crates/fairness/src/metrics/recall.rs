//! Recall of one class.

use super::{Classes, Metric, Parameter};
use crate::ClassCounts;

/// The share of the nodes of a class that are predicted to be of it: hits_c / truth_c.
///
/// It is about one class, so it has no value over [`Classes::All`] or [`Classes::Present`].
///
/// ```
/// use boostfgl_fairness::{Classes, Confusion, Metric, metrics::Recall};
///
/// let confusion = Confusion::from_pairs(2, [(0, 0), (1, 0), (1, 1), (1, 1)])?;
/// assert_eq!(Recall.compute(&confusion, Classes::One(1)), Some(2.0 / 3.0));
/// assert_eq!(Recall.compute(&confusion, Classes::All), None);
/// # Ok::<(), boostfgl_fairness::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Recall;

impl Metric for Recall {
    fn name(&self) -> &'static str {
        "recall"
    }

    fn meaning(&self) -> &'static str {
        "share of the nodes of a class that are predicted to be of it"
    }

    fn parameter(&self) -> Parameter {
        Parameter::Class
    }

    fn share(&self, classes: &[ClassCounts], over: Classes) -> Option<(u64, u64)> {
        match over {
            Classes::One(class) => classes.get(class).map(|class| (class.hits, class.truth)),
            Classes::All | Classes::Present => None,
        }
    }
}
