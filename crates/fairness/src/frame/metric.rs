//! What a frame measures.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::metrics::MacroF1;
use crate::{ClassCounts, Classes, Error, Result};

/// A metric of a frame, by the name it has on the command line and in files.
///
/// | name | value on a set of nodes | worst |
/// |---|---|---|
/// | `accuracy` | share of nodes predicted right | smallest |
/// | `error` | share of nodes predicted wrong, 1 − accuracy | largest |
/// | `macro_f1` | mean F1 over the classes present in the set | smallest |
/// | `macro_f1:all` | mean F1 over all C classes | smallest |
/// | `recall:CLASS` | share of the nodes of a class that are predicted to be of it | smallest |
///
/// `macro_f1` averages over the classes present, unlike the headline of a run: groups differ in
/// which classes they have, and over all C classes a group with k of them cannot exceed k/C. The
/// frame would then show who has few classes and not for whom predictions are wrong.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum FrameMetric {
    /// Share of nodes predicted right.
    Accuracy,
    /// Share of nodes predicted wrong.
    Error,
    /// Macro-F1 over the classes present in the set.
    MacroF1,
    /// Macro-F1 over all C classes.
    MacroF1All,
    /// Recall of the class of that name.
    Recall(String),
}

/// How metrics are written.
const FORMS: [&str; 5] = ["accuracy", "error", "macro_f1", "macro_f1:all", "recall:CLASS"];

impl FrameMetric {
    /// The metric of that name; `macro_f1:present` is `macro_f1`.
    ///
    /// # Errors
    /// If there is none; the nearest name is suggested. Whether a class exists is only known when
    /// it is measured.
    ///
    /// ```
    /// use boostfgl_fairness::FrameMetric;
    /// assert_eq!(FrameMetric::parse("macro_f1:present")?, FrameMetric::MacroF1);
    /// let error = FrameMetric::parse("acuracy").unwrap_err().to_string();
    /// assert!(error.starts_with("unknown metric `acuracy` (did you mean `accuracy`?)"));
    /// # Ok::<(), boostfgl_fairness::Error>(())
    /// ```
    pub fn parse(name: &str) -> Result<Self> {
        match name.trim() {
            "accuracy" => Ok(Self::Accuracy),
            "error" => Ok(Self::Error),
            "macro_f1" | "macro_f1:present" => Ok(Self::MacroF1),
            "macro_f1:all" => Ok(Self::MacroF1All),
            name => match name.strip_prefix("recall:") {
                Some(class) => Ok(Self::Recall(class.to_owned())),
                None => Err(Error::unknown("metric", name, FORMS.map(str::to_owned).to_vec())),
            },
        }
    }

    /// Whether a larger value is better.
    pub fn larger_is_better(&self) -> bool {
        *self != Self::Error
    }

    /// Whether it counts the nodes of one class alone, so that its denominator is not the size of
    /// the group.
    pub fn counts_one_class(&self) -> bool {
        matches!(self, Self::Recall(_))
    }

    /// Finds the class it is about, if any, among those there are.
    pub(super) fn resolve(&self, names: &[String]) -> Result<Resolved> {
        Ok(match self {
            Self::Accuracy => Resolved::Accuracy,
            Self::Error => Resolved::Error,
            Self::MacroF1 => Resolved::MacroF1(Classes::Present),
            Self::MacroF1All => Resolved::MacroF1(Classes::All),
            Self::Recall(class) => match names.iter().position(|name| name == class) {
                Some(at) => Resolved::Recall(at),
                None => return Err(Error::unknown("class", class, names.to_vec())),
            },
        })
    }
}

/// A metric that can be computed: its class is a number.
#[derive(Clone, Copy, Debug)]
pub(super) enum Resolved {
    Accuracy,
    Error,
    MacroF1(Classes),
    Recall(usize),
}

impl Resolved {
    /// The value on the set of which each class has these counts; `None` if there is no node it is
    /// about.
    pub(super) fn of(self, classes: &[ClassCounts]) -> Option<f64> {
        match self {
            Self::MacroF1(over) => MacroF1::EXACT.of_classes(classes, over),
            share => {
                share.share(classes).filter(|(_, n)| *n > 0).map(|(part, n)| part as f64 / n as f64)
            }
        }
    }

    /// Whether it is a share of counted nodes.
    pub(super) fn is_share(self) -> bool {
        !matches!(self, Self::MacroF1(_))
    }

    /// Of what is a share, the part and the whole: how many nodes, of how many that count.
    pub(super) fn share(self, classes: &[ClassCounts]) -> Option<(u64, u64)> {
        let sum = |count: fn(&ClassCounts) -> u64| classes.iter().map(count).sum::<u64>();
        let (hits, nodes) = (sum(|class| class.hits), sum(|class| class.truth));
        match self {
            Self::Accuracy => Some((hits, nodes)),
            Self::Error => Some((nodes - hits, nodes)),
            Self::Recall(class) => Some((classes[class].hits, classes[class].truth)),
            Self::MacroF1(_) => None,
        }
    }
}

impl fmt::Display for FrameMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accuracy => f.write_str("accuracy"),
            Self::Error => f.write_str("error"),
            Self::MacroF1 => f.write_str("macro_f1"),
            Self::MacroF1All => f.write_str("macro_f1:all"),
            Self::Recall(class) => write!(f, "recall:{class}"),
        }
    }
}

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
            |name: &str| FrameMetric::parse(name).unwrap().resolve(&names).unwrap().of(&classes);
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
    fn names_are_understood_and_others_refused() {
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
            "unknown metric `f1`; there are accuracy, error, macro_f1, macro_f1:all, recall:CLASS"
        );
        let error = FrameMetric::Recall("tehory".into())
            .resolve(&["theory".to_owned()])
            .unwrap_err()
            .to_string();
        assert_eq!(error, "unknown class `tehory` (did you mean `theory`?); there are theory");
    }
}
