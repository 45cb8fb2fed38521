//! From communities to exactly K clients of about the same size.
//!
//! The procedure of FedSage, FedTAD and OpenFGL, with N nodes, the limit ⌊N/K⌋ and a tolerance δ:
//!
//! 1. a community larger than ⌊N/K⌋ − δ is cut, in node order, into chunks of that size;
//! 2. chunks are placed largest first, walking round the clients: clients that hold ⌊N/K⌋ nodes
//!    leave the walk (the last one stays), and a chunk goes to the first client that stays below
//!    ⌊N/K⌋ + δ with it;
//! 3. a chunk that fits nowhere goes to the smallest client.
//!
//! The public programs differ in three corners, where this one does what they mean to do. Step 3 in
//! FedSage walks for ever, and in OpenFGL compares a client with itself. If ⌊N/K⌋ ≤ δ no chunk size
//! is left: chunks then have ⌊N/K⌋ nodes and fill clients up to ⌊N/K⌋. A client that ends up empty
//! takes half of the largest one.

use std::cmp::Reverse;

use boostfgl_graph::Graph;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::louvain::communities_watched;
use crate::partitioner::{check_clients, check_positive};
use crate::{Partitioner, Result};

/// Partitioner `louvain`: communities of the graph, cut and merged to K balanced clients.
///
/// The clients differ in topology and, where neighbours are alike, in their classes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Louvain {
    /// Resolution of Louvain's modularity, above 0.
    pub resolution: f64,
    /// Slack δ in nodes when Louvain's communities are merged to K clients.
    pub delta: usize,
}

impl Default for Louvain {
    fn default() -> Self {
        Self { resolution: 1.0, delta: DELTA }
    }
}

impl Partitioner for Louvain {
    fn name(&self) -> &'static str {
        "louvain"
    }

    fn summary(&self) -> &'static str {
        "Louvain communities, cut and merged to balanced clients"
    }

    fn check(&self) -> Result<()> {
        check_positive("partition.resolution", self.resolution)
    }

    fn assign(&self, graph: &Graph, clients: usize, seed: u64) -> Result<Vec<u32>> {
        self.assign_watched(graph, clients, seed, &mut |_| {})
    }

    fn assign_watched(
        &self,
        graph: &Graph,
        clients: usize,
        seed: u64,
        progress: &mut dyn FnMut(f64),
    ) -> Result<Vec<u32>> {
        self.check()?;
        check_clients(graph.len(), clients)?;
        let found = communities_watched(graph.adjacency(), self.resolution, seed, progress);
        cut_and_merge(&found.community, clients, self.delta)
    }
}

/// Cuts and merges communities to exactly `clients` clients, none of them empty; returns the client
/// of each node.
///
/// No client holds more than ⌊N/K⌋ + max(chunk size, δ) nodes. Deterministic: equal chunks stay in
/// the order of their communities' numbers, equal clients are taken lowest number first.
///
/// Time O(N log N + chunks · K), memory O(N).
///
/// # Errors
/// If there is no client, or K is larger than N.
///
/// ```
/// // One large community and two small ones: the large one is cut.
/// let clients = boostfgl_partition::merge::cut_and_merge(&[0, 0, 0, 0, 1, 2], 2, 0)?;
/// assert_eq!(clients, [0, 0, 0, 1, 1, 1]);
/// # Ok::<(), boostfgl_partition::Error>(())
/// ```
pub fn cut_and_merge(community: &[u32], clients: usize, delta: usize) -> Result<Vec<u32>> {
    check_clients(community.len(), clients)?;
    let limit = community.len() / clients;
    // Without room for the tolerance, the most a client may hold is the limit itself: `below` is
    // exclusive.
    let (size, below) = if limit > delta {
        (limit - delta, limit.saturating_add(delta.max(1)))
    } else {
        (limit, limit + 1)
    };

    let mut walk =
        Walk { held: vec![Vec::new(); clients], open: (0..clients).collect(), at: 0, limit, below };
    for chunk in chunks(community, size) {
        let owner = walk.owner(chunk.len());
        walk.held[owner].extend(chunk);
    }
    fill_empty(&mut walk.held);

    let mut client = vec![0u32; community.len()];
    for (k, nodes) in walk.held.iter().enumerate() {
        nodes.iter().for_each(|&v| client[v as usize] = k as u32);
    }
    Ok(client)
}

/// The communities cut to at most `size` nodes, largest chunk first.
fn chunks(community: &[u32], size: usize) -> Vec<Vec<u32>> {
    let mut nodes: Vec<u32> = (0..community.len() as u32).collect();
    nodes.sort_by_key(|&v| community[v as usize]);
    let mut chunks: Vec<Vec<u32>> = nodes
        .chunk_by(|&a, &b| community[a as usize] == community[b as usize])
        .flat_map(|members| members.chunks(size))
        .map(<[u32]>::to_vec)
        .collect();
    chunks.sort_by_key(|chunk| Reverse(chunk.len()));
    chunks
}

/// The walk round the clients, and what each of them holds.
struct Walk {
    /// The nodes of each client, in the order of their placing.
    held: Vec<Vec<u32>>,
    /// The clients still on the walk.
    open: Vec<usize>,
    /// The position in `open`. It stays at a client until that is full, as in the public programs.
    at: usize,
    /// ⌊N/K⌋: a client that holds as many nodes leaves the walk.
    limit: usize,
    /// A chunk must leave its client below this many nodes.
    below: usize,
}

impl Walk {
    /// The client that takes a chunk of `size` nodes.
    fn owner(&mut self, size: usize) -> usize {
        while self.open.len() >= 2 && self.held[self.open[self.at]].len() >= self.limit {
            self.open.remove(self.at);
            // The client after the removed one is now at the same position.
            self.at %= self.open.len();
        }
        for _ in 0..self.open.len() {
            let owner = self.open[self.at];
            if self.held[owner].len() + size < self.below {
                return owner;
            }
            self.at = (self.at + 1) % self.open.len();
        }
        // It fits nowhere. Of equally small clients `min_by_key` gives the first.
        (0..self.held.len()).min_by_key(|&k| self.held[k].len()).unwrap_or(0)
    }
}

/// Gives every empty client half of the largest one: what was placed there last, the smallest
/// communities.
fn fill_empty(held: &mut [Vec<u32>]) {
    while let Some(empty) = held.iter().position(Vec::is_empty) {
        // With K ≤ N and a client empty, some other one holds at least two nodes.
        let Some(largest) = (0..held.len()).max_by_key(|&k| (held[k].len(), Reverse(k))) else {
            return;
        };
        let keep = held[largest].len().div_ceil(2);
        held[empty] = held[largest].split_off(keep);
    }
}

/// δ of the public programs.
const DELTA: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    fn sizes(client: &[u32], clients: usize) -> Vec<usize> {
        let mut sizes = vec![0; clients];
        client.iter().for_each(|&k| sizes[k as usize] += 1);
        sizes
    }

    #[test]
    fn large_communities_are_cut_in_node_order() {
        // ⌊N/K⌋ = 100, δ = 20: chunks of 80, 80 and 40. With the last one neither client stays
        // below 120.
        let client = cut_and_merge(&vec![0; 200], 2, 20).unwrap();
        assert_eq!(sizes(&client, 2), [120, 80]);
        assert!(client[..80].iter().all(|&k| k == 0) && client[80..160].iter().all(|&k| k == 1));
    }

    #[test]
    fn a_chunk_that_fits_nowhere_goes_to_the_smallest() {
        // Limit 50, δ = 10, chunks 40, 40, 30: 40 + 30 is not below 60 for either, so the first of
        // the equals takes it …
        let community: Vec<u32> = [vec![0; 40], vec![1; 40], vec![2; 30]].concat();
        assert_eq!(sizes(&cut_and_merge(&community, 2, 10).unwrap(), 2), [70, 40]);
        // … and where one is smaller, that one does.
        let community: Vec<u32> = [vec![0; 45], vec![1; 40], vec![2; 25]].concat();
        assert_eq!(sizes(&cut_and_merge(&community, 2, 10).unwrap(), 2), [45, 65]);
    }

    #[test]
    fn tiny_graphs_are_dealt_evenly() {
        assert_eq!(cut_and_merge(&[0; 5], 5, 20).unwrap(), [0, 1, 2, 3, 4]);
        assert_eq!(sizes(&cut_and_merge(&[0; 7], 3, 20).unwrap(), 3), [3, 2, 2]);
        assert_eq!(cut_and_merge(&[0], 1, 20).unwrap(), [0]);
        assert_eq!(sizes(&cut_and_merge(&[0, 1, 2, 3], 2, usize::MAX).unwrap(), 2), [2, 2]);
    }

    #[test]
    fn no_client_stays_empty() {
        // ⌊N/K⌋ = 10, δ = 4: ten chunks of 6 pair up to 12 < 14, and the last client would get
        // nothing.
        let community: Vec<u32> = (0..60).map(|v| v / 6).collect();
        assert_eq!(sizes(&cut_and_merge(&community, 6, 4).unwrap(), 6), [6, 12, 12, 12, 12, 6]);
        let mut held = vec![vec![0, 1, 2], vec![], vec![3], vec![]];
        fill_empty(&mut held);
        assert_eq!(held, [vec![0], vec![2], vec![3], vec![1]]);
    }

    #[test]
    fn more_clients_than_nodes_is_an_error() {
        let error = cut_and_merge(&[0, 0], 3, 20).unwrap_err();
        assert_eq!(error.to_string(), "3 clients: K larger than the graph, which has 2 nodes");
        assert!(matches!(cut_and_merge(&[0, 0], 0, 20), Err(Error::NoClients)));
    }
}
