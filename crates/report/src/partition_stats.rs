//! `partition.json`: statistics of the partition.

use crate::Result;
use boostfgl_partition::Description;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The partitions of a run, seed by seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartitionStats {
    /// The version of this format: [`PartitionStats::VERSION`].
    pub version: u32,
    /// One entry per seed.
    pub seeds: Vec<SeedPartitionStats>,
}

/// The partition of one seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeedPartitionStats {
    /// The seed.
    pub seed: u64,
    /// The statistics of every client.
    #[serde(rename = "partition")]
    pub description: Description,
    /// The classes that count as minority, by number.
    pub minority_classes: Vec<usize>,
}

impl PartitionStats {
    /// The version of the format that this program writes, and the newest it reads.
    pub const VERSION: u32 = 1;

    /// The partitions of some seeds.
    pub fn new(seeds: Vec<SeedPartitionStats>) -> Self {
        Self { version: Self::VERSION, seeds }
    }

    /// The file's text, ending in a newline.
    pub fn to_json(&self) -> String {
        // Only maps with keys that are not strings or numbers and failing `Serialize` impls make
        // this fail.
        let mut json = serde_json::to_string(self).expect("a partition is representable as JSON");
        json.push('\n');
        json
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, is not of this format, or has a newer version.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        crate::version::read(path.as_ref(), Self::VERSION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use boostfgl_partition::ClientDescription;

    #[test]
    fn a_written_file_is_read_back() {
        let client = ClientDescription {
            nodes: 3,
            lost_edges: 2,
            lost_to: [(1, 2)].into(),
            ..Default::default()
        };
        let description = Description {
            graph: "g".into(),
            classes: vec!["a".into()],
            modularity: 0.25,
            clients: vec![client.clone(), client.clone()],
            total: client,
        };
        let file = PartitionStats::new(vec![SeedPartitionStats {
            seed: 7,
            description,
            minority_classes: vec![0],
        }]);
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("partition.json");
        std::fs::write(&path, file.to_json()).unwrap();
        assert_eq!(PartitionStats::read(&path).unwrap(), file);
        std::fs::write(&path, file.to_json().replace("\"version\":1", "\"version\":9")).unwrap();
        assert!(matches!(PartitionStats::read(&path), Err(Error::Newer { found: 9, .. })));
    }
}
