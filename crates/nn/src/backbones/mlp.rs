//! Multi-layer perceptron: what the features alone can do, without any edge.

use super::{Architecture, Backbone, Output, Plan, first_product};
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
        Plan { hops: 0, propagate_features: false, hidden: (self.0.layers > 1).then_some(0) }
    }

    fn forward<'a>(&self, tape: &mut Tape<'a, T>, params: &[Var], view: &'a View<T>, dropout: Dropout) -> Output {
        let last = self.0.layers - 1;
        let mut z = first_product(tape, view, params[0]).0;
        let mut hidden = None;
        for l in 0..last {
            let h = tape.hidden(z, params[2 * l + 1], view.nodes(), dropout, l);
            z = tape.matmul(h, params[2 * l + 2]);
            hidden = Some(h);
        }
        Output { logits: tape.add_bias(z, params[2 * last + 1]), hidden }
    }
}
