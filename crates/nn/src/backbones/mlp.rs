//! Multi-layer perceptron: features alone, without message passing.

use super::{Architecture, Backbone, Output, ViewPlan, first_product};
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

    fn plan(&self) -> ViewPlan {
        ViewPlan::new(0, (self.0.layers > 1).then_some(0))
    }

    fn forward<'a>(
        &self,
        tape: &mut Tape<'a, T>,
        params: &[Var],
        view: &'a View<T>,
        dropout: Dropout,
    ) -> Output {
        perceptron(tape, params, view, dropout, self.0.layers)
    }
}

/// The perceptron of all nodes whose features the view reads. Its parameters are the first ones of
/// the network.
pub(super) fn perceptron<'a, T: Real>(
    tape: &mut Tape<'a, T>,
    params: &[Var],
    view: &'a View<T>,
    dropout: Dropout,
    layers: usize,
) -> Output {
    let mut z = first_product(tape, view, params[0]).0;
    let mut hidden = None;
    for l in 0..layers - 1 {
        let h = tape.hidden(z, params[2 * l + 1], view.frontier(0), dropout, l);
        z = tape.matmul(h, params[2 * l + 2]);
        hidden = Some(h);
    }
    Output { logits: tape.add_bias(z, params[2 * layers - 1]), hidden }
}
