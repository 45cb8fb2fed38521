//! The fingerprint of the data of a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// BLAKE3 of a graph as it was read, in lower-case hexadecimal: as a whole and part by part, so that
/// a change can be located.
///
/// It is the same for every file format that holds the same graph, and for every scaling of its
/// features.
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
    /// Of each group column, by name. They do not influence training and are not part of `whole`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub groups: BTreeMap<String, String>,
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
        parts
            .into_iter()
            .filter(|(_, ours, theirs)| ours != theirs)
            .map(|(name, _, _)| name)
            .collect()
    }

    /// The group columns of `self` that have other values in `later`, or are missing there. A column
    /// that only `later` has was added for evaluation and is not a change.
    ///
    /// ```
    /// use boostfgl_report::Fingerprint;
    ///
    /// let with = |columns: &[(&str, &str)]| Fingerprint {
    ///     groups: columns.iter().map(|(name, digest)| (name.to_string(), digest.to_string())).collect(),
    ///     ..Fingerprint::default()
    /// };
    /// let then = with(&[("sex", "a"), ("town", "b")]);
    /// assert_eq!(then.changed_groups(&with(&[("age", "c"), ("sex", "d"), ("town", "b")])), ["sex"]);
    /// assert_eq!(then.changed_groups(&with(&[("sex", "a")])), ["town"]);
    /// ```
    pub fn changed_groups(&self, later: &Self) -> Vec<&str> {
        self.groups
            .iter()
            .filter(|(name, digest)| later.groups.get(*name) != Some(*digest))
            .map(|(name, _)| name.as_str())
            .collect()
    }
}
