//! A partition: the client and the role of every node, for one seed.

use std::path::Path;

use boostfgl_graph::{Adjacency, Graph, Split};

use crate::partitioner::check_clients;
use crate::{ClientGraph, Partitioner, Result, SplitRule, file};

/// The client and the role of every node of a graph.
///
/// Every client has at least one node. It may have no edge, no labelled node or no training node;
/// [`Description::notes`](crate::Description::notes) reports this, and training skips such a
/// client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    clients: usize,
    client: Vec<u32>,
    split: Split,
}

impl Partition {
    /// A partition from one client and one role per node.
    ///
    /// # Errors
    /// If there are not as many roles as nodes, a node names a client that does not exist, or a
    /// client has no node.
    pub fn new(clients: usize, client: Vec<u32>, split: Split) -> Result<Self> {
        use boostfgl_graph::Error;
        check_clients(client.len(), clients)?;
        if split.roles().len() != client.len() {
            let expected = format!("{} roles, one per node", client.len());
            return Err(
                Error::inconsistent("split", expected, split.roles().len().to_string()).into()
            );
        }
        let mut present = vec![false; clients];
        for (v, &k) in client.iter().enumerate() {
            let Some(seen) = present.get_mut(k as usize) else {
                let expected = format!("a number below {clients}");
                return Err(Error::inconsistent(
                    format!("client of node {v}"),
                    expected,
                    k.to_string(),
                )
                .into());
            };
            *seen = true;
        }
        match present.iter().position(|seen| !seen) {
            Some(k) => {
                Err(Error::inconsistent(format!("client {k}"), "at least one node", "none").into())
            }
            None => Ok(Self { clients, client, split }),
        }
    }

    /// Divides `graph` among `clients`, then splits inside each client, unless the partitioner
    /// has a split of its own.
    ///
    /// # Errors
    /// Those of the partitioner and of the rule.
    pub fn draw(
        graph: &Graph,
        partitioner: &dyn Partitioner,
        clients: usize,
        rule: &SplitRule,
        seed: u64,
    ) -> Result<Self> {
        Self::draw_watched(graph, (partitioner, clients), rule, seed, &mut |_| {})
    }

    /// Like [`Partition::draw`], with a partitioner for a number of clients; `progress` is called
    /// with the share that is done.
    ///
    /// # Errors
    /// As [`Partition::draw`].
    pub fn draw_watched(
        graph: &Graph,
        (partitioner, clients): (&dyn Partitioner, usize),
        rule: &SplitRule,
        seed: u64,
        progress: &mut dyn FnMut(f64),
    ) -> Result<Self> {
        let client = partitioner.assign_watched(graph, clients, seed, progress)?;
        let split = match partitioner.split(graph, seed)? {
            Some(split) => split,
            None => rule.draw(graph, &client, seed)?,
        };
        Self::new(clients, client, split)
    }

    /// Reads the partition of `seed` from a file, with the number of clients in it; `rule` is
    /// used if the file has no `split` column. See [`file`](mod@crate::file).
    ///
    /// # Errors
    /// Those of [`file::read`] and of the rule.
    pub fn from_file(path: &Path, graph: &Graph, rule: &SplitRule, seed: u64) -> Result<Self> {
        let saved = file::read(path, graph, seed)?;
        let split = match saved.split {
            Some(split) => split,
            None => rule.draw(graph, &saved.client, seed)?,
        };
        Self::new(saved.clients, saved.client, split)
    }

    /// Number of clients K.
    pub fn clients(&self) -> usize {
        self.clients
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.client.len()
    }

    /// Whether there is no node; never true.
    pub fn is_empty(&self) -> bool {
        self.client.is_empty()
    }

    /// The client of node `v`.
    pub fn client_of(&self, v: usize) -> usize {
        self.client[v] as usize
    }

    /// The client of every node.
    pub fn assignment(&self) -> &[u32] {
        &self.client
    }

    /// The role of every node.
    pub fn split(&self) -> &Split {
        &self.split
    }

    /// The number of edges between clients, which are dropped. Time O(m).
    ///
    /// Counted as [`Adjacency::edges`] counts: an undirected edge once.
    pub fn lost_edges(&self, graph: &Graph) -> usize {
        edges(graph.adjacency())
            .filter(|&(a, b)| self.client[a as usize] != self.client[b as usize])
            .count()
    }

    /// The graph of every client: its nodes, the edges among them, and the roles of its nodes.
    ///
    /// Time O(K·n + m) and a copy of the features.
    ///
    /// # Panics
    /// If `graph` has another number of nodes than the partition.
    pub fn client_graphs(&self, graph: &Graph) -> Vec<ClientGraph> {
        assert_eq!(graph.len(), self.len(), "a partition of another graph");
        let mut nodes = vec![Vec::new(); self.clients];
        for (v, &k) in self.client.iter().enumerate() {
            nodes[k as usize].push(v as u32);
        }
        let lost = self.lost_by_client(graph);
        nodes
            .into_iter()
            .enumerate()
            .map(|(id, nodes)| ClientGraph {
                id,
                graph: graph.induced(&nodes),
                split: self.split.select(&nodes),
                nodes,
                lost_edges: lost[id],
            })
            .collect()
    }

    /// The whole graph as a single client with the same roles, for centralised training.
    ///
    /// # Panics
    /// If `graph` has another number of nodes than the partition.
    pub fn whole(&self, graph: &Graph) -> ClientGraph {
        assert_eq!(graph.len(), self.len(), "a partition of another graph");
        let nodes = (0..graph.len() as u32).collect();
        ClientGraph { id: 0, nodes, graph: graph.clone(), split: self.split.clone(), lost_edges: 0 }
    }

    /// The number of lost edges of each client. Each counts at both of its clients.
    pub(crate) fn lost_by_client(&self, graph: &Graph) -> Vec<usize> {
        let mut lost = vec![0; self.clients];
        for (a, b) in edges(graph.adjacency()) {
            let (from, to) = (self.client_of(a as usize), self.client_of(b as usize));
            if from != to {
                lost[from] += 1;
                lost[to] += 1;
            }
        }
        lost
    }
}

/// Every edge (source, target) once.
pub(crate) fn edges(adjacency: &Adjacency) -> impl Iterator<Item = (u32, u32)> + '_ {
    let directed = adjacency.is_directed();
    (0..adjacency.len()).flat_map(move |v| {
        let target = v as u32;
        adjacency
            .neighbours(v)
            .iter()
            .map(move |&u| (u, target))
            .filter(move |(u, v)| directed || u < v)
    })
}

#[cfg(test)]
mod tests {
    use boostfgl_graph::{Features, Labels, Role};

    use super::*;

    fn path(directed: bool) -> Graph {
        let (adjacency, _) =
            Adjacency::from_edges(4, &[(0, 1), (1, 2), (2, 3)], None, directed).unwrap();
        let labels = Labels::from_integers(&[0, 1, -1, 0], 2).unwrap();
        Graph::new(
            "path",
            adjacency,
            Features::dense(4, 1, vec![0.0, 1.0, 2.0, 3.0]).unwrap(),
            labels,
        )
        .unwrap()
    }

    fn roles() -> Split {
        Split::new(vec![Role::Train, Role::Test, Role::None, Role::Val])
    }

    #[test]
    fn clients_get_their_nodes_edges_and_roles() {
        for directed in [false, true] {
            let graph = path(directed);
            let partition = Partition::new(2, vec![0, 0, 1, 1], roles()).unwrap();
            assert_eq!(partition.lost_edges(&graph), 1);
            let clients = partition.client_graphs(&graph);
            let [first, second] = &clients[..] else { panic!("two clients") };
            assert_eq!((first.id, &first.nodes[..], first.lost_edges), (0, &[0, 1][..], 1));
            assert_eq!((second.id, &second.nodes[..], second.lost_edges), (1, &[2, 3][..], 1));
            assert_eq!(first.graph.adjacency().edges() + second.graph.adjacency().edges(), 2);
            assert_eq!(second.split.roles(), [Role::None, Role::Val]);
            let whole = partition.whole(&graph);
            assert_eq!((whole.graph.adjacency().edges(), whole.lost_edges, whole.len()), (3, 0, 4));
        }
    }

    #[test]
    fn a_client_may_have_one_node_no_edge_and_no_training_node() {
        let partition = Partition::new(2, vec![0, 0, 1, 0], roles()).unwrap();
        let alone = &partition.client_graphs(&path(false))[1];
        assert_eq!((alone.len(), alone.graph.adjacency().edges(), alone.lost_edges), (1, 0, 2));
        assert!(alone.training_nodes().is_empty());
        assert_eq!(alone.class_counts(Role::Train), [0, 0]);
    }

    #[test]
    fn errors_name_what_does_not_fit() {
        let message = |clients, client: &[u32], split| {
            Partition::new(clients, client.to_vec(), split).unwrap_err().to_string()
        };
        assert_eq!(
            message(2, &[0, 0, 2, 1], roles()),
            "client of node 2: expected a number below 2, found 2"
        );
        assert_eq!(
            message(3, &[0, 0, 2, 2], roles()),
            "client 1: expected at least one node, found none"
        );
        assert_eq!(message(1, &[0, 0], roles()), "split: expected 2 roles, one per node, found 4");
        assert_eq!(
            message(5, &[0; 4], roles()),
            "5 clients: K larger than the graph, which has 4 nodes"
        );
    }
}
