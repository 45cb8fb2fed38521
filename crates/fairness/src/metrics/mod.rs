//! How good predictions are on a set of nodes, in one number.
//!
//! A metric is one file with a type that implements [`Metric`], and one line in
//! [`MetricRegistry::builtin`]. The command line, its help and [`FrameMetric`] read that list. A
//! program that uses this library adds its own with [`MetricRegistry::with`].

mod accuracy;
mod error_rate;
mod false_negative_rate;
mod false_positive_rate;
mod generalised_entropy;
mod macro_f1;
mod precision;
mod recall;
mod registry;
mod selection_rate;

pub use accuracy::Accuracy;
pub use error_rate::ErrorRate;
pub use false_negative_rate::FalseNegativeRate;
pub use false_positive_rate::FalsePositiveRate;
pub use generalised_entropy::GeneralisedEntropy;
pub use macro_f1::MacroF1;
pub use precision::Precision;
pub use recall::Recall;
pub(crate) use registry::BUILTIN;
pub use registry::MetricRegistry;
pub use selection_rate::SelectionRate;

#[cfg(doc)]
use crate::FrameMetric;
use crate::protected::BinaryCounts;
use crate::{ClassCounts, Confusion};

/// A number, 0 or larger and mostly at most 1, that says how good or bad predictions are on a set of nodes.
///
/// Implement [`share`](Metric::share) for a metric that counts nodes, and
/// [`value`](Metric::value) for any other.
pub trait Metric: Send + Sync {
    /// The key in files and on the command line, for example `macro_f1`.
    fn name(&self) -> &'static str;

    /// The name in tables and on axes, for example `macro-F1`.
    fn title(&self) -> &'static str {
        self.name()
    }

    /// What it means, in a line.
    fn meaning(&self) -> &'static str;

    /// What may follow the name after a colon.
    fn parameter(&self) -> Parameter {
        Parameter::None
    }

    /// Whether a larger value is better.
    fn larger_is_better(&self) -> bool {
        true
    }

    /// Of a metric about one class, which nodes it counts, as a table says it.
    fn counted(&self) -> &'static str {
        "of the class"
    }

    /// Whether every run stores it for every group and every client. Others are computed on
    /// request.
    fn stored(&self) -> bool {
        false
    }

    /// Of a metric that is a share of counted nodes, the part and the whole: how many nodes, of how
    /// many that count. Its intervals are exact ones for shares; those of others are bootstrapped.
    ///
    /// `classes` has one entry per class of the dataset.
    fn share(&self, _classes: &[ClassCounts], _over: Classes) -> Option<(u64, u64)> {
        None
    }

    /// The value on the set of which each class has these counts; `None` if no node counts.
    fn value(&self, classes: &[ClassCounts], over: Classes) -> Option<f64> {
        let (part, whole) = self.share(classes, over)?;
        (whole > 0).then(|| part as f64 / whole as f64)
    }

    /// The value on the set behind `confusion`; `None` if no node counts.
    fn compute(&self, confusion: &Confusion, over: Classes) -> Option<f64> {
        self.value(&confusion.per_class(), over)
    }
}

/// What may follow the name of a metric after a colon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// Nothing: the metric averages nodes, and all [`Classes`] give the same value.
    None,
    /// `all` or `present`, the classes that are averaged; `present` unless asked otherwise.
    Average,
    /// The name of the one class that is counted.
    Class,
}

/// Which classes a metric is computed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Classes {
    /// All C classes of the dataset; a class that no node of the set has adds 0. The paper's
    /// literal definition.
    All,
    /// The classes that some node of the set truly has.
    Present,
    /// One class, for metrics with [`Parameter::Class`].
    One(usize),
}

/// The metric of this crate that has that name.
///
/// ```
/// use boostfgl_fairness::metrics;
/// assert!(metrics::find("macro_f1").is_some());
/// assert!(metrics::find("auc").is_none());
/// ```
pub fn find(name: &str) -> Option<&'static dyn Metric> {
    BUILTIN.find(name).map(|metric| &**metric)
}

/// The counts of the one class that a metric is about; `None` over several classes.
fn one_class(classes: &[ClassCounts], over: Classes) -> Option<BinaryCounts> {
    match over {
        Classes::One(class) => BinaryCounts::of_class(classes, class),
        Classes::All | Classes::Present => None,
    }
}

/// Nodes predicted right and nodes in all.
fn hits_and_nodes(classes: &[ClassCounts]) -> (u64, u64) {
    classes.iter().fold((0, 0), |(hits, nodes), class| (hits + class.hits, nodes + class.truth))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_scores_find_theirs() {
        let metrics: Vec<_> = BUILTIN.iter().collect();
        for (i, metric) in metrics.iter().enumerate() {
            assert!(
                metrics[..i].iter().all(|earlier| earlier.name() != metric.name()),
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
        for headline in crate::HEADLINES.iter() {
            assert!(find(headline.metric.name()).is_some_and(Metric::stored), "{}", headline.key);
        }
    }

    #[test]
    fn no_node_no_score() {
        let cases =
            [(0, Classes::All), (3, Classes::All), (3, Classes::Present), (3, Classes::One(2))];
        for metric in BUILTIN.iter() {
            for (classes, over) in cases {
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
