//! What a frame measures.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::metrics::{Accuracy, BUILTIN, MacroF1, Parameter};
use crate::{ClassCounts, Classes, Error, Metric, Result};

/// A metric of a frame with its parameter, by the name it has on the command line and in files.
///
/// | name | value on a set of nodes | worst |
/// |---|---|---|
/// | `accuracy` | share of nodes predicted right | smallest |
/// | `error` | share of nodes predicted wrong, 1 − accuracy | largest |
/// | `macro_f1` | mean F1 over the classes present in the set | smallest |
/// | `macro_f1:all` | mean F1 over all C classes | smallest |
/// | `recall:CLASS` | share of the nodes of a class that are predicted to be of it | smallest |
/// | `precision:CLASS` | share of the nodes predicted to be of a class that are of it | smallest |
/// | `selection_rate:CLASS` | share of all nodes that are predicted to be of a class | smallest |
/// | `false_positive_rate:CLASS` | share of the nodes of other classes predicted to be of a class | largest |
/// | `false_negative_rate:CLASS` | share of the nodes of a class predicted to be of another | largest |
/// | `generalised_entropy:CLASS` | how unequally predictions of a class benefit nodes | largest |
///
/// These are the metrics of this crate; a [`MetricRegistry`](crate::metrics::MetricRegistry) may
/// have more.
///
/// `macro_f1` averages over the classes present, unlike the headline of a run: groups differ in
/// which classes they have, and over all C classes a group with k of them cannot exceed k/C. The
/// frame would then show which group has few classes and not for which predictions are wrong.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FrameMetric {
    metric: Arc<dyn Metric>,
    /// What follows the colon; `None` for the default.
    parameter: Option<String>,
}

impl FrameMetric {
    /// A metric with the text of its parameter, which fits the metric.
    pub(crate) fn new(metric: Arc<dyn Metric>, parameter: Option<String>) -> Self {
        Self { metric, parameter }
    }

    /// `accuracy`: the share of nodes predicted right.
    pub fn accuracy() -> Self {
        Self::new(Arc::new(Accuracy), None)
    }

    /// `macro_f1`: the mean F1 over the classes present in the set.
    pub fn macro_f1() -> Self {
        Self::new(Arc::new(MacroF1::EXACT), None)
    }

    /// The metric of this crate that has that name; `macro_f1:present` is `macro_f1`.
    ///
    /// # Errors
    /// If there is none; the nearest name is suggested. Whether a class exists is only known when
    /// it is measured.
    ///
    /// ```
    /// use boostfgl_fairness::FrameMetric;
    /// assert_eq!(FrameMetric::parse("macro_f1:present")?, FrameMetric::macro_f1());
    /// let error = FrameMetric::parse("acuracy").unwrap_err().to_string();
    /// assert!(error.starts_with("unknown metric `acuracy` (did you mean `accuracy`?)"));
    /// # Ok::<(), boostfgl_fairness::Error>(())
    /// ```
    pub fn parse(name: &str) -> Result<Self> {
        BUILTIN.parse(name)
    }

    /// Whether a larger value is better.
    pub fn larger_is_better(&self) -> bool {
        self.metric.larger_is_better()
    }

    /// Whether `value` is worse than `other`; equal values are not.
    pub(super) fn is_worse(&self, value: f64, other: f64) -> bool {
        if self.larger_is_better() { value < other } else { value > other }
    }

    /// The class whose nodes alone it counts, if it is about one: its denominator is then not the
    /// size of the group.
    pub fn class(&self) -> Option<&str> {
        match self.metric.parameter() {
            Parameter::Class => self.parameter.as_deref(),
            Parameter::None | Parameter::Average => None,
        }
    }

    /// Of a metric about one class, which nodes it counts, as a table says it.
    pub fn counted(&self) -> &'static str {
        self.metric.counted()
    }

    /// Finds the class it is about, if any, among those there are.
    pub(super) fn resolve(&self, names: &[String]) -> Result<Resolved> {
        let over = match (self.class(), self.parameter.as_deref()) {
            (Some(class), _) => match names.iter().position(|name| name == class) {
                Some(at) => Classes::One(at),
                None => return Err(Error::unknown("class", class, names.to_vec())),
            },
            (None, Some("all")) => Classes::All,
            (None, _) => Classes::Present,
        };
        Ok(Resolved { metric: self.metric.clone(), over })
    }
}

/// A metric that can be computed: its class is a number.
#[derive(Clone)]
pub(super) struct Resolved {
    metric: Arc<dyn Metric>,
    over: Classes,
}

impl Resolved {
    /// The value on the set of which each class has these counts; `None` if no node counts.
    pub(super) fn value(&self, classes: &[ClassCounts]) -> Option<f64> {
        self.metric.value(classes, self.over)
    }

    /// See [`Metric::share`].
    pub(super) fn share(&self, classes: &[ClassCounts]) -> Option<(u64, u64)> {
        self.metric.share(classes, self.over)
    }
}

impl fmt::Display for FrameMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.metric.name())?;
        self.parameter.iter().try_for_each(|parameter| write!(f, ":{parameter}"))
    }
}

impl fmt::Debug for FrameMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FrameMetric({self})")
    }
}

impl PartialEq for FrameMetric {
    fn eq(&self, other: &Self) -> bool {
        self.metric.name() == other.metric.name() && self.parameter == other.parameter
    }
}

impl Eq for FrameMetric {}

impl FromStr for FrameMetric {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::parse(name)
    }
}

impl TryFrom<String> for FrameMetric {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        Self::parse(&name)
    }
}

impl From<FrameMetric> for String {
    fn from(metric: FrameMetric) -> Self {
        metric.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_by_hand() {
        // Truth 0 0 0 1, predicted 0 0 1 1; class 2 is absent.
        let counts = |truth, predicted, hits| ClassCounts { truth, predicted, hits };
        let classes = [counts(3, 2, 2), counts(1, 2, 1), counts(0, 0, 0)];
        let names = ["a", "b", "c"].map(str::to_owned);
        let value =
            |name: &str| FrameMetric::parse(name).unwrap().resolve(&names).unwrap().value(&classes);
        assert_eq!((value("accuracy"), value("error")), (Some(0.75), Some(0.25)));
        assert_eq!(
            (value("recall:a"), value("recall:b"), value("recall:c")),
            (Some(2.0 / 3.0), Some(1.0), None)
        );
        // F1 of a is 2·2/(3+2) = 0.8, of b 2·1/(1+2) = 2/3.
        assert!((value("macro_f1").unwrap() - (0.8 + 2.0 / 3.0) / 2.0).abs() < 1e-15);
        assert!((value("macro_f1:all").unwrap() - (0.8 + 2.0 / 3.0) / 3.0).abs() < 1e-15);
    }

    #[test]
    fn known_names_parse_and_others_are_refused() {
        for name in ["accuracy", "error", "macro_f1", "macro_f1:all", "recall:neural nets"] {
            let metric = FrameMetric::parse(name).unwrap();
            assert_eq!(metric.to_string(), name);
            assert_eq!(
                serde_json::from_value::<FrameMetric>(serde_json::to_value(&metric).unwrap())
                    .unwrap(),
                metric
            );
        }
        let error = FrameMetric::parse("f1").unwrap_err().to_string();
        assert_eq!(
            error,
            "unknown metric `f1`; there are accuracy, error, macro_f1, macro_f1:all, \
             recall:CLASS, precision:CLASS, selection_rate:CLASS, false_positive_rate:CLASS, \
             false_negative_rate:CLASS, generalised_entropy:CLASS"
        );
        let error = FrameMetric::parse("recall:tehory")
            .unwrap()
            .resolve(&["theory".to_owned()])
            .err()
            .unwrap()
            .to_string();
        assert_eq!(error, "unknown class `tehory` (did you mean `theory`?); there are theory");
    }
}
