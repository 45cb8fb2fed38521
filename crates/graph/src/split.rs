//! The role of each node: training, validation or test.

use serde::{Deserialize, Serialize};

/// The role of a node: training, validation, test or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Its label enters the loss.
    Train,
    /// Its label may choose a round, never a parameter.
    Val,
    /// Its label is used for evaluation only.
    Test,
    /// Not used: no label, or outside a published split. Its features still propagate.
    None,
}

impl Role {
    /// The name used in files: `train`, `val`, `test`, `none`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Val => "val",
            Self::Test => "test",
            Self::None => "none",
        }
    }

    /// The role of that name; `valid` and `validation` are understood too.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "train" => Some(Self::Train),
            "val" | "valid" | "validation" => Some(Self::Val),
            "test" => Some(Self::Test),
            "none" | "" => Some(Self::None),
            _ => None,
        }
    }
}

/// One role per node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split(Vec<Role>);

impl Split {
    /// A split from one role per node.
    pub fn new(roles: Vec<Role>) -> Self {
        Self(roles)
    }

    /// The role of node `v`.
    pub fn role(&self, v: usize) -> Role {
        self.0[v]
    }

    /// All roles, in node order.
    pub fn roles(&self) -> &[Role] {
        &self.0
    }

    /// The nodes of one role, in increasing order.
    pub fn nodes(&self, role: Role) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().filter(move |(_, r)| **r == role).map(|(v, _)| v)
    }

    /// The number of nodes with `role`.
    pub fn count(&self, role: Role) -> usize {
        self.nodes(role).count()
    }

    /// The roles of `nodes`, in that order.
    pub fn select(&self, nodes: &[u32]) -> Self {
        Self(nodes.iter().map(|&v| self.0[v as usize]).collect())
    }
}
