//! Reliability of messages in the GCN of two layers, without a forward pass per message.
//!
//! With M = X W₁ and N = relu(P M + b₁) W₂, the logits of v are zᵥ = Σᵤ Pᵥᵤ Nᵤ + b₂. Taking u→v
//! away changes row v of P alone: in the first layer it changes the hidden row of v and no other,
//! which enters zᵥ through Pᵥᵥ; in the second it takes Pᵥᵤ Nᵤ from the sum. So each message costs
//! O(H + H C).

use super::super::Network;
use super::Removal;
use boostfgl_nn::{Matrix, Pattern, Real};
use rayon::prelude::*;

/// The parts of a forward pass that messages are made of. Differences of losses are small: sums are
/// in `f64`.
struct Parts<'a, T: Real> {
    network: &'a Network<'a, T>,
    /// X W₁.
    first: Matrix<T>,
    /// relu(P X W₁ + b₁) W₂.
    second: Vec<f64>,
    biases: [Vec<f64>; 2],
}

/// A node v that receives messages.
struct Receiver {
    node: usize,
    /// Pᵥᵥ.
    own: f64,
    /// Σᵤ Pᵥᵤ.
    total: f64,
    /// (P X W₁)ᵥ.
    received: Vec<f64>,
    /// Σᵤ Pᵥᵤ Nᵤ.
    sum: Vec<f64>,
}

/// R of the arcs into labelled nodes that are `wanted`, in the order of arcs; `None` for the
/// others.
pub(super) fn reliability<T: Real>(
    network: &Network<'_, T>,
    label: &(impl Fn(usize) -> Option<u32> + Sync),
    removal: Removal,
    wanted: &(impl Fn(usize) -> bool + Sync),
) -> Vec<Option<f64>> {
    let parts = Parts::new(network);
    let rows: Vec<Vec<Option<f64>>> = (0..network.adjacency.len())
        .into_par_iter()
        .map(|v| match label(v) {
            Some(y) => parts.of_node(v, y as usize, removal, wanted),
            None => vec![None; network.adjacency.degree(v)],
        })
        .collect();
    rows.concat()
}

impl<'a, T: Real> Parts<'a, T> {
    fn new(network: &'a Network<'a, T>) -> Self {
        let [w1, b1, _, b2] = network.params.tensors() else {
            unreachable!("two layers have four tensors")
        };
        let (nodes, width) = (network.adjacency.len(), w1.columns());
        let mut first = Matrix::zeros(nodes, width);
        let stride = first.stride();
        first.data_mut().par_chunks_mut(stride).enumerate().for_each(|(v, to)| {
            let mut row = vec![0.0; width];
            network.inputs.visit_row(v, |column, x| add_scaled(&mut row, w1.row(column), x.f64()));
            to.iter_mut().zip(row).for_each(|(to, x)| *to = T::of(x));
        });
        let biases = [b1, b2].map(|bias| bias.row(0).iter().map(|x| x.f64()).collect());
        let mut parts = Self { network, first, second: Vec::new(), biases };
        let second: Vec<Vec<f64>> =
            (0..nodes).into_par_iter().map(|v| parts.output(&parts.received(v), 1.0)).collect();
        parts.second = second.concat();
        parts
    }

    /// (P X W₁)ᵥ.
    fn received(&self, v: usize) -> Vec<f64> {
        let p = self.network.propagation.csr();
        let mut sum = vec![0.0; self.first.columns()];
        p.row_range(v).for_each(|k| {
            add_scaled(&mut sum, self.first.row(p.indices()[k] as usize), p.values()[k].f64());
        });
        sum
    }

    /// relu(scale · received + b₁) W₂.
    fn output(&self, received: &[f64], scale: f64) -> Vec<f64> {
        let weights = &self.network.params.tensors()[2];
        let mut out = vec![0.0; weights.columns()];
        for (h, (x, bias)) in received.iter().zip(&self.biases[0]).enumerate() {
            let hidden = scale * x + bias;
            if hidden > 0.0 {
                add_scaled(&mut out, weights.row(h), hidden);
            }
        }
        out
    }

    /// The row of u in relu(P X W₁ + b₁) W₂.
    fn second(&self, u: usize) -> &[f64] {
        let classes = self.biases[1].len();
        &self.second[u * classes..][..classes]
    }

    /// R of the arcs into v, whose class is y.
    fn of_node(
        &self,
        v: usize,
        y: usize,
        removal: Removal,
        wanted: &impl Fn(usize) -> bool,
    ) -> Vec<Option<f64>> {
        let receiver = self.receiver(v);
        let with = self.loss(&receiver.sum, 1.0, y);
        let arcs = self.network.adjacency.arc_range(v);
        arcs.map(|arc| wanted(arc).then(|| self.loss_without(&receiver, arc, y, removal) - with))
            .collect()
    }

    /// What the losses of v with and without each message have in common.
    fn receiver(&self, v: usize) -> Receiver {
        let p = self.network.propagation.csr();
        let own = p.values()[Pattern::of(self.network.adjacency).own(v)].f64();
        let total: f64 = p.values()[p.row_range(v)].iter().map(|x| x.f64()).sum();
        let mut sum = vec![0.0; self.biases[1].len()];
        p.row_range(v).for_each(|k| {
            add_scaled(&mut sum, self.second(p.indices()[k] as usize), p.values()[k].f64());
        });
        Receiver { node: v, own, total, received: self.received(v), sum }
    }

    /// The loss of the receiver without the message of one arc.
    fn loss_without(&self, to: &Receiver, arc: usize, y: usize, removal: Removal) -> f64 {
        let (p, adjacency) = (self.network.propagation.csr(), self.network.adjacency);
        let u = adjacency.indices()[arc] as usize;
        let weight = p.values()[Pattern::of(adjacency).arc(to.node, arc)].f64();
        let scale = if removal.renormalises() { rescaling(to.total, weight) } else { 1.0 };
        let mut without = to.sum.clone();
        add_scaled(&mut without, self.second(u), -weight);
        if !removal.spares_first() {
            // The hidden row of v changes, and with it the message of v to itself.
            let mut rest = to.received.clone();
            add_scaled(&mut rest, self.first.row(u), -weight);
            add_scaled(&mut without, self.second(to.node), -to.own);
            add_scaled(&mut without, &self.output(&rest, scale), to.own);
        }
        self.loss(&without, scale, y)
    }

    /// Cross-entropy of the logits scale · sum + b₂.
    fn loss(&self, sum: &[f64], scale: f64, y: usize) -> f64 {
        let logits: Vec<f64> =
            sum.iter().zip(&self.biases[1]).map(|(x, bias)| scale * x + bias).collect();
        super::cross_entropy(&logits, y)
    }
}

/// s / (s − p): what the rest of a row of sum s is multiplied by when p leaves it. A row of which
/// nothing is left stays.
pub(super) fn rescaling(sum: f64, gone: f64) -> f64 {
    let rest = sum - gone;
    // Relative, because a difference of nearly equal sums is rounding error and not a weight.
    if rest.abs() <= 1e-6 * sum.abs() { 1.0 } else { sum / rest }
}

/// to ← to + by · row.
fn add_scaled<T: Real>(to: &mut [f64], row: &[T], by: f64) {
    to.iter_mut().zip(row).for_each(|(to, x)| *to += by * x.f64());
}
