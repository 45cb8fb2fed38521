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
        let numbers = |bias: &Matrix<T>| bias.row(0).iter().map(|x| x.f64()).collect::<Vec<f64>>();
        let mut parts =
            Self { network, first, second: Vec::new(), biases: [numbers(b1), numbers(b2)] };
        let out = |v: usize| parts.output(&parts.heard(v), 1.0);
        let second = (0..nodes).into_par_iter().map(out).collect::<Vec<_>>().concat();
        parts.second = second;
        parts
    }

    /// (P X W₁)ᵥ.
    fn heard(&self, v: usize) -> Vec<f64> {
        let p = self.network.propagation.csr();
        let mut sum = vec![0.0; self.first.columns()];
        p.row_range(v).for_each(|k| {
            add_scaled(&mut sum, self.first.row(p.indices()[k] as usize), p.values()[k].f64());
        });
        sum
    }

    /// relu(scale · heard + b₁) W₂.
    fn output(&self, heard: &[f64], scale: f64) -> Vec<f64> {
        let weights = &self.network.params.tensors()[2];
        let mut out = vec![0.0; weights.columns()];
        for (h, (x, bias)) in heard.iter().zip(&self.biases[0]).enumerate() {
            let hidden = scale * x + bias;
            if hidden > 0.0 {
                add_scaled(&mut out, weights.row(h), hidden);
            }
        }
        out
    }

    fn second(&self, u: usize) -> &[f64] {
        let classes = self.biases[1].len();
        &self.second[u * classes..][..classes]
    }

    fn of_node(
        &self,
        v: usize,
        y: usize,
        removal: Removal,
        wanted: &impl Fn(usize) -> bool,
    ) -> Vec<Option<f64>> {
        let (p, adjacency) = (self.network.propagation.csr(), self.network.adjacency);
        let pattern = Pattern::of(adjacency);
        let own = p.values()[pattern.own(v)].f64();
        let total: f64 = p.values()[p.row_range(v)].iter().map(|x| x.f64()).sum();
        let heard = self.heard(v);
        let mut sum = vec![0.0; self.biases[1].len()];
        p.row_range(v).for_each(|k| {
            add_scaled(&mut sum, self.second(p.indices()[k] as usize), p.values()[k].f64());
        });
        let with = self.loss(&sum, 1.0, y);
        let of_arc = |arc: usize| {
            let (u, weight) =
                (adjacency.indices()[arc] as usize, p.values()[pattern.arc(v, arc)].f64());
            let scale = if removal.renormalises() { rescaling(total, weight) } else { 1.0 };
            let mut without = sum.clone();
            add_scaled(&mut without, self.second(u), -weight);
            if !removal.spares_first() {
                let mut rest = heard.clone();
                add_scaled(&mut rest, self.first.row(u), -weight);
                add_scaled(&mut without, self.second(v), -own);
                add_scaled(&mut without, &self.output(&rest, scale), own);
            }
            self.loss(&without, scale, y) - with
        };
        adjacency.arc_range(v).map(|arc| wanted(arc).then(|| of_arc(arc))).collect()
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
    if rest.abs() <= 1e-6 * sum.abs() { 1.0 } else { sum / rest }
}

fn add_scaled<T: Real>(to: &mut [f64], row: &[T], by: f64) {
    to.iter_mut().zip(row).for_each(|(to, x)| *to += by * x.f64());
}
