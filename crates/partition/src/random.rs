//! Random partition: every client gets the same number of nodes, drawn at random.

use boostfgl_graph::{Graph, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::partitioner::check_clients;
use crate::{Partitioner, Result};

/// Partitioner `random`: nodes are shuffled and dealt one by one, so client sizes differ by at most
/// one.
///
/// The clients look alike in their classes, but lose about (K−1)/K of all edges: the hardest case
/// for topology.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Random {}

impl Partitioner for Random {
    fn name(&self) -> &'static str {
        "random"
    }

    fn summary(&self) -> &'static str {
        "nodes dealt at random, clients of equal size"
    }

    fn assign(&self, graph: &Graph, clients: usize, seed: u64) -> Result<Vec<u32>> {
        check_clients(graph.len(), clients)?;
        let mut order: Vec<u32> = (0..graph.len() as u32).collect();
        Stream::new(seed, "random partition", &[]).shuffle(&mut order);
        let mut client = vec![0; graph.len()];
        for (turn, v) in order.into_iter().enumerate() {
            client[v as usize] = (turn % clients) as u32;
        }
        Ok(client)
    }
}
