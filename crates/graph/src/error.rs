//! Errors on the way from a file to a [`Graph`](crate::Graph).

use std::path::{Path, PathBuf};

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every way in which reading, checking or finding a graph fails.
///
/// Each message names the place, what was expected and what was found; [`Error::advice`] says what
/// to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused: missing file, no permission, disk full.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },

    /// A file exists, but its content does not follow its format.
    #[error("{}{place}: expected {expected}, found {found}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where in it, as it is printed after the path, for example `, line 3, column 2` or `,
        /// array y`; may be empty.
        place: String,
        /// What should have been there.
        expected: String,
        /// What was there.
        found: String,
    },

    /// A table exists, but several of its rows are wrong.
    #[error("{}: {} problems\n{}", path.display(), problems.len() + more, listed(problems, *more))]
    Several {
        /// The table.
        path: PathBuf,
        /// The first of them, one line each: place, what was expected, what was found.
        problems: Vec<String>,
        /// The number of further problems.
        more: usize,
    },

    /// A file or folder is of no format that is known.
    #[error("{}: found {found}; expected {expected}", path.display())]
    Foreign {
        /// The file or folder.
        path: PathBuf,
        /// What it holds.
        found: String,
        /// The nearest format, and what it needs in addition.
        expected: String,
    },

    /// Parts that are each readable do not fit together: an edge names a node that does not exist,
    /// say.
    #[error("{what}: expected {expected}, found {found}")]
    Inconsistent {
        /// The part.
        what: String,
        /// What should have been there.
        expected: String,
        /// What was there.
        found: String,
    },

    /// A catalogued file differs from the one its dataset was published as.
    #[error("{}: expected SHA-256 {expected}, found {found}", path.display())]
    Checksum {
        /// The file.
        path: PathBuf,
        /// The catalogue's digest, in hexadecimal.
        expected: String,
        /// The file's digest.
        found: String,
    },

    /// No dataset, preset or format has this name.
    #[error("unknown {kind} `{name}`{}", did_you_mean(suggestion.as_deref()))]
    Unknown {
        /// The kind of name: `dataset`, `preset`, `format`.
        kind: &'static str,
        /// The name as given.
        name: String,
        /// The nearest known name, if one is near.
        suggestion: Option<String>,
    },

    /// The dataset is known, but none of the places looked at has its files.
    #[error("dataset `{name}` is not on this machine; looked in {}", looked.join(", "))]
    NotFound {
        /// The dataset.
        name: String,
        /// The places, in order.
        looked: Vec<String>,
    },

    /// A download failed.
    #[error("could not fetch {url}: {reason}")]
    Fetch {
        /// The address asked.
        url: String,
        /// Why it failed.
        reason: String,
    },
}

impl From<boostfgl_disk::Error> for Error {
    fn from(refused: boostfgl_disk::Error) -> Self {
        Self::Io { path: refused.path, source: refused.source }
    }
}

impl Error {
    /// Builds an [`Error::Io`].
    pub fn io(path: impl AsRef<Path>, source: std::io::Error) -> Self {
        Self::Io { path: path.as_ref().to_path_buf(), source }
    }

    /// Builds an [`Error::Malformed`]; `place` is printed right after the path.
    pub fn malformed(
        path: impl AsRef<Path>,
        place: impl Into<String>,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self::Malformed {
            path: path.as_ref().to_path_buf(),
            place: place.into(),
            expected: expected.into(),
            found: found.into(),
        }
    }

    /// Builds an [`Error::Inconsistent`].
    pub fn inconsistent(
        what: impl Into<String>,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self::Inconsistent { what: what.into(), expected: expected.into(), found: found.into() }
    }

    /// Builds an [`Error::Unknown`], suggesting the nearest of `known`.
    pub fn unknown<'a>(
        kind: &'static str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let suggestion = nearest(name, known).map(str::to_owned);
        Self::Unknown { kind, name: name.to_owned(), suggestion }
    }

    /// Advice for the user, in one sentence.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Io { .. } => "Check that the path is right and may be read.",
            Self::Malformed { .. } => "Correct the file at the place named, or export it again.",
            Self::Several { .. } => "Correct the file at the places named, or export it again.",
            Self::Foreign { .. } => {
                "`boostfgl data formats` lists every format with what it needs."
            }
            Self::Inconsistent { .. } => "Correct the input so that its parts agree.",
            Self::Checksum { .. } => {
                "Delete the file and fetch the dataset again, or pass the path itself to use it \
                 as it is."
            }
            Self::Unknown { .. } => {
                "`boostfgl data list` shows every dataset and preset; a path to your own data \
                 works too."
            }
            Self::NotFound { .. } => {
                "Run `boostfgl data fetch NAME`, or set BOOSTFGL_DATA (or --data-dir) to the \
                 folder that holds it."
            }
            Self::Fetch { .. } => {
                "Check the connection, or set BOOSTFGL_DATA to a folder or mirror that holds the \
                 dataset."
            }
        }
    }
}

/// The known name nearest to `name`, if it is near enough to be a typing error.
///
/// ```
/// assert_eq!(boostfgl_graph::nearest("coar", ["cora", "pubmed"]), Some("cora"));
/// assert_eq!(boostfgl_graph::nearest("zebra", ["cora", "pubmed"]), None);
/// ```
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    known
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&name, &candidate.to_lowercase()), candidate))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, candidate)| *distance <= (candidate.len().max(name.len()) / 3).max(1))
        .map(|(_, candidate)| candidate)
}

fn did_you_mean(suggestion: Option<&str>) -> String {
    suggestion.map(|s| format!(" (did you mean `{s}`?)")).unwrap_or_default()
}

/// One problem per line, indented.
fn listed(problems: &[String], more: usize) -> String {
    let rest = (more > 0).then(|| format!("and {more} more"));
    let lines: Vec<String> = problems.iter().chain(&rest).map(|line| format!("  {line}")).collect();
    lines.join("\n")
}
