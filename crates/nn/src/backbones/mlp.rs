//! Multi-layer perceptron: what the features alone can do, without any edge.

use super::{Architecture, Backbone, Plan, first_product};
use crate::{Dropout, Real, Tape, TensorShape, Var, View};

/// H⁰ = X, Hˡ⁺¹ = dropout(relu(Hˡ Wˡ + bˡ)).
#[derive(Clone, Copy, Debug)]
pub struct Mlp(Architecture);

impl Mlp {
    /// A network of these sizes.
    pub fn new(architecture: Architecture) -> Self {
        Self(architecture)
    }
}

impl<T: Real> Backbone<T> for Mlp {
    fn shapes(&self) -> Vec<TensorShape> {
        self.0.linear_shapes()
    }

    fn plan(&self) -> Plan {
        Plan { hops: 0, propagate_features: false }
    }

    fn forward<'a>(&self, tape: &mut Tape<'a, T>, params: &[Var], view: &'a View<T>, dropout: Dropout) -> Var {
        let last = self.0.layers - 1;
        let mut h = first_product(tape, view, params[0]).0;
        for l in 0..last {
            h = tape.hidden(h, params[2 * l + 1], view.nodes(), dropout, l);
            h = tape.matmul(h, params[2 * l + 2]);
        }
        tape.add_bias(h, params[2 * last + 1])
    }
}
