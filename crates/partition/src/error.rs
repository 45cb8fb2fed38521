//! Errors on the way from a graph to its clients.

use std::path::{Path, PathBuf};

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every way in which dividing a graph fails.
///
/// Each message names the place, what was expected and what was found; [`Error::advice`] says what
/// to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read or does not hold a partition of this graph, or parts do not fit
    /// together.
    #[error(transparent)]
    Graph(#[from] boostfgl_graph::Error),

    /// K is larger than the graph: some client would get no node.
    #[error("{clients} clients: K larger than the graph, which has {nodes} nodes")]
    TooManyClients {
        /// K as asked.
        clients: usize,
        /// Number of nodes.
        nodes: usize,
    },

    /// K is 0.
    #[error("0 clients: expected at least one")]
    NoClients,

    /// No partitioner has this name.
    #[error("unknown partitioner `{name}`{}", did_you_mean(suggestion.as_deref()))]
    Unknown {
        /// The name as given.
        name: String,
        /// The nearest known name, if one is near.
        suggestion: Option<String>,
    },

    /// The data have no group column of this name.
    #[error("{graph} has no group column `{name}`{}", did_you_mean(suggestion.as_deref()))]
    NoColumn {
        /// The graph.
        graph: String,
        /// The name as given.
        name: String,
        /// The nearest column, if one is near.
        suggestion: Option<String>,
    },

    /// A setting has a value that means nothing.
    #[error("{key}: expected {expected}, found {found}")]
    Setting {
        /// The configuration key.
        key: &'static str,
        /// The accepted values.
        expected: &'static str,
        /// What was given.
        found: String,
    },

    /// The split of the data was requested, but they have none.
    #[error("{graph} has no split of its own")]
    NoPublishedSplit {
        /// The graph.
        graph: String,
    },

    /// A partition file holds several seeds, but not this one.
    #[error("{}: expected seed {seed}, found seeds {}", path.display(), listed(present))]
    SeedAbsent {
        /// The file.
        path: PathBuf,
        /// The requested seed.
        seed: u64,
        /// The seeds in the file, increasing.
        present: Vec<u64>,
    },

    /// The operating system refused to write: no such folder, no permission, disk full.
    #[error("could not write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
}

impl Error {
    /// Advice for the user, in one sentence.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Graph(error) => error.advice(),
            Self::TooManyClients { .. } => {
                "Ask for at most as many clients as the graph has nodes."
            }
            Self::NoClients => "Ask for one client or more; one client means centralised training.",
            Self::Unknown { .. } => "`boostfgl partition --help` lists the partitioners.",
            Self::NoColumn { .. } => {
                "Name a column `group:NAME` of nodes.csv; `boostfgl data show` lists them."
            }
            Self::Setting { .. } => {
                "`boostfgl config show` prints every key with its meaning and default."
            }
            Self::NoPublishedSplit { .. } => {
                "Add a `split` column to nodes.csv, or draw one by shares: --set \
                 split.source=shares."
            }
            Self::SeedAbsent { .. } => {
                "Run the seeds that the file holds, or give it a single seed, which serves all."
            }
            Self::Write { .. } => "Check that the folder exists, may be written and has room.",
        }
    }

    /// Builds an [`Error::Write`].
    pub(crate) fn write(path: &Path, source: std::io::Error) -> Self {
        Self::Write { path: path.to_path_buf(), source }
    }
}

fn did_you_mean(suggestion: Option<&str>) -> String {
    suggestion.map(|s| format!(" (did you mean `{s}`?)")).unwrap_or_default()
}

/// At most ten of the seeds, so that messages stay short.
fn listed(seeds: &[u64]) -> String {
    let mut list: Vec<String> = seeds.iter().take(10).map(u64::to_string).collect();
    if seeds.len() > list.len() {
        list.push(format!("… ({} in all)", seeds.len()));
    }
    list.join(", ")
}
