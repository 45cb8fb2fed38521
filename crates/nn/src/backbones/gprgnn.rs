//! Generalised PageRank: GPR-GNN (Chien, Peng, Li and Milenkovic, ICLR 2021).
//!
//! H = MLP(X), logits = Σₖ γₖ Pᵏ H for k = 0, …, K, with K = 10, P = D̃^{-1/2}(A+I)D̃^{-1/2} or,
//! under topology boosting, any matrix of that pattern, and learnt γ. Negative γ make it a
//! high-pass filter, which passes the differences between neighbours.
//!
//! γ starts as personalised PageRank, γₖ = α(1 − α)ᵏ and γ_K = (1 − α)ᴷ with α = 0.1; the
//! perceptron has the parameters of `mlp`, and its hidden layer is the hidden representation.
//! Departures from the paper: dropout on hidden layers only; weight decay, where the optimiser has
//! any, treats γ like every other tensor.

use super::mlp::perceptron;
use super::{Architecture, Backbone, Output, ViewPlan};
use crate::{Dropout, Real, Tape, TensorShape, Var, View};

/// The largest power K of P.
const HOPS: usize = 10;
/// The α of the PageRank that γ starts as.
const TELEPORT: f64 = 0.1;

/// The generalised PageRank network.
#[derive(Clone, Copy, Debug)]
pub struct GprGnn(Architecture);

impl GprGnn {
    /// A network of these sizes.
    pub fn new(architecture: Architecture) -> Self {
        Self(architecture)
    }
}

impl<T: Real> Backbone<T> for GprGnn {
    fn shapes(&self) -> Vec<TensorShape> {
        let mut shapes = self.0.linear_shapes();
        shapes.push(TensorShape::starting_at("gamma", &pagerank()));
        shapes
    }

    fn plan(&self) -> ViewPlan {
        ViewPlan::new(HOPS, (self.0.layers > 1).then_some(0))
    }

    fn constants(&self) -> Vec<(&'static str, String)> {
        vec![("steps", HOPS.to_string())]
    }

    fn forward<'a>(
        &self,
        tape: &mut Tape<'a, T>,
        params: &[Var],
        view: &'a View<T>,
        dropout: Dropout,
    ) -> Output {
        let Output { logits: mut z, hidden } =
            perceptron(tape, params, view, dropout, self.0.layers);
        let gamma = params[2 * self.0.layers];
        let mut sum = tape.add_scaled(None, z, T::ZERO, (gamma, 0));
        for l in 0..HOPS {
            let moved = tape.propagate(view, l, z);
            // The gradient of γₖ is ⟨g, PᵏH⟩: in training every power is read again.
            if !tape.is_differentiable(gamma) {
                tape.release(z);
            }
            z = moved;
            // Of the sum so far, only the nodes that the remaining hops still need.
            let own = tape.own_rows(view.block(l), sum);
            if own != sum {
                tape.release(sum);
            }
            sum = tape.add_scaled(Some(own), z, T::ZERO, (gamma, l + 1));
        }
        Output { logits: sum, hidden }
    }
}

/// α(1 − α)ᵏ for k < K, and the rest (1 − α)ᴷ: they add up to 1.
fn pagerank() -> Vec<f64> {
    let mut left = 1.0;
    let mut gamma = Vec::with_capacity(HOPS + 1);
    for _ in 0..HOPS {
        gamma.push(TELEPORT * left);
        left *= 1.0 - TELEPORT;
    }
    gamma.push(left);
    gamma
}
