//! The optimised topology: the graph's edges, and edges between nodes with similar predictions of
//! the global model.
//!
//! S_ij = cos(softmax(P̂ᵢ), softmax(P̂ⱼ)) with a zero diagonal, Ã = a·A + (1 − a)·𝟙(S > threshold),
//! Â = D̃^{-1/2}(Ã + I)D̃^{-1/2} with D̃ the degrees of Ã + I. Up to a number of nodes all pairs are
//! compared. Above it a node is compared with the nodes of the same predicted class that are nearest
//! to it in order of confidence.

use crate::client::argmax;
use boostfgl_graph::Adjacency;
use boostfgl_nn::ops::Candidates;
use boostfgl_nn::{
    Csr, Matrix, Propagation, Real, SimilarityRelation, SmoothingOperator, softmax_rows,
};

/// Which nodes are compared with which, given predicted probabilities.
pub fn candidates<T: Real>(predicted: &Matrix<T>, threshold: f64, cap: usize) -> Candidates {
    // The softmax of probabilities, as published: it draws all cosines towards 1, so that useful
    // thresholds are near 1.
    let mut twice = predicted.clone();
    softmax_rows(&mut twice);
    // The order matters even where all pairs are compared: it places nodes with the same similar
    // nodes next to each other, so that their rows differ in few entries.
    let (order, nearest) = nearest_in_class(predicted, cap);
    let nodes = predicted.rows();
    let ranges = if nodes <= cap { vec![(0, nodes as u32); nodes] } else { nearest };
    Candidates::within(&twice, threshold, order, &ranges)
}

/// Nodes by predicted class and decreasing confidence, and for each node the range of positions of
/// up to `cap` nodes of its class around it.
fn nearest_in_class<T: Real>(predicted: &Matrix<T>, cap: usize) -> (Vec<u32>, Vec<(u32, u32)>) {
    let mut keyed = Vec::with_capacity(predicted.rows());
    for v in 0..predicted.rows() as u32 {
        let row = predicted.row(v as usize);
        let class = argmax(row);
        keyed.push((class, row[class as usize].f64(), v));
    }
    // Ties are broken by node, so that the order does not depend on the sorting algorithm.
    keyed.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
    let mut ranges = vec![(0, 0); keyed.len()];
    let reach = cap / 2;
    let mut start = 0;
    for class in keyed.chunk_by(|a, b| a.0 == b.0) {
        let end = start + class.len();
        for (position, (_, _, v)) in (start..).zip(class) {
            // Clipped to the class: nodes of another class are never compared.
            let from = position.saturating_sub(reach).max(start);
            let to = (position + reach + 1).min(end);
            ranges[*v as usize] = (from as u32, to as u32);
        }
        start = end;
    }
    (keyed.into_iter().map(|(_, _, v)| v).collect(), ranges)
}

/// Â = D̃^{-1/2}(a·A + (1 − a)·𝟙(S > threshold) + I)D̃^{-1/2}. `edges` has a weight for every arc
/// of the graph.
///
/// With B the relation in which a node is also similar to itself, the matrix in the middle is
/// a·(A + I) + (1 − a)·B.
pub fn operator<T: Real>(
    adjacency: &Adjacency,
    edges: &[f64],
    alike: SimilarityRelation,
    a: f64,
) -> SmoothingOperator<T> {
    let mut root = Vec::with_capacity(adjacency.len());
    for v in 0..adjacency.len() {
        let weights = scaled_arcs(adjacency, edges, a, v).map(|(_, weight)| weight);
        // The relation counts a node as similar to itself; the self-loop is the 1 of the degree.
        let others = (1.0 - a) * f64::from(alike.degrees()[v] - 1);
        let degree = 1.0 + weights.sum::<f64>() + others;
        root.push(1.0 / libm::sqrt(degree));
    }
    let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for v in 0..adjacency.len() {
        // The self-loop is inserted at the diagonal, so that rows stay sorted by column.
        let before = scaled_arcs(adjacency, edges, a, v).take_while(|(u, _)| (*u as usize) < v);
        let after = scaled_arcs(adjacency, edges, a, v).skip_while(|(u, _)| (*u as usize) < v);
        let row = before.chain(std::iter::once((v as u32, a))).chain(after);
        for (u, weight) in row.filter(|(_, weight)| *weight != 0.0) {
            indices.push(u);
            values.push(T::of(weight * root[v] * root[u as usize]));
        }
        offsets.push(indices.len());
    }
    let edges = Csr::new(adjacency.len(), offsets, indices, values);
    // Without a share for similar nodes the relation would only cost time.
    if a == 1.0 {
        return edges.into();
    }
    // Both factors of a product carry √(1 − a)·D̃^{-1/2}, so that B itself stays a 0/1 relation.
    let scale = root.iter().map(|root| T::of(libm::sqrt(1.0 - a) * root)).collect();
    SmoothingOperator::new(edges, scale, alike)
}

/// The neighbours of v with their entries of a·A.
fn scaled_arcs(
    adjacency: &Adjacency,
    edges: &[f64],
    a: f64,
    v: usize,
) -> impl Iterator<Item = (u32, f64)> {
    adjacency.arc_range(v).map(move |arc| (adjacency.indices()[arc], a * edges[arc]))
}

/// The weight of every arc of A: the graph's own, times the factor by which topology boosting
/// changed its message.
pub fn edge_weights<T: Real>(
    adjacency: &Adjacency,
    plain: &Propagation<T>,
    now: Option<&Csr<T>>,
) -> Vec<f64> {
    let pattern = boostfgl_nn::Pattern::of(adjacency);
    let mut weights = Vec::with_capacity(adjacency.arcs());
    for v in 0..adjacency.len() {
        for arc in adjacency.arc_range(v) {
            let own = adjacency.weights().map_or(1.0, |w| f64::from(w[arc]));
            let at = pattern.arc(v, arc);
            let ratio =
                now.map_or(1.0, |now| now.values()[at].f64() / plain.csr().values()[at].f64());
            weights.push(own * ratio);
        }
    }
    weights
}
