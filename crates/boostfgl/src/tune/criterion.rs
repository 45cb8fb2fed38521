//! What a search chooses by: a score on validation nodes.

use crate::{Error, Result};
use boostfgl_graph::nearest;
use boostfgl_report::Measured;

/// A score on validation nodes, at the round that is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Criterion {
    /// The share of validation nodes that are predicted right.
    Accuracy,
    /// Macro-F1 over all classes on validation nodes.
    MacroF1,
}

impl Criterion {
    /// Every criterion.
    pub const ALL: [Self; 2] = [Self::Accuracy, Self::MacroF1];

    /// Its name, as in `summary.json`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accuracy => "val_accuracy",
            Self::MacroF1 => "val_macro_f1",
        }
    }

    /// Reads a name.
    ///
    /// ```
    /// use boostfgl::tune::Criterion;
    ///
    /// assert_eq!(Criterion::parse("val_accuracy").unwrap(), Criterion::Accuracy);
    /// let error = Criterion::parse("accuracy").unwrap_err().to_string();
    /// assert!(error.contains("expected val_accuracy or val_macro_f1, found `accuracy`"), "{error}");
    /// ```
    ///
    /// # Errors
    /// If it is unknown, or a score on test nodes.
    pub fn parse(name: &str) -> Result<Self> {
        let names = Self::ALL.map(Self::name);
        Self::ALL.into_iter().find(|criterion| criterion.name() == name).ok_or_else(|| {
            let reason = format!("expected {}, found `{name}`", names.join(" or "));
            let near = nearest(name, names).map(|near| format!("Did you mean {near}? "));
            let advice = format!(
                "{}Test scores are for the report, not for the choice.",
                near.unwrap_or_default()
            );
            Error::usage("--metric", reason, advice)
        })
    }

    /// Its value in percent; `None` without validation nodes.
    pub fn of(self, measured: &Measured) -> Option<f64> {
        match self {
            Self::Accuracy => measured.details.val_accuracy,
            Self::MacroF1 => measured.details.val_macro_f1,
        }
    }
}
