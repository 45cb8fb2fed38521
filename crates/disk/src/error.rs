//! What can go wrong: the system refuses.

use std::io;
use std::path::{Path, PathBuf};

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The operating system refused: no permission, disk full, missing folder.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct Error {
    /// The file or folder.
    pub path: PathBuf,
    /// The system's reason.
    pub source: io::Error,
}

impl Error {
    /// The system's refusal about `path`.
    pub fn new(path: impl AsRef<Path>, source: io::Error) -> Self {
        Self { path: path.as_ref().to_path_buf(), source }
    }
}
