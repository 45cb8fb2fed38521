//! The fingerprint of the data that a run was made on.

use serde::{Deserialize, Serialize};

/// BLAKE3 of a graph as it was read, in small hexadecimal digits: as a whole and part by part, so that one can say what changed.
///
/// It is the same for every file format that holds the same graph, and for every scaling of its features.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// Of all parts together.
    pub whole: String,
    /// Of nodes, their names, and edges with their weights and directions.
    pub structure: String,
    /// Of the features before any scaling.
    pub features: String,
    /// Of the labels.
    pub labels: String,
    /// Of the split that comes with the data.
    pub split: String,
}

impl Fingerprint {
    /// The parts in which two differ, by name.
    ///
    /// ```
    /// use boostfgl_report::Fingerprint;
    ///
    /// let one = Fingerprint { whole: "1".into(), features: "a".into(), ..Fingerprint::default() };
    /// let other = Fingerprint { whole: "2".into(), features: "b".into(), ..Fingerprint::default() };
    /// assert_eq!(one.differences(&other), ["features"]);
    /// assert!(one.differences(&one).is_empty());
    /// ```
    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        let parts = [
            ("structure", &self.structure, &other.structure),
            ("features", &self.features, &other.features),
            ("labels", &self.labels, &other.labels),
            ("split", &self.split, &other.split),
        ];
        parts.into_iter().filter(|(_, ours, theirs)| ours != theirs).map(|(name, _, _)| name).collect()
    }
}
