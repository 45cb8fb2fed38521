//! The graph of one client.

use boostfgl_graph::{Graph, Role, Split};

/// The part of a graph that one client holds.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientGraph {
    /// The client's number, 0..K.
    pub id: usize,
    /// Its nodes as the whole graph numbers them, increasing; node i of `graph` is `nodes[i]`
    /// there.
    pub nodes: Vec<u32>,
    /// The induced subgraph. Classes are the global ones.
    pub graph: Graph,
    /// Roles for training and evaluation; [`Graph::split`] of `graph` is still the published one.
    pub split: Split,
    /// Edges of its nodes that lead to other clients and were dropped. The sum over clients is
    /// twice [`Partition::lost_edges`](crate::Partition::lost_edges), because each is lost at both
    /// ends.
    pub lost_edges: usize,
}

impl ClientGraph {
    /// Number of nodes n_k, at least 1.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no node; never true for a client of a [`Partition`](crate::Partition).
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The local numbers of the training nodes, increasing; may be empty.
    pub fn training_nodes(&self) -> Vec<u32> {
        self.split.nodes(Role::Train).map(|i| i as u32).collect()
    }

    /// The number of nodes of each class with `role`; 0 for classes that the client does not have.
    pub fn class_counts(&self, role: Role) -> Vec<usize> {
        self.graph.labels().counts(self.split.nodes(role))
    }
}
