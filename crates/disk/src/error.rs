//! The error type: a system call failed on a named path.

use std::io;
use std::path::{Path, PathBuf};

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A system call failed: no permission, disk full, missing folder.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct Error {
    /// The file or folder.
    pub path: PathBuf,
    /// The reason the system gave.
    pub source: io::Error,
}

impl Error {
    /// The failure of a call on `path`.
    pub fn new(path: impl AsRef<Path>, source: io::Error) -> Self {
        Self { path: path.as_ref().to_path_buf(), source }
    }
}
