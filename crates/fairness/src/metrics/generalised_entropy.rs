//! Generalised entropy index.

use super::{Classes, Metric, Parameter, one_class};
use crate::ClassCounts;

/// How unequally predictions of a class benefit nodes (Speicher and others 2018), with α = 2:
///
/// GE(2) = 1/(2n) · Σᵢ ((bᵢ / b̄)² − 1),  bᵢ = ŷᵢ − yᵢ + 1
///
/// ŷ and y are 1 for the class and 0 for all others. A right prediction has benefit 1, a node that
/// is wrongly selected 2, a node that is wrongly left out 0. The index is 0 if all nodes benefit
/// alike, and has no upper bound of 1. It has no value if no node benefits: b̄ is 0.
///
/// ```
/// use boostfgl_fairness::{Classes, Confusion, Metric, metrics::GeneralisedEntropy};
///
/// // Benefits 1, 1, 2, 0: mean 1, and ½ · (0 + 0 + 3 − 1) / 4.
/// let confusion = Confusion::from_pairs(2, [(0, 0), (1, 1), (0, 1), (1, 0)])?;
/// assert_eq!(GeneralisedEntropy.compute(&confusion, Classes::One(1)), Some(0.25));
/// # Ok::<(), boostfgl_fairness::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct GeneralisedEntropy;

impl Metric for GeneralisedEntropy {
    fn name(&self) -> &'static str {
        "generalised_entropy"
    }

    fn meaning(&self) -> &'static str {
        "how unequally predictions of a class benefit nodes, 0 if all alike"
    }

    fn parameter(&self) -> Parameter {
        Parameter::Class
    }

    fn larger_is_better(&self) -> bool {
        false
    }

    fn counted(&self) -> &'static str {
        "of all classes"
    }

    fn value(&self, classes: &[ClassCounts], over: Classes) -> Option<f64> {
        one_class(classes, over)?.generalised_entropy()
    }
}
