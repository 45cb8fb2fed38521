//! Graph isomorphism network (Xu, Hu, Leskovec and Jegelka, ICLR 2019).
//!
//! H⁰ = X, Hˡ⁺¹ = dropout(relu(MLPˡ((1 + εˡ) Hˡ + P Hˡ))) with P = A, the sum over neighbours (by
//! edge weight where there are weights), ε learnt from 0, and MLP(M) = relu(M W₁ + b₁) W₂ + b₂. In
//! the last layer the MLP is one linear map, the classifier: logits = ((1 + ε) H + P H) W + b.
//!
//! W by Glorot's rule, b = 0. Departures from the paper: no batch normalisation, since its
//! statistics belong to one client's graph; the classifier reads the last layer alone, since it
//! classifies nodes, not graphs.
//!
//! The first map of an MLP is linear, so ((1 + ε) H + P H) W₁ = (1 + ε) H W₁ + P(H W₁): sparse
//! features stay sparse, and messages are as narrow as they can be.

use super::{Architecture, Backbone, Output, ViewPlan, first_product};
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

    fn layer_shapes(&self, l: usize) -> [TensorShape; PER_LAYER] {
        let (from, to, name) = (self.0.width(l), self.0.width(l + 1), format!("layer{}", l + 1));
        [
            TensorShape::weight(format!("{name}.weight1"), from, to),
            TensorShape::bias(format!("{name}.bias1"), to),
            TensorShape::starting_at(format!("{name}.epsilon"), &[0.0]),
            TensorShape::weight(format!("{name}.weight2"), to, to),
            TensorShape::bias(format!("{name}.bias2"), to),
        ]
    }
}

impl<T: Real> Backbone<T> for Gin {
    fn shapes(&self) -> Vec<TensorShape> {
        let layers = self.0.layers;
        (0..layers).flat_map(|l| self.layer_shapes(l)).take(PER_LAYER * layers - 2).collect()
    }

    fn plan(&self) -> ViewPlan {
        ViewPlan { operator: Operator::Sum, ..ViewPlan::new(self.0.layers, self.0.hidden_hops()) }
    }

    fn forward<'a>(
        &self,
        tape: &mut Tape<'a, T>,
        params: &[Var],
        view: &'a View<T>,
        dropout: Dropout,
    ) -> Output {
        let last = self.0.layers - 1;
        let mut hidden = None;
        for l in 0..last {
            let tensors = &params[PER_LAYER * l..];
            let z = aggregate(tape, view, l, hidden, tensors);
            let nodes = view.frontier(l + 1);
            let inner = tape.hidden(z, tensors[1], nodes, Dropout::off(), l);
            let z = tape.matmul(inner, tensors[3]);
            hidden = Some(tape.hidden(z, tensors[4], nodes, dropout, l));
        }
        let tensors = &params[PER_LAYER * last..];
        let z = aggregate(tape, view, last, hidden, tensors);
        Output { logits: tape.add_bias(z, tensors[1]), hidden }
    }
}

/// P Z + (1 + ε) Z with Z = H W₁, where H is the hidden representation `h` or, in the first layer,
/// the features. `tensors` starts with W₁, b₁, ε.
fn aggregate<'a, T: Real>(
    tape: &mut Tape<'a, T>,
    view: &'a View<T>,
    l: usize,
    h: Option<Var>,
    tensors: &[Var],
) -> Var {
    let sent = match h {
        None => first_product(tape, view, tensors[0]).0,
        Some(h) => tape.matmul(h, tensors[0]),
    };
    let received = tape.propagate(view, l, sent);
    let own = tape.own_rows(view.block(l), sent);
    // The gradient of ε reads `own`; a separate `sent` is not read again.
    if own != sent {
        tape.release(sent);
    }
    tape.add_scaled(Some(received), own, T::ONE, (tensors[2], 0))
}
