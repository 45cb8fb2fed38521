//! The graph that a client learns to mend: its own without some hidden nodes, which give the true
//! missing neighbours.

use crate::client_rule::positions;
use crate::local_data::LocalData;
use boostfgl_graph::{Adjacency, Stream};
use boostfgl_nn::backbones::ViewPlan;
use boostfgl_nn::{Real, RowMean, View};

/// Ḡ, a client's graph without the hidden nodes. Its nodes are numbered by their position in
/// `kept`.
#[derive(Debug)]
pub(super) struct Impaired<T> {
    /// The remaining nodes of the client's graph, increasing.
    pub(super) kept: Vec<u32>,
    pub(super) adjacency: Adjacency,
    /// D̃⁻¹(Ā + I).
    pub(super) mean: RowMean<T>,
    /// X of the remaining nodes.
    pub(super) features: View<T>,
    /// The training nodes, all of which remain, increasing.
    pub(super) training: Vec<u32>,
    /// The hidden neighbours of each training node, as nodes of the client's graph, increasing.
    pub(super) missing: Vec<Vec<u32>>,
    /// The largest number p of them that generated neighbours are compared with.
    pub(super) most: usize,
    /// Whether a generated neighbour of a node can reach a training node by the classifier's two
    /// hops: whether the node is a training node or a neighbour of one. Features of other nodes
    /// would change neither the loss nor a gradient.
    pub(super) reached: Vec<bool>,
}

impl<T: Real> Impaired<T> {
    /// Hides ⌊share · validation nodes⌋ validation nodes; at most `most` missing neighbours of a
    /// node are compared with.
    pub(super) fn new(data: &LocalData<T>, share: f64, most: usize, seed: u64) -> Self {
        let mut hidden: Vec<u32> = data.validation_nodes().collect();
        let count = (share * hidden.len() as f64) as usize;
        Stream::new(seed, "hide", &[data.id() as u64]).shuffle(&mut hidden);
        hidden.truncate(count);
        // Sorted for binary search.
        hidden.sort_unstable();
        let kept: Vec<u32> =
            (0..data.len() as u32).filter(|v| hidden.binary_search(v).is_err()).collect();
        let adjacency = data.adjacency().induced(&kept);
        let training = positions(data.training(), &kept);
        let missing = data
            .training()
            .iter()
            .map(|&v| common(data.adjacency().neighbours(v as usize), &hidden))
            .collect();
        let mut reached = vec![false; kept.len()];
        for &v in &training {
            reached[v as usize] = true;
            adjacency.neighbours(v as usize).iter().for_each(|&u| reached[u as usize] = true);
        }
        let plan = ViewPlan::FEATURES;
        Self {
            mean: RowMean::of(&adjacency),
            features: View::training(data.inputs(), kept.clone(), plan),
            missing,
            most,
            kept,
            adjacency,
            training,
            reached,
        }
    }

    /// The hidden neighbours of a node, if it is a training node that has any.
    pub(super) fn missing_of(&self, v: u32) -> Option<&[u32]> {
        let at = self.training.binary_search(&v).ok()?;
        Some(&self.missing[at][..]).filter(|missing| !missing.is_empty())
    }
}

/// Those of `nodes` that are also in `sorted`, in their order.
fn common(nodes: &[u32], sorted: &[u32]) -> Vec<u32> {
    nodes.iter().copied().filter(|v| sorted.binary_search(v).is_ok()).collect()
}
