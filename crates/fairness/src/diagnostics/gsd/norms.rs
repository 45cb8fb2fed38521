//! ‖∇_θ ℓ(v; θ)‖₂ for many nodes v.
//!
//! One backward pass per node works for any network ([`one_by_one`]). For the GCN of two layers the
//! length of a gradient follows without the gradient itself. With δ = softmax(zᵥ) − onehot(yᵥ)
//! and g = W₂ δ:
//!
//! * ∇W₂ = (PH)ᵥ δᵀ has rank one, so ‖∇W₂‖ = ‖(PH)ᵥ‖ ‖δ‖, and ∇b₂ = δ;
//! * the hidden row of a node u that sends to v receives dᵤ = Pᵥᵤ (g ⊙ mᵤ) with mᵤ = 1[Z₁ᵤ > 0], so
//!   ∇b₁ = Σᵤ dᵤ and ‖∇W₁‖² = ‖Σᵤ (PX)ᵤ dᵤᵀ‖² = Σᵤᵤ' ⟨(PX)ᵤ, (PX)ᵤ'⟩ ⟨dᵤ, dᵤ'⟩.
//!
//! The first factor depends on the graph alone and is kept for as long as P stays the same.

use super::super::Network;
use super::products::Products;
use boostfgl_nn::backbones::{Pass, gradients};
use boostfgl_nn::{Dropout, Matrix, Pool, Real, Reduction, View, WeightedLoss, row_dots};
use rayon::prelude::*;

/// The default limit of the memory for inner products.
pub(super) const MEMORY: usize = 256 << 20;

/// ‖∇_θ ℓ(v; θ)‖₂ over all parameters for each v of `nodes` with its class in `labels`, without
/// dropout, under the messages of `network`. Exact; for a GCN of two layers much faster than a
/// backward pass per node.
///
/// # Panics
/// If there is not one label per node, or a node or class does not exist.
pub fn gradient_norms<T: Real>(
    network: &Network<'_, T>,
    nodes: &[u32],
    labels: &[u32],
) -> Vec<f64> {
    assert_eq!(nodes.len(), labels.len(), "one label per node");
    if network.two_layer_gcn {
        Neighbourhoods::new(network, nodes, MEMORY).norms(network, labels)
    } else {
        one_by_one(network, nodes, labels)
    }
}

/// One backward pass per node.
pub(super) fn one_by_one<T: Real>(
    network: &Network<'_, T>,
    nodes: &[u32],
    labels: &[u32],
) -> Vec<f64> {
    nodes
        .par_iter()
        .zip(labels)
        .map_init(Pool::new, |pool, (&v, &label)| backward_norm(network, v, label, pool))
        .collect()
}

/// ‖∇_θ ℓ(v; θ)‖₂ by a backward pass.
fn backward_norm<T: Real>(network: &Network<'_, T>, v: u32, label: u32, pool: &mut Pool<T>) -> f64 {
    let mut view = View::training(network.inputs, vec![v], network.backbone.plan());
    view.set_propagation(network.propagation);
    let loss = WeightedLoss::new(vec![label], Reduction::Sum);
    let (_, found) =
        gradients(network.backbone, network.params, &view, &loss, Dropout::off(), pool);
    let squares = found.iter().flat_map(|g| g.data().chunks(g.stride())).map(row_squares).sum();
    found.into_iter().for_each(|g| pool.put(g));
    libm::sqrt(squares)
}

/// The neighbourhoods of measured nodes under one propagation, cached from round to round.
pub(super) struct Neighbourhoods<T> {
    nodes: Vec<u32>,
    view: View<T>,
    /// The values of P that the products belong to.
    values: Vec<T>,
    products: Products<T>,
    memory: usize,
}

/// A forward pass over the local graph.
struct Forward<'a, T> {
    logits: Matrix<T>,
    hidden: Matrix<T>,
    /// 1[Z₁ > 0].
    active: Matrix<T>,
    /// W₂.
    weights: &'a Matrix<T>,
}

impl<T: Real> Neighbourhoods<T> {
    /// Those of `nodes`, keeping at most `memory` bytes of inner products.
    pub(super) fn new(network: &Network<'_, T>, nodes: &[u32], memory: usize) -> Self {
        let mut view = View::whole(network.inputs, network.backbone.plan());
        view.set_propagation(network.propagation);
        Self {
            nodes: nodes.to_vec(),
            view,
            values: network.propagation.csr().values().to_vec(),
            products: Products::new(network, nodes, memory),
            memory,
        }
    }

    /// Recomputes them if the network's propagation is another than before.
    pub(super) fn follow(&mut self, network: &Network<'_, T>) {
        if self.values != network.propagation.csr().values() {
            self.view.set_propagation(network.propagation);
            self.products = Products::new(network, &self.nodes, self.memory);
            self.values.clear();
            self.values.extend_from_slice(network.propagation.csr().values());
        }
    }

    /// The norms of the nodes, whose classes are `labels`.
    pub(super) fn norms(&self, network: &Network<'_, T>, labels: &[u32]) -> Vec<f64> {
        let (logits, hidden) =
            Pass::new(network.backbone, &self.view, &Pool::new()).inspect(network.params);
        let Some(hidden) = hidden else {
            unreachable!("two layers have a hidden representation between them")
        };
        let mut active = Matrix::zeros(hidden.rows(), hidden.columns());
        for (to, from) in active.data_mut().iter_mut().zip(hidden.data()) {
            *to = if *from > T::ZERO { T::ONE } else { T::ZERO };
        }
        let forward = Forward { logits, hidden, active, weights: &network.params.tensors()[2] };
        let width = network.inputs.width();
        (0..self.nodes.len())
            .into_par_iter()
            .map_init(
                || vec![0.0; width],
                |scratch, i| self.norm(network, &forward, i, labels[i] as usize, scratch),
            )
            .collect()
    }

    fn norm(
        &self,
        network: &Network<'_, T>,
        to: &Forward<'_, T>,
        i: usize,
        y: usize,
        scratch: &mut [f64],
    ) -> f64 {
        let (p, v) = (network.propagation.csr(), self.nodes[i] as usize);
        let (senders, weights) = (&p.indices()[p.row_range(v)], &p.values()[p.row_range(v)]);
        let delta = residual(to.logits.row(v), y);
        let g: Vec<f64> =
            (0..to.hidden.columns()).map(|h| product(to.weights.row(h), &delta)).collect();
        let (mut received, mut shares) = (vec![0.0; g.len()], vec![0.0; g.len()]);
        for (&u, weight) in senders.iter().zip(weights) {
            add_scaled(&mut received, to.hidden.row(u as usize), weight.f64());
            add_scaled(&mut shares, to.active.row(u as usize), weight.f64());
        }
        let last = squares(&delta) * (1.0 + squares(&received));
        let bias: f64 = g.iter().zip(&shares).map(|(g, share)| (g * share) * (g * share)).sum();
        let mut room = Vec::new();
        let first = first_weights(to, &g, senders, weights, |a, overlaps| {
            let products = self.products.row((i, a), senders, scratch, &mut room);
            let mut row = 0.0;
            for (b, (overlap, product)) in overlaps.iter().zip(products).enumerate() {
                let twice = if a == b { 1.0 } else { 2.0 };
                row += twice * weights[b].f64() * product.f64() * overlap.f64();
            }
            row
        });
        libm::sqrt(last + bias + first)
    }
}

/// ‖∇W₁‖² = Σᵤᵤ' ⟨(PX)ᵤ, (PX)ᵤ'⟩ Pᵥᵤ Pᵥᵤ' Σₕ gₕ² mᵤₕ mᵤ'ₕ. For sender u in turn, `pairs` gets Σₕ
/// gₕ² mᵤₕ mᵤ'ₕ of the senders u' up to u and returns Σᵤ' Pᵥᵤ' ⟨(PX)ᵤ, (PX)ᵤ'⟩ times that, where u'
/// ≠ u counts twice.
fn first_weights<T: Real>(
    to: &Forward<'_, T>,
    g: &[f64],
    senders: &[u32],
    weights: &[T],
    mut pairs: impl FnMut(usize, &[T]) -> f64,
) -> f64 {
    // Relative to the largest, because squares of small numbers may underflow in T.
    let largest = g.iter().fold(0.0f64, |largest, g| largest.max(g.abs()));
    if largest == 0.0 {
        return 0.0;
    }
    // Rows with their padding, which is zero, as `row_dots` takes them.
    let stride = to.active.stride();
    let mut squared = vec![T::ZERO; stride];
    squared.iter_mut().zip(g).for_each(|(to, g)| *to = T::of((g / largest) * (g / largest)));
    let (mut own, mut overlaps) = (vec![T::ZERO; stride], vec![T::ZERO; senders.len()]);
    let mut sum = 0.0;
    for (a, &u) in senders.iter().enumerate() {
        let active = &to.active.data()[u as usize * stride..][..stride];
        own.iter_mut()
            .zip(&squared)
            .zip(active)
            .for_each(|((own, square), active)| *own = *square * *active);
        row_dots(&own, &to.active, &senders[..=a], &mut overlaps[..=a]);
        sum += weights[a].f64() * pairs(a, &overlaps[..=a]);
    }
    // Rounding may make a sum of squares that is 0 slightly negative, and its root NaN.
    (sum * largest * largest).max(0.0)
}

/// softmax(z) − onehot(y).
fn residual<T: Real>(logits: &[T], y: usize) -> Vec<f64> {
    let largest = logits.iter().fold(f64::NEG_INFINITY, |largest, z| largest.max(z.f64()));
    let mut delta: Vec<f64> = logits.iter().map(|z| libm::exp(z.f64() - largest)).collect();
    let total: f64 = delta.iter().sum();
    delta.iter_mut().for_each(|x| *x /= total);
    // 1 − p as the sum of the others: p − 1 would cancel where p is nearly 1.
    delta[y] = -delta.iter().enumerate().filter(|(c, _)| *c != y).map(|(_, p)| p).sum::<f64>();
    delta
}

/// ⟨row, by⟩.
fn product<T: Real>(row: &[T], by: &[f64]) -> f64 {
    row.iter().zip(by).map(|(x, y)| x.f64() * y).sum()
}

/// to ← to + by · row.
fn add_scaled<T: Real>(to: &mut [f64], row: &[T], by: f64) {
    to.iter_mut().zip(row).for_each(|(to, x)| *to += by * x.f64());
}

/// ‖row‖² in eight independent sums, which the compiler can vectorise: a fixed number, so that the
/// digits are the same on every CPU.
fn row_squares<T: Real>(row: &[T]) -> f64 {
    let mut lanes = [0.0; 8];
    for part in row.chunks(lanes.len()) {
        lanes.iter_mut().zip(part).for_each(|(lane, x)| *lane += x.f64() * x.f64());
    }
    lanes.iter().sum()
}

/// ‖x‖².
fn squares(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum()
}
