//! The optimised topology: edges of the graph and pairs of nodes for which the global model predicts the same.
//!
//! S_ij = cos(softmax(P̂ᵢ), softmax(P̂ⱼ)) with a zero diagonal, Ã = a·A + (1 − a)·𝟙(S > threshold), Â = D̃^{-1/2}(Ã + I)D̃^{-1/2}
//! with D̃ the degrees of Ã + I. All pairs are compared, up to a number of nodes; beyond it a node is compared with the
//! nodes of the same predicted class that stand next to it in order of confidence.

use boostfgl_graph::Adjacency;
use boostfgl_nn::ops::Candidates;
use boostfgl_nn::{Csr, Matrix, Propagation, Real, softmax_rows};

/// Who is compared with whom, given predicted probabilities.
pub fn candidates<T: Real>(predicted: &Matrix<T>, threshold: f64, cap: usize) -> Candidates<T> {
    let mut twice = predicted.clone();
    softmax_rows(&mut twice);
    if predicted.rows() <= cap {
        return Candidates::all(&twice, threshold);
    }
    let (order, ranges) = nearest_in_class(predicted, cap);
    Candidates::within(&twice, threshold, order, &ranges)
}

/// Nodes by predicted class and falling confidence, and for each node the places of up to `cap` of its class around it.
fn nearest_in_class<T: Real>(predicted: &Matrix<T>, cap: usize) -> (Vec<u32>, Vec<(u32, u32)>) {
    let best = |v: u32| {
        let row = predicted.row(v as usize);
        let class = (0..row.len()).fold(0, |best, c| if row[c] > row[best] { c } else { best });
        (class, row[class].f64())
    };
    let mut keyed: Vec<(usize, f64, u32)> = (0..predicted.rows() as u32).map(|v| (best(v).0, best(v).1, v)).collect();
    keyed.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
    let mut ranges = vec![(0, 0); keyed.len()];
    let reach = cap / 2;
    let mut start = 0;
    for class in keyed.chunk_by(|a, b| a.0 == b.0) {
        let end = start + class.len();
        for (at, (_, _, v)) in (start..).zip(class) {
            let (from, to) = (at.saturating_sub(reach).max(start), (at + reach + 1).min(end));
            ranges[*v as usize] = (from as u32, to as u32);
        }
        start = end;
    }
    (keyed.into_iter().map(|(_, _, v)| v).collect(), ranges)
}

/// Â. `edges` has a weight for every arc of the graph.
pub fn operator<T: Real>(adjacency: &Adjacency, edges: &[f64], alike: &[Vec<u32>], a: f64) -> Csr<T> {
    let rows: Vec<Vec<(u32, f64)>> =
        (0..adjacency.len()).map(|v| mixed_row(adjacency, edges, &alike[v], a, v)).collect();
    let degree = |row: &Vec<(u32, f64)>| 1.0 + row.iter().map(|(_, w)| w).sum::<f64>();
    let root: Vec<f64> = rows.iter().map(|row| 1.0 / libm::sqrt(degree(row))).collect();
    let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for (v, row) in rows.into_iter().enumerate() {
        let before = row.partition_point(|(u, _)| (*u as usize) < v);
        let own = std::iter::once((v as u32, 1.0));
        for (u, weight) in row[..before].iter().copied().chain(own).chain(row[before..].iter().copied()) {
            indices.push(u);
            values.push(T::of(weight * root[v] * root[u as usize]));
        }
        offsets.push(indices.len());
    }
    Csr::new(adjacency.len(), offsets, indices, values)
}

/// Row v of Ã, in increasing order of columns, without zeros.
fn mixed_row(adjacency: &Adjacency, edges: &[f64], alike: &[u32], a: f64, v: usize) -> Vec<(u32, f64)> {
    let own = adjacency.arc_range(v).map(|arc| (adjacency.indices()[arc], a * edges[arc]));
    let mut row: Vec<(u32, f64)> = own.chain(alike.iter().map(|&u| (u, 1.0 - a))).collect();
    row.sort_by_key(|(u, _)| *u);
    row.dedup_by(|later, first| {
        let same = later.0 == first.0;
        if same {
            first.1 += later.1;
        }
        same
    });
    row.retain(|(_, weight)| *weight != 0.0);
    row
}

/// The weight of every arc of A: the graph's own, times how much topology boosting changed its message.
pub fn edge_weights<T: Real>(adjacency: &Adjacency, plain: &Propagation<T>, now: Option<&Csr<T>>) -> Vec<f64> {
    let pattern = boostfgl_nn::Pattern::of(adjacency);
    let own = |arc: usize| adjacency.weights().map_or(1.0, |w| f64::from(w[arc]));
    let ratio = |v: usize, arc: usize| {
        let at = pattern.arc(v, arc);
        now.map_or(1.0, |now| now.values()[at].f64() / plain.csr().values()[at].f64())
    };
    (0..adjacency.len()).flat_map(|v| adjacency.arc_range(v).map(move |arc| own(arc) * ratio(v, arc))).collect()
}
