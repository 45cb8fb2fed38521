//! The datasets known by name: origin, checksums, licence, flaws, and where to find them.
//!
//! [`DATASETS`] is the table. [`Lookup`] finds a dataset's files on this machine or downloads them.
//! The readers read them: a [`Located`] has the format and the path.

mod files;
mod lookup;
mod remote;
mod table;

use boostfgl_graph::{Error, Graph, Result, generator};
use serde::Serialize;

pub use files::sha256_of;
pub use lookup::{Located, Lookup};
pub use remote::Fetch;
pub use table::DATASETS;

/// One published dataset.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Dataset {
    /// The name on the command line.
    pub name: &'static str,
    /// Other names it is known by.
    pub aliases: &'static [&'static str],
    /// A description in a few words.
    pub title: &'static str,
    /// The format of the published files: `planetoid`, `gnn-benchmark`, `heterophilous` or `ogb`.
    pub format: &'static str,
    /// The public address under which the files, or the archive, are published; ends in `/`.
    pub origin: &'static str,
    /// The zip archive that holds the published files, if they are not published one by one.
    pub archive: Option<&'static str>,
    /// The name of the folder that holds the published files; related datasets may share one.
    pub folder: &'static str,
    /// The published files.
    pub files: &'static [File],
    /// The same dataset as one flat npz, if there is one.
    pub flat: Option<Flat>,
    /// The licence of the origin.
    pub licence: &'static str,
    /// The expected counts.
    pub counts: Counts,
    /// Known flaws that affect results; may be empty.
    pub flaws: &'static str,
    /// Shares of training, validation and test nodes in the protocol.
    pub split: [f64; 3],
    /// Learning rate in the protocol.
    pub learning_rate: f64,
}

/// One published file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct File {
    /// Its name in the dataset's folder, and under the origin where there is no archive.
    pub name: &'static str,
    /// Its SHA-256 in hexadecimal; `None` where no checksum is known and the file is taken as it
    /// is.
    pub sha256: Option<&'static str>,
    /// Its path in the archive, where there is one.
    pub member: Option<&'static str>,
    /// Whether the dataset is unusable without it.
    pub required: bool,
}

impl File {
    /// A required file that is published by itself.
    const fn plain(name: &'static str, sha256: &'static str) -> Self {
        Self { name, sha256: Some(sha256), member: None, required: true }
    }
}

/// A dataset as one flat npz.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Flat {
    /// The file's name.
    pub name: &'static str,
    /// Its SHA-256 in hexadecimal.
    pub sha256: &'static str,
    /// Whether it holds everything; one without features does not.
    pub complete: bool,
}

impl Dataset {
    /// More bytes than any file of it has: 64 MiB, 16 bytes for a feature as text and 32 for an
    /// edge. A server that sends more would fill the disk before a checksum could be compared.
    pub(crate) fn most_bytes(&self) -> u64 {
        let Counts { nodes, edges, features, .. } = self.counts;
        let numbers = (nodes as u64).saturating_mul(features as u64).saturating_mul(16);
        numbers.saturating_add((edges as u64).saturating_mul(32)).saturating_add(64 << 20)
    }

    /// Whether this is its name or an alias, in any case.
    fn is_called(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
            || self.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))
    }
}

/// The expected counts of a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Nodes.
    pub nodes: usize,
    /// Distinct undirected edges without self-loops.
    pub edges: usize,
    /// The number of edges that may be missing, where only the length of the published list is
    /// known.
    pub edge_slack: usize,
    /// Features.
    pub features: usize,
    /// Classes.
    pub classes: usize,
}

/// The dataset of that name or alias, in any case.
///
/// ```
/// use boostfgl_data::catalogue::find;
/// assert_eq!(find("arxiv")?.name, "ogbn-arxiv");
/// assert_eq!(find("coar").unwrap_err().to_string(), "unknown dataset `coar` (did you mean `cora`?)");
/// # Ok::<(), boostfgl_graph::Error>(())
/// ```
///
/// # Errors
/// [`Error::Unknown`] with the nearest name, be it of a dataset or of a generator preset.
pub fn find(name: &str) -> Result<&'static Dataset> {
    DATASETS.iter().find(|dataset| dataset.is_called(name)).ok_or_else(|| {
        let datasets =
            DATASETS.iter().flat_map(|d| std::iter::once(&d.name).chain(d.aliases)).copied();
        Error::unknown(
            "dataset",
            name,
            datasets.chain(generator::PRESETS.iter().map(|preset| preset.name)),
        )
    })
}

/// Compares what was read with what the dataset should hold; one sentence per difference.
pub fn verify_counts(graph: &Graph, dataset: &Dataset) -> Vec<String> {
    let Counts { nodes, edges, edge_slack, features, classes } = dataset.counts;
    [
        ("nodes", nodes, graph.len(), 0),
        ("edges", edges, graph.adjacency().edges(), edge_slack),
        ("features", features, graph.features().columns(), 0),
        ("classes", classes, graph.classes(), 0),
    ]
    .into_iter()
    .filter(|&(_, expected, found, slack)| found > expected || found + slack < expected)
    .map(|(what, expected, found, _)| {
        format!("{}: expected {expected} {what}, found {found}", dataset.name)
    })
    .collect()
}
