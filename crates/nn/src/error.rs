//! What can go wrong in the numeric core.

use std::path::PathBuf;

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of the numeric core. Shape mismatches inside a backbone are bugs and panic; these are
/// about input.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No backbone has this name.
    #[error("unknown backbone `{name}`{}", suggestion.as_deref().map(|s| format!(" (did you mean `{s}`?)")).unwrap_or_default())]
    UnknownBackbone {
        /// The name as given.
        name: String,
        /// The nearest known one.
        suggestion: Option<String>,
    },

    /// A parameter file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },

    /// A parameter file does not hold the tensors asked for.
    #[error("{}: expected {expected}, found {found}", path.display())]
    Parameters {
        /// The file.
        path: PathBuf,
        /// What should have been there.
        expected: String,
        /// What was there.
        found: String,
    },

    /// What was read is not the state that is to be restored.
    #[error("{place}: expected {expected}, found {found}")]
    State {
        /// The names that lead there.
        place: String,
        /// What should have been there.
        expected: String,
        /// What was there.
        found: String,
    },

    /// State could not be written.
    #[error("{0}")]
    Saving(std::io::Error),
}
