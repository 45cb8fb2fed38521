//! Graph isomorphism network (Xu, Hu, Leskovec and Jegelka, ICLR 2019).
//!
//! H⁰ = X, Hˡ⁺¹ = dropout(relu(MLPˡ((1 + εˡ) Hˡ + P Hˡ))) with P = A, the sum over neighbours (by
//! edge weight where there are weights), ε learnt from 0, and MLP(M) = relu(M W₁ + b₁) W₂ + b₂. In
//! the last layer the MLP is one linear map, the classifier: logits = ((1 + ε) H + P H) W + b.
//!
//! W by Glorot's rule, b = 0. Departures from the paper: no batch normalisation, whose statistics
//! belong to one client's graph; the classifier reads the last layer alone, for it names nodes, not
//! graphs.
//!
//! The first map of an MLP is linear, so ((1 + ε) H + P H) W₁ = (1 + ε) H W₁ + P(H W₁): sparse
//! features stay sparse, and messages are as narrow as they can be.

use super::{Architecture, Backbone, Output, Plan, first_product};
use crate::{Dropout, Operator, Real, Tape, TensorShape, Var, View};

/// The graph isomorphism network.
#[derive(Clone, Copy, Debug)]
pub struct Gin(Architecture);

/// Tensors of a hidden layer: W₁, b₁, ε, W₂, b₂. The last layer has the first three.
const PER_LAYER: usize = 5;

impl Gin {
    /// A network of these sizes.
    pub fn new(architecture: Architecture) -> Self {
        Self(architecture)
    }
}

impl<T: Real> Backbone<T> for Gin {
    fn shapes(&self) -> Vec<TensorShape> {
        let layer = |l: usize| {
            let (from, to, name) =
                (self.0.width(l), self.0.width(l + 1), format!("layer{}", l + 1));
            let second = [
                TensorShape::weight(format!("{name}.weight2"), to, to),
                TensorShape::bias(format!("{name}.bias2"), to),
            ];
            [
                TensorShape::weight(format!("{name}.weight1"), from, to),
                TensorShape::bias(format!("{name}.bias1"), to),
                TensorShape::starting_at(format!("{name}.epsilon"), &[0.0]),
            ]
            .into_iter()
            .chain(second)
        };
        (0..self.0.layers).flat_map(layer).take(PER_LAYER * self.0.layers - 2).collect()
    }

    fn plan(&self) -> Plan {
        Plan { operator: Operator::Sum, ..Plan::new(self.0.layers, self.0.hidden_hops()) }
    }

    fn forward<'a>(
        &self,
        tape: &mut Tape<'a, T>,
        params: &[Var],
        view: &'a View<T>,
        dropout: Dropout,
    ) -> Output {
        let last = self.0.layers - 1;
        let mut h = None;
        for l in 0..=last {
            let of = &params[PER_LAYER * l..];
            let sent = match h {
                None => first_product(tape, view, of[0]).0,
                Some(h) => tape.matmul(h, of[0]),
            };
            let z = aggregate(tape, view, l, sent, of[2]);
            if l == last {
                return Output { logits: tape.add_bias(z, of[1]), hidden: h };
            }
            let nodes = view.frontier(l + 1);
            let inner = tape.hidden(z, of[1], nodes, Dropout::off(), l);
            let z = tape.matmul(inner, of[3]);
            h = Some(tape.hidden(z, of[4], nodes, dropout, l));
        }
        unreachable!("a network has at least one layer")
    }
}

/// P Z + (1 + ε) Z.
fn aggregate<'a, T: Real>(
    tape: &mut Tape<'a, T>,
    view: &'a View<T>,
    l: usize,
    sent: Var,
    epsilon: Var,
) -> Var {
    let heard = tape.propagate(view, l, sent);
    let own = tape.own_rows(view.block(l), sent);
    if own != sent {
        tape.release(sent);
    }
    tape.add_scaled(Some(heard), own, T::ONE, (epsilon, 0))
}
