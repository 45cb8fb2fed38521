//! H2GCN (Zhu et al., NeurIPS 2020): for heterophilous graphs.
//!
//! R⁰ = relu(X Wₑ + bₑ), Rᵏ⁺¹ = [P₁ Rᵏ | P₂ Rᵏ] for k < K, logits = dropout([R⁰ | R¹ | … | Rᴷ]) W +
//! b, with K the number of layers (2 is the paper's). P₁ = D₁^{-1/2} A₁ D₁^{-1/2} for neighbours
//! and P₂ the same for nodes exactly two hops apart; neither has self-loops. A node and its two
//! neighbourhoods thus have separate columns up to the classifier, which may weight them with
//! opposite signs.
//!
//! Rᵏ is 2ᵏ·h wide and the classifier reads (2ᴷ⁺¹ − 1)·h columns: that is the hidden
//! representation, after all hops. Weights by Glorot's rule, biases 0. Departure from the paper:
//! both maps have a bias, like those of all other networks here.
//!
//! Topology boosting reweights the edges of P₁. P₂ is unchanged, since there are no edges between
//! nodes two hops apart. It has Σᵥ |N₂(v)| entries, up to Σᵥ d(v)², which on graphs with hubs is
//! far more than there are edges; there is no limit.

use super::{Architecture, Backbone, Output, ViewPlan, first_product};
use crate::{Dropout, Operator, Real, Tape, TensorShape, Var, View};

/// H2GCN.
#[derive(Clone, Copy, Debug)]
pub struct H2Gcn(Architecture);

impl H2Gcn {
    /// A network of these sizes.
    pub fn new(architecture: Architecture) -> Self {
        Self(architecture)
    }
}

impl<T: Real> Backbone<T> for H2Gcn {
    fn shapes(&self) -> Vec<TensorShape> {
        let (hidden, rounds) = (self.0.hidden, self.0.layers);
        vec![
            TensorShape::weight("embed.weight", self.0.inputs, hidden),
            TensorShape::bias("embed.bias", hidden),
            TensorShape::weight("classify.weight", ((2 << rounds) - 1) * hidden, self.0.classes),
            TensorShape::bias("classify.bias", self.0.classes),
        ]
    }

    fn plan(&self) -> ViewPlan {
        let rounds = self.0.layers;
        ViewPlan {
            operator: Operator::Symmetric,
            two_hops: true,
            ..ViewPlan::new(rounds, Some(rounds))
        }
    }

    fn forward<'a>(
        &self,
        tape: &mut Tape<'a, T>,
        params: &[Var],
        view: &'a View<T>,
        dropout: Dropout,
    ) -> Output {
        let z = first_product(tape, view, params[0]).0;
        let embedded = tape.hidden(z, params[1], view.frontier(0), Dropout::off(), 0);
        let (mut round, mut all) = (embedded, embedded);
        for l in 0..self.0.layers {
            let block = view.block(l);
            let near = tape.propagate(view, l, round);
            let far = tape.propagate_two_hops(view, l, round);
            if round != embedded {
                tape.release(round);
            }
            let own = tape.own_rows(block, all);
            round = tape.concat(&[near, far]);
            let joined = tape.concat(&[own, near, far]);
            // The backward passes of propagation and concatenation read no operands, so these
            // buffers are free. The output of relu is read, so `embedded` stays.
            let done = [near, far, own, all];
            done.into_iter().filter(|var| *var != embedded).for_each(|var| tape.release(var));
            all = joined;
        }
        let hidden = tape.dropout(all, view.nodes(), dropout, 0);
        let z = tape.matmul(hidden, params[2]);
        Output { logits: tape.add_bias(z, params[3]), hidden: Some(hidden) }
    }
}
