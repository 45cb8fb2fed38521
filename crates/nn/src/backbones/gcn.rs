//! Graph convolutional network (Kipf and Welling, ICLR 2017).
//!
//! H⁰ = X, Hˡ⁺¹ = dropout(relu(P Hˡ Wˡ + bˡ)), logits = P Hᴸ⁻¹ Wᴸ⁻¹ + bᴸ⁻¹, with P =
//! D̃^{-1/2}(A+I)D̃^{-1/2} or, under topology boosting, any matrix of that pattern.
//!
//! P(HW) and (PH)W are the same; whichever side is narrower is propagated. With noise on the
//! messages it is always HW.

use super::{Architecture, Backbone, Output, ViewPlan, first_product, propagate};
use crate::{Dropout, Real, Tape, TensorShape, Var, View};

/// The graph convolutional network.
#[derive(Clone, Copy, Debug)]
pub struct Gcn(Architecture);

impl Gcn {
    /// A network of these sizes.
    pub fn new(architecture: Architecture) -> Self {
        Self(architecture)
    }
}

impl<T: Real> Backbone<T> for Gcn {
    fn shapes(&self) -> Vec<TensorShape> {
        self.0.linear_shapes()
    }

    fn plan(&self) -> ViewPlan {
        let propagate_features = self.0.inputs <= self.0.width(1);
        ViewPlan { propagate_features, ..ViewPlan::new(self.0.layers, self.0.hidden_hops()) }
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
            let z = self.messages(tape, view, l, hidden, params[2 * l]);
            let bias = params[2 * l + 1];
            hidden = Some(tape.hidden(z, bias, view.frontier(l + 1), dropout, l));
        }
        let z = self.messages(tape, view, last, hidden, params[2 * last]);
        Output { logits: tape.add_bias(z, params[2 * last + 1]), hidden }
    }
}

impl Gcn {
    /// P H W of layer `l`, where H is the hidden representation `h` or, in the first layer, the
    /// features.
    fn messages<'a, T: Real>(
        &self,
        tape: &mut Tape<'a, T>,
        view: &'a View<T>,
        l: usize,
        h: Option<Var>,
        weight: Var,
    ) -> Var {
        let widens = self.0.width(l) < self.0.width(l + 1) && tape.noise().is_off();
        match h {
            None => match first_product(tape, view, weight) {
                (z, true) => z,
                (z, false) => propagate(tape, view, l, z),
            },
            // H is read by relu in the backward pass, so that its buffer cannot be released.
            Some(h) if widens => {
                let z = tape.propagate(view, l, h);
                tape.matmul(z, weight)
            }
            Some(h) => {
                let z = tape.matmul(h, weight);
                propagate(tape, view, l, z)
            }
        }
    }
}
