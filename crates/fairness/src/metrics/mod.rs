//! How good predictions are on a set of nodes, in one number.
//!
//! A metric is one file with a type that implements [`Metric`], and one line in [`METRICS`].
//! Everything in that table is computed for every group and client and stored under its name.

mod accuracy;
mod macro_f1;

pub use accuracy::Accuracy;
pub use macro_f1::MacroF1;

use crate::Confusion;

/// Every metric, in the order in which they are shown.
pub static METRICS: &[&dyn Metric] = &[&Accuracy, &MacroF1::EXACT];

/// A number between 0 and 1 that says how good predictions are on a set of nodes; larger is better.
pub trait Metric: Sync {
    /// The key in files, for example `macro_f1`.
    fn name(&self) -> &'static str;

    /// The name in tables and on axes, for example `macro-F1`.
    fn title(&self) -> &'static str;

    /// Whether it is an average over classes, so that [`Classes`] make a difference.
    fn averages_classes(&self) -> bool;

    /// What it means, in a line.
    fn meaning(&self) -> &'static str;

    /// The value on the set behind `confusion`, averaged over the classes `over` where the metric
    /// averages classes. `None` for a set without nodes.
    fn compute(&self, confusion: &Confusion, over: Classes) -> Option<f64>;
}

/// Which classes a class average runs over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Classes {
    /// All C classes of the dataset; a class that no node of the set has adds 0. The paper's
    /// literal definition.
    All,
    /// The classes that some node of the set truly has.
    Present,
}

/// The metric of that name.
///
/// ```
/// use boostfgl_fairness::metrics;
/// assert!(metrics::find("macro_f1").is_some());
/// assert!(metrics::find("auc").is_none());
/// ```
pub fn find(name: &str) -> Option<&'static dyn Metric> {
    METRICS.iter().copied().find(|metric| metric.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_scores_find_theirs() {
        for (i, metric) in METRICS.iter().enumerate() {
            assert!(
                METRICS[..i].iter().all(|earlier| earlier.name() != metric.name()),
                "{}",
                metric.name()
            );
        }
        for (name, word) in [("accuracy", "right"), ("macro_f1", "F1")] {
            let metric = find(name).unwrap();
            assert!(
                metric.name() == name && metric.meaning().contains(word),
                "{name}: {}",
                metric.meaning()
            );
        }
    }

    #[test]
    fn no_node_no_score() {
        for metric in METRICS {
            for (classes, over) in [(0, Classes::All), (3, Classes::All), (3, Classes::Present)] {
                assert_eq!(
                    metric.compute(&Confusion::new(classes), over),
                    None,
                    "{}",
                    metric.name()
                );
            }
        }
    }
}
