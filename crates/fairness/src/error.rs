//! What can be wrong with a question.

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why predictions could not be judged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The parts of a question do not fit together: a slice has another length than the labels, a node does not
    /// exist, a class is not below C. Whoever put the question together is to blame.
    #[error("{what}: expected {expected}, found {found}")]
    Inconsistent {
        /// The part, for example `prediction of node 7`.
        what: String,
        /// What should have been there.
        expected: String,
        /// What was there.
        found: String,
    },

    /// There is no such diagnostic.
    #[error("unknown diagnostic `{name}`{}", match suggestion { Some(near) => format!(" (did you mean `{near}`?)"), None => String::new() })]
    UnknownDiagnostic {
        /// The name.
        name: String,
        /// The nearest one there is.
        suggestion: Option<String>,
    },
}

impl Error {
    /// Builds an [`Error::Inconsistent`].
    pub(crate) fn inconsistent(what: impl Into<String>, expected: impl Into<String>, found: &impl ToString) -> Self {
        Self::Inconsistent { what: what.into(), expected: expected.into(), found: found.to_string() }
    }
}
