//! The errors of the numeric core.

use std::path::PathBuf;

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of the numeric core, all about input. Shape mismatches inside a backbone are bugs and
/// panic.
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

    /// A parameter file does not contain the requested tensors.
    #[error("{}: expected {expected}, found {found}", path.display())]
    Parameters {
        /// The file.
        path: PathBuf,
        /// The expected content.
        expected: String,
        /// The actual content.
        found: String,
    },

    /// The bytes to restore from are not the expected state.
    #[error("{place}: expected {expected}, found {found}")]
    State {
        /// The path of names to the entry, joined by dots.
        place: String,
        /// The expected entry.
        expected: String,
        /// The actual entry.
        found: String,
    },

    /// State could not be saved.
    #[error("{0}")]
    Saving(std::io::Error),
}
