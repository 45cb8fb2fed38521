//! Class-wise knowledge reliability (CKR) of a client, from its features and its topology.
//!
//! A training node counts by its similarity to its neighbours, φᵥ = (1 + Σ_{u∈N(v)} cos(eᵥ, eᵤ))
//! / (|N(v)| + 1), with eᵥ = [xᵥ ‖ tᵥ] and tᵥ = [Tᵥᵥ, (T²)ᵥᵥ, …, (T⁵)ᵥᵥ] the probabilities that a
//! random walk is back after 1 … 5 steps. CKR of class c is Σ φᵥ over the training nodes of that
//! class. Where features have signs it may be below 0, which cannot be a share, and counts as 0.
//!
//! No n × n matrix is formed: walks are followed from one node at a time, as sparse vectors. On an
//! undirected graph walks are reversible, d_u (Tᵃ)_{uv} = d_v (Tᵃ)_{vu}, so that (Tᵃ⁺ᵇ)ᵥᵥ = dᵥ Σᵤ
//! (Tᵃ)_{vu} (Tᵇ)_{vu} / dᵤ: two steps out are enough for all five numbers. The cost of a node is
//! the number of arcs that leave its 2-hop neighbourhood.

use crate::local_data::LocalData;
use boostfgl_graph::Adjacency;
use boostfgl_nn::Real;
use rayon::prelude::*;

/// Length p of the longest walk.
pub const STEPS: usize = 5;

/// CKR of each class: C numbers, 0 for a class without a training node.
pub fn class_reliability<T: Real>(data: &LocalData<T>) -> Vec<f64> {
    let mut reliability = vec![0.0; data.classes()];
    for (&v, phi) in data.training().iter().zip(node_reliability(data)) {
        if let Some(class) = data.training_label(v as usize) {
            reliability[class as usize] += phi;
        }
    }
    reliability.iter_mut().filter(|sum| **sum < 0.0).for_each(|sum| *sum = 0.0);
    reliability
}

/// φᵥ of the training nodes, in their order; 1 for a node without neighbours.
pub fn node_reliability<T: Real>(data: &LocalData<T>) -> Vec<f64> {
    let embeddings = Embeddings::of(data);
    data.training().par_iter().map(|&v| embeddings.mean_similarity(v)).collect()
}

/// eᵥ = [xᵥ ‖ tᵥ] of the training nodes and their neighbours. Their features stay where they are.
struct Embeddings<'a, T> {
    data: &'a LocalData<T>,
    /// The nodes, increasing.
    nodes: Vec<u32>,
    /// tᵥ of each of them.
    topology: Vec<[f64; STEPS]>,
}

impl<'a, T: Real> Embeddings<'a, T> {
    fn of(data: &'a LocalData<T>) -> Self {
        let adjacency = data.adjacency();
        let mut nodes: Vec<u32> = data.training().to_vec();
        nodes.extend(data.training().iter().flat_map(|&v| adjacency.neighbours(v as usize)));
        nodes.sort_unstable();
        nodes.dedup();
        let topology = return_probabilities(adjacency, &nodes);
        Self { data, nodes, topology }
    }

    /// φᵥ of a training node.
    fn mean_similarity(&self, v: u32) -> f64 {
        let neighbours = self.data.adjacency().neighbours(v as usize);
        (1.0 + neighbours.iter().map(|&u| self.cosine(v, u)).sum::<f64>())
            / (neighbours.len() + 1) as f64
    }

    /// cos(eᵥ, eᵤ); 0 if one of them is 0.
    fn cosine(&self, v: u32, u: u32) -> f64 {
        let lengths = libm::sqrt(self.dot(v, v) * self.dot(u, u));
        if lengths > 0.0 { self.dot(v, u) / lengths } else { 0.0 }
    }

    /// eᵥ · eᵤ.
    fn dot(&self, v: u32, u: u32) -> f64 {
        let walks: f64 = self.topology(v).iter().zip(self.topology(u)).map(|(a, b)| a * b).sum();
        self.data.inputs().feature_dot(v as usize, u as usize) + walks
    }

    fn topology(&self, v: u32) -> &[f64; STEPS] {
        match self.nodes.binary_search(&v) {
            Ok(at) => &self.topology[at],
            Err(_) => unreachable!("node {v} is a training node or next to one"),
        }
    }
}

/// [Tᵥᵥ, …, (T⁵)ᵥᵥ] of some nodes, T = A D⁻¹. Edge weights, where the graph has them, stand for the
/// ones of A. For a node without neighbours all are 0.
///
/// ```
/// use boostfgl_fed::methods::fedtad::reliability::return_probabilities;
/// let (pair, _) = boostfgl_graph::Adjacency::from_edges(3, &[(0, 1)], None, false)?;
/// assert_eq!(return_probabilities(&pair, &[0, 2]), [[0.0, 1.0, 0.0, 1.0, 0.0], [0.0; 5]]);
/// # Ok::<(), boostfgl_graph::Error>(())
/// ```
pub fn return_probabilities(adjacency: &Adjacency, nodes: &[u32]) -> Vec<[f64; STEPS]> {
    let walks = Walks::new(adjacency);
    nodes
        .par_iter()
        .map_init(|| vec![0.0; adjacency.len()], |scratch, &v| walks.back_at(v, scratch))
        .collect()
}

/// Random walks against the arcs of a graph: from v to one of the nodes that send to it.
struct Walks<'a> {
    adjacency: &'a Adjacency,
    /// dᵥ, the weights of the arcs into v.
    degrees: Vec<f64>,
}

impl<'a> Walks<'a> {
    fn new(adjacency: &'a Adjacency) -> Self {
        let degrees = (0..adjacency.len())
            .map(|v| adjacency.arc_range(v).map(|arc| weight(adjacency, arc)).sum())
            .collect();
        Self { adjacency, degrees }
    }

    /// The probabilities of being back at v. `scratch` has a zero for each node, before and after.
    fn back_at(&self, v: u32, scratch: &mut [f64]) -> [f64; STEPS] {
        if self.adjacency.is_directed() {
            self.followed(v, scratch)
        } else {
            self.halfway(v, scratch)
        }
    }

    /// By following the walk for all steps: arcs that point one way give no reversible walk.
    fn followed(&self, v: u32, scratch: &mut [f64]) -> [f64; STEPS] {
        let mut walk = vec![(v, 1.0)];
        std::array::from_fn(|_| {
            walk = self.step(&walk, scratch);
            walk.iter().find(|(u, _)| *u == v).map_or(0.0, |(_, mass)| *mass)
        })
    }

    /// From the first two steps alone, by reversibility: a walk out and back meets itself halfway.
    fn halfway(&self, v: u32, scratch: &mut [f64]) -> [f64; STEPS] {
        let one = self.step(&[(v, 1.0)], scratch);
        let two = self.step(&one, scratch);
        let own = self.degrees[v as usize];
        for (u, mass) in &two {
            scratch[*u as usize] = mass / self.degrees[*u as usize];
        }
        let third: f64 = one.iter().map(|(u, mass)| mass * scratch[*u as usize]).sum();
        // The fifth power: two steps out, one step between the ends, two steps back.
        let fifth: f64 =
            two.iter().map(|(u, _)| scratch[*u as usize] * self.arriving(*u, scratch)).sum();
        // `step` expects zeros. Only touched entries are cleared, which keeps the cost of a node
        // independent of the size of the graph.
        two.iter().for_each(|(u, _)| scratch[*u as usize] = 0.0);
        let (second, fourth) = (self.out_and_back(&one), self.out_and_back(&two));
        // The graph has no self-loops, so that no walk is back after one step.
        [0.0, own * second, own * third, own * fourth, own * fifth]
    }

    /// Σᵤ (Tᵃ)_{vu}² / dᵤ of the distribution of a walk after a steps.
    fn out_and_back(&self, walk: &[(u32, f64)]) -> f64 {
        walk.iter().map(|(u, mass)| mass * (mass / self.degrees[*u as usize])).sum()
    }

    /// The sum of `values` over the neighbours of u, weighted by the arcs to them.
    fn arriving(&self, u: u32, values: &[f64]) -> f64 {
        let arcs = self.adjacency.arc_range(u as usize);
        arcs.map(|arc| weight(self.adjacency, arc) * values[self.adjacency.indices()[arc] as usize])
            .sum()
    }

    /// The distribution of a walk one step later, in the order in which nodes are reached.
    fn step(&self, from: &[(u32, f64)], scratch: &mut [f64]) -> Vec<(u32, f64)> {
        let mut reached = Vec::new();
        for (v, mass) in from {
            let share = mass / self.degrees[*v as usize];
            for arc in self.adjacency.arc_range(*v as usize) {
                let u = self.adjacency.indices()[arc];
                // A 0 marks a node that was not reached yet in this step.
                if scratch[u as usize] == 0.0 {
                    reached.push(u);
                }
                scratch[u as usize] += share * weight(self.adjacency, arc);
            }
        }
        reached.into_iter().map(|u| (u, std::mem::take(&mut scratch[u as usize]))).collect()
    }
}

/// The weight of an arc; 1 in a graph without weights.
fn weight(adjacency: &Adjacency, arc: usize) -> f64 {
    adjacency.weights().map_or(1.0, |w| f64::from(w[arc]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The diagonals of T, T², … by dense products.
    fn dense(adjacency: &Adjacency) -> Vec<[f64; STEPS]> {
        let n = adjacency.len();
        let mut t = vec![vec![0.0; n]; n];
        for (v, row) in t.iter_mut().enumerate() {
            let total: f64 = adjacency.arc_range(v).map(|arc| weight(adjacency, arc)).sum();
            for arc in adjacency.arc_range(v) {
                row[adjacency.indices()[arc] as usize] = weight(adjacency, arc) / total;
            }
        }
        let mut power = t.clone();
        let mut out = vec![[0.0; STEPS]; n];
        for p in 0..STEPS {
            out.iter_mut().enumerate().for_each(|(v, out)| out[p] = power[v][v]);
            let cell = |v: usize, u: usize| (0..n).map(|w| power[v][w] * t[w][u]).sum::<f64>();
            power = (0..n).map(|v| (0..n).map(|u| cell(v, u)).collect()).collect();
        }
        out
    }

    proptest! {
        #[test]
        fn return_probabilities_are_the_diagonals_of_powers(
            edges in prop::collection::vec((0u32..9, 0u32..9, 0.5f32..3.0), 0..30),
            weighted in any::<bool>(),
            directed in any::<bool>(),
        ) {
            let weights: Vec<f32> = edges.iter().map(|e| e.2).collect();
            let edges: Vec<(u32, u32)> = edges.iter().map(|e| (e.0, e.1)).collect();
            let (a, _) = Adjacency::from_edges(9, &edges, weighted.then_some(&weights[..]), directed).unwrap();
            let nodes: Vec<u32> = (0..9).collect();
            for (found, expected) in return_probabilities(&a, &nodes).iter().zip(dense(&a)) {
                for (x, y) in found.iter().zip(expected) {
                    prop_assert!((x - y).abs() < 1e-12, "{x} is not {y}");
                }
            }
        }
    }
}
