//! The sets of nodes that are evaluated separately.

use serde::{Deserialize, Serialize};

/// A set of evaluated nodes, by what puts a node at a disadvantage.
///
/// Which classes are minority classes and which nodes are heterophilous is decided on the graph;
/// here they are one flag each per node. A node of a class that nothing is known of (no training
/// node) is neither minority nor majority. [`Group::Homophilous`] is the complement of
/// [`Group::Heterophilous`] within the evaluated nodes, so it also holds the nodes without
/// neighbours, which have no homophily at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// Every evaluated node.
    All,
    /// At least half of its neighbours are of another class.
    Heterophilous,
    /// Not heterophilous.
    Homophilous,
    /// Of a minority class.
    Minority,
    /// Of a class that is counted and not a minority class.
    Majority,
    /// Of a minority class and heterophilous: the worst off.
    HeteMin,
}

impl Group {
    /// Every group, in the order of tables.
    pub const EVERY: [Self; 6] = [
        Self::All,
        Self::Heterophilous,
        Self::Homophilous,
        Self::Minority,
        Self::Majority,
        Self::HeteMin,
    ];

    /// The name in files: `all`, `heterophilous`, `homophilous`, `minority`, `majority`,
    /// `hete_min`.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Heterophilous => "heterophilous",
            Self::Homophilous => "homophilous",
            Self::Minority => "minority",
            Self::Majority => "majority",
            Self::HeteMin => "hete_min",
        }
    }

    /// The nodes of the group, in a sentence.
    pub fn nodes(self) -> &'static str {
        match self {
            Self::All => "all nodes",
            Self::Heterophilous => "heterophilous nodes",
            Self::Homophilous => "homophilous nodes",
            Self::Minority => "minority nodes",
            Self::Majority => "majority nodes",
            Self::HeteMin => "heterophilous minority nodes",
        }
    }

    /// Whether a node with these flags belongs to the group.
    ///
    /// ```
    /// use boostfgl_fairness::Group;
    /// assert!(Group::HeteMin.contains(Some(true), true));
    /// assert!(!Group::HeteMin.contains(Some(true), false));
    /// assert!(!Group::Majority.contains(None, true));
    /// ```
    pub fn contains(self, minority: Option<bool>, heterophilous: bool) -> bool {
        match self {
            Self::All => true,
            Self::Heterophilous => heterophilous,
            Self::Homophilous => !heterophilous,
            Self::Minority => minority == Some(true),
            Self::Majority => minority == Some(false),
            Self::HeteMin => minority == Some(true) && heterophilous,
        }
    }
}

/// How many evaluated nodes each group has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupSizes {
    /// Evaluated nodes.
    pub all: usize,
    /// Heterophilous ones.
    pub heterophilous: usize,
    /// The others.
    pub homophilous: usize,
    /// Those of a minority class.
    pub minority: usize,
    /// The others.
    pub majority: usize,
    /// Those of a minority class that are heterophilous.
    pub hete_min: usize,
}

impl GroupSizes {
    /// The size of one group.
    pub fn of(&self, group: Group) -> usize {
        match group {
            Group::All => self.all,
            Group::Heterophilous => self.heterophilous,
            Group::Homophilous => self.homophilous,
            Group::Minority => self.minority,
            Group::Majority => self.majority,
            Group::HeteMin => self.hete_min,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_ones_in_files() {
        for group in Group::EVERY {
            assert_eq!(serde_json::to_value(group).unwrap(), group.name());
        }
    }
}
