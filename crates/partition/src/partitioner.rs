//! Who gets which node: the trait, and the table of those who know.
//!
//! A new partitioner is one file with a settings struct that implements [`Partitioner`], and one
//! line in the table at the end of this file.

use boostfgl_graph::{Graph, Split, nearest};
use serde::{Deserialize, Serialize};

use crate::{Error, FromFile, LabelSkew, Louvain, Random, Result};

/// A way to divide the nodes of a graph among clients.
pub trait Partitioner: std::fmt::Debug + Send + Sync {
    /// The name in configuration files and on the command line.
    fn name(&self) -> &'static str;

    /// The client, below `clients`, of each node. No client is empty, and the same seed gives the
    /// same clients.
    ///
    /// # Errors
    /// If `clients` is 0 or larger than the number of nodes, or a setting makes no sense.
    fn assign(&self, graph: &Graph, clients: usize, seed: u64) -> Result<Vec<u32>>;

    /// The split that comes with the assignment, if one does: so far only a file has one.
    ///
    /// # Errors
    /// As for [`Partitioner::assign`].
    fn split(&self, graph: &Graph, seed: u64) -> Result<Option<Split>> {
        let _ = (graph, seed);
        Ok(None)
    }
}

/// One line of [`PARTITIONERS`].
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name in configuration files and on the command line.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Its default settings.
    pub default: fn() -> PartitionConfig,
}

/// The partitioner of that name with its default settings; `_` and `-` are the same.
///
/// # Errors
/// If there is none; the message suggests the nearest name.
///
/// ```
/// let error = boostfgl_partition::by_name("luvain").unwrap_err();
/// assert_eq!(error.to_string(), "unknown partitioner `luvain` (did you mean `louvain`?)");
/// ```
pub fn by_name(name: &str) -> Result<PartitionConfig> {
    let wanted = name.replace('_', "-");
    let entry = PARTITIONERS.iter().find(|entry| entry.name == wanted);
    entry.map(|entry| (entry.default)()).ok_or_else(|| Error::Unknown {
        name: name.to_owned(),
        suggestion: nearest(&wanted, PARTITIONERS.iter().map(|entry| entry.name))
            .map(str::to_owned),
    })
}

/// Refuses numbers of clients that leave somebody without a node.
pub(crate) fn check_clients(nodes: usize, clients: usize) -> Result<()> {
    match clients {
        0 => Err(Error::NoClients),
        _ if clients > nodes => Err(Error::TooManyClients { clients, nodes }),
        _ => Ok(()),
    }
}

/// Makes the settings enum and the table from one list, so that they cannot disagree.
macro_rules! partitioners {
    ($($(#[$attribute:meta])* $name:literal => $settings:ident, $summary:literal;)+) => {
        /// A partitioner with its settings, as in a configuration file: `name`, and the keys of
        /// that partitioner.
        ///
        /// ```
        /// # use boostfgl_partition::{LabelSkew, PartitionConfig};
        /// let config: PartitionConfig = serde_json::from_str(r#"{"name": "label-skew", "alpha": 0.5}"#)?;
        /// assert_eq!(config, PartitionConfig::LabelSkew(LabelSkew { alpha: 0.5 }));
        /// # Ok::<(), serde_json::Error>(())
        /// ```
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "name")]
        #[non_exhaustive]
        pub enum PartitionConfig {
            $(
                #[doc = $summary]
                #[serde(rename = $name)]
                $(#[$attribute])*
                $settings($settings),
            )+
        }

        impl PartitionConfig {
            /// The settings as what they are: a partitioner.
            fn partitioner(&self) -> &dyn Partitioner {
                match self {
                    $(Self::$settings(settings) => settings,)+
                }
            }
        }

        /// Every partitioner, in the order in which help shows them.
        pub static PARTITIONERS: &[Entry] = &[
            $(Entry {
                name: $name,
                summary: $summary,
                default: || PartitionConfig::$settings($settings::default()),
            },)+
        ];
    };
}

impl Partitioner for PartitionConfig {
    fn name(&self) -> &'static str {
        self.partitioner().name()
    }

    fn assign(&self, graph: &Graph, clients: usize, seed: u64) -> Result<Vec<u32>> {
        self.partitioner().assign(graph, clients, seed)
    }

    fn split(&self, graph: &Graph, seed: u64) -> Result<Option<Split>> {
        self.partitioner().split(graph, seed)
    }
}

impl Default for PartitionConfig {
    fn default() -> Self {
        Self::Louvain(Louvain::default())
    }
}

partitioners! {
    "louvain" => Louvain, "Louvain communities, cut and merged to balanced clients";
    #[serde(alias = "label_skew")]
    "label-skew" => LabelSkew, "each class spread over the clients by a Dirichlet draw; the \
        smaller alpha, the more uneven";
    "random" => Random, "nodes dealt at random, clients of equal size";
    "file" => FromFile, "a partition saved before, or made by hand, as CSV";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_the_table_the_trait_and_the_settings_agree() {
        for entry in PARTITIONERS {
            let config = (entry.default)();
            assert_eq!(config.name(), entry.name);
            assert_eq!(by_name(entry.name).unwrap(), config);
            let json = serde_json::to_value(&config).unwrap();
            assert_eq!(json["name"], entry.name);
            assert_eq!(serde_json::from_value::<PartitionConfig>(json).unwrap(), config);
        }
        assert_eq!(by_name("label_skew").unwrap().name(), "label-skew");
        assert!(matches!(by_name("metis"), Err(Error::Unknown { suggestion: None, .. })));
    }

    #[test]
    fn unknown_keys_are_refused() {
        let parse = |json: &str| serde_json::from_str::<PartitionConfig>(json);
        assert_eq!(parse(r#"{"name": "louvain"}"#).unwrap(), PartitionConfig::default());
        for json in [
            r#"{"name": "louvain", "resolutoin": 1}"#,
            r#"{"name": "random", "delta": 1}"#,
            r#"{"name": "label-skew", "delta": 1}"#,
            r#"{"name": "file", "file": "a.csv", "delta": 1}"#,
        ] {
            let message = parse(json).unwrap_err().to_string();
            assert!(message.contains("unknown field"), "{json}: {message}");
        }
        assert!(parse(r#"{"name": "file"}"#).is_err());
    }
}
