//! Errors of run folders, exports and pictures.

use std::path::{Path, PathBuf};

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every way in which writing or reading a run folder fails.
///
/// Each message names the file or folder and what is wrong with it; [`Error::advice`] says what to
/// do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused: no permission, disk full, missing file.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },

    /// The folder for a new run is not empty.
    #[error("{}: expected an empty folder, found `{found}` in it", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
        /// A name in it.
        found: String,
    },

    /// A run folder that another process has locked.
    #[error("{}: this run folder is in use by another boostfgl process", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },

    /// The file was written by a newer version of the program.
    #[error("{}: expected format version {known} or older, found {found}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The newest version that this program reads.
        known: u32,
        /// The version of the file.
        found: u64,
    },

    /// The file exists but violates its format.
    #[error("{}: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        reason: String,
    },

    /// An unknown name.
    #[error("unknown {kind} `{name}`{}; there are {}", did_you_mean(suggestion.as_deref()), known.join(", "))]
    Unknown {
        /// What sort of name: `format`.
        kind: &'static str,
        /// The name as given.
        name: String,
        /// The most similar known name, if one is similar.
        suggestion: Option<&'static str>,
        /// The known names.
        known: Vec<&'static str>,
    },

    /// The requested feature is not compiled in.
    #[error("this boostfgl was built without {what}")]
    NotBuiltIn {
        /// What is missing.
        what: &'static str,
        /// The feature of the crate that adds it.
        feature: &'static str,
    },

    /// A picture cannot be drawn.
    #[error("picture: {reason}")]
    Picture {
        /// The reason.
        reason: String,
    },
}

impl From<boostfgl_disk::Error> for Error {
    fn from(refused: boostfgl_disk::Error) -> Self {
        match refused.source.kind() {
            std::io::ErrorKind::InvalidData => {
                Self::malformed(refused.path, refused.source.to_string())
            }
            _ => Self::Io { path: refused.path, source: refused.source },
        }
    }
}

impl Error {
    /// Builds an [`Error::Io`].
    pub fn io(path: impl AsRef<Path>, source: std::io::Error) -> Self {
        Self::Io { path: path.as_ref().to_path_buf(), source }
    }

    /// Builds an [`Error::Malformed`].
    pub fn malformed(path: impl AsRef<Path>, reason: impl Into<String>) -> Self {
        Self::Malformed { path: path.as_ref().to_path_buf(), reason: reason.into() }
    }

    /// Builds an [`Error::Unknown`], suggesting the most similar of `known`.
    pub(crate) fn unknown(kind: &'static str, name: &str, known: &[&'static str]) -> Self {
        let suggestion = boostfgl_graph::nearest(name, known.iter().copied());
        let suggestion =
            suggestion.and_then(|near| known.iter().copied().find(|name| *name == near));
        Self::Unknown { kind, name: name.to_owned(), suggestion, known: known.to_vec() }
    }

    /// What the user can do about it, in one sentence.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Io { .. } => {
                "Check that the path is right, may be written, and that the disk is not full."
            }
            Self::Busy { .. } => "Wait until it has ended, or end it; then run the command again.",
            Self::NotEmpty { .. } => {
                "Choose another folder with --out, or pass --overwrite to replace the run in it."
            }
            Self::Newer { .. } => "Install a newer boostfgl, or repeat the run with this one.",
            Self::Malformed { .. } => {
                "Repeat the run, or restore the file from where it was copied."
            }
            Self::Unknown { .. } => "Name one or more of them, with commas between.",
            Self::NotBuiltIn { .. } => {
                "Choose another format, or build the program with its default features: cargo \
                 install --path crates/cli."
            }
            Self::Picture { .. } => "Choose another width, or take the picture as SVG.",
        }
    }
}

/// The suggestion of an error message, or nothing.
fn did_you_mean(suggestion: Option<&str>) -> String {
    suggestion.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default()
}
