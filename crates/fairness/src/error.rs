//! Errors of questions, frames and names.

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why predictions could not be evaluated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The parts of a question do not fit together: a slice has another length than the labels, a
    /// node does not exist, a class is not below C. The cause is the code that assembled the
    /// question.
    #[error("{what}: expected {expected}, found {found}")]
    Inconsistent {
        /// The part, for example `prediction of node 7`.
        what: String,
        /// What should have been there.
        expected: String,
        /// What was there.
        found: String,
    },

    /// Nothing has this name.
    #[error("unknown {kind} `{name}`{}; there are {}", did_you_mean(suggestion.as_deref()), some(known))]
    Unknown {
        /// What sort of name: `diagnostic`, `grouping`, `group column`, `metric`,
        /// `class`, `positive class`.
        kind: &'static str,
        /// The name as given.
        name: String,
        /// The nearest known name, if one is near.
        suggestion: Option<String>,
        /// What there is.
        known: Vec<String>,
    },

    /// A grouping or metric is named rightly but asks for what cannot be done.
    #[error("{asked}: expected {expected}, found {found}")]
    Asked {
        /// The request, for example ``grouping `degree:1` ``.
        asked: String,
        /// What it could have asked for.
        expected: String,
        /// What it asked for.
        found: String,
    },
}

impl Error {
    /// Builds an [`Error::Inconsistent`].
    pub(crate) fn inconsistent(
        what: impl Into<String>,
        expected: impl Into<String>,
        found: &impl ToString,
    ) -> Self {
        Self::Inconsistent {
            what: what.into(),
            expected: expected.into(),
            found: found.to_string(),
        }
    }

    /// Builds an [`Error::Unknown`], suggesting the nearest of `known`.
    pub(crate) fn unknown(kind: &'static str, name: &str, known: Vec<String>) -> Self {
        let suggestion =
            boostfgl_graph::nearest(name, known.iter().map(String::as_str)).map(str::to_owned);
        Self::Unknown { kind, name: name.to_owned(), suggestion, known }
    }

    /// Builds an [`Error::Asked`].
    pub(crate) fn asked(
        asked: impl Into<String>,
        expected: impl Into<String>,
        found: &impl ToString,
    ) -> Self {
        Self::Asked { asked: asked.into(), expected: expected.into(), found: found.to_string() }
    }

    /// Whether the request is the cause, and not the code that assembled its parts.
    pub fn is_request(&self) -> bool {
        matches!(self, Self::Unknown { .. } | Self::Asked { .. })
    }

    /// What the user can do about it, in one sentence.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Inconsistent { .. } => "Check that the partition belongs to this dataset.",
            Self::Unknown { kind: "group column", .. } => {
                "A column of nodes.csv is a grouping if its header is group:NAME."
            }
            Self::Unknown { kind: "positive class", .. } => {
                "Set evaluation.positive to one of the classes."
            }
            Self::Unknown { kind: "diagnostic", .. } => {
                "Name some of them with commas between, or all."
            }
            Self::Unknown { .. } | Self::Asked { .. } => {
                "Choose one of those named; groupings are intersected with `*`, as in \
                 minority*heterophilous."
            }
        }
    }
}

fn did_you_mean(suggestion: Option<&str>) -> String {
    suggestion.map(|s| format!(" (did you mean `{s}`?)")).unwrap_or_default()
}

/// The first names, so that hundreds of classes do not flood the message.
fn some(names: &[String]) -> String {
    match names.len() {
        0 => "none".to_owned(),
        1..=20 => names.join(", "),
        more => format!("{} and {} more", names[..20].join(", "), more - 20),
    }
}
