//! GraphSAGE with mean aggregation (Hamilton, Ying and Leskovec, NeurIPS 2017).
//!
//! H⁰ = X, Hˡ⁺¹ = dropout(relu(P Hˡ Wˡ + Hˡ Vˡ + bˡ)), the last layer without relu and dropout,
//! with P = D⁻¹A: per node, h'ᵥ = Wᵀ·mean of hᵤ over the neighbours u + Vᵀhᵥ + b. A node's own
//! representation and its messages have separate weights. A node without neighbours receives 0.
//!
//! W, V: width × width by Glorot's rule, b = 0. Departures from the paper: all neighbours, not a
//! sample (training is full-batch); the rows are not normalised to length 1.
//!
//! P(HW) and (PH)W are the same; whichever side is narrower is propagated. With noise on the
//! messages it is always HW.

use super::{Architecture, Backbone, Output, ViewPlan, first_product, own_product, propagate};
use crate::{Dropout, Operator, Real, Tape, TensorShape, Var, View};

/// GraphSAGE.
#[derive(Clone, Copy, Debug)]
pub struct Sage(Architecture);

impl Sage {
    /// A network of these sizes.
    pub fn new(architecture: Architecture) -> Self {
        Self(architecture)
    }
}

impl<T: Real> Backbone<T> for Sage {
    /// The weights of neighbours come first: a view may cache their product with the features.
    fn shapes(&self) -> Vec<TensorShape> {
        let mut shapes = Vec::with_capacity(3 * self.0.layers);
        for l in 0..self.0.layers {
            let (from, to) = (self.0.width(l), self.0.width(l + 1));
            let name = format!("layer{}", l + 1);
            shapes.push(TensorShape::weight(format!("{name}.neighbours"), from, to));
            shapes.push(TensorShape::weight(format!("{name}.own"), from, to));
            shapes.push(TensorShape::bias(format!("{name}.bias"), to));
        }
        shapes
    }

    fn plan(&self) -> ViewPlan {
        ViewPlan {
            operator: Operator::Mean,
            propagate_features: self.0.inputs <= self.0.width(1),
            own_features: true,
            ..ViewPlan::new(self.0.layers, self.0.hidden_hops())
        }
    }

    fn forward<'a>(
        &self,
        tape: &mut Tape<'a, T>,
        params: &[Var],
        view: &'a View<T>,
        dropout: Dropout,
    ) -> Output {
        let (layers, _) = params.as_chunks::<3>();
        let last = self.0.layers - 1;
        let mut hidden = None;
        for (l, layer) in layers[..last].iter().enumerate() {
            let z = self.combine(tape, view, l, hidden, layer);
            hidden = Some(tape.hidden(z, layer[2], view.frontier(l + 1), dropout, l));
        }
        let z = self.combine(tape, view, last, hidden, &layers[last]);
        Output { logits: tape.add_bias(z, layers[last][2]), hidden }
    }
}

impl Sage {
    /// P H W + H V, where H is the hidden representation `h` or, in the first layer, the features.
    fn combine<'a, T: Real>(
        &self,
        tape: &mut Tape<'a, T>,
        view: &'a View<T>,
        l: usize,
        h: Option<Var>,
        &[neighbours, own, _]: &[Var; 3],
    ) -> Var {
        let (received, kept) = match h {
            None => (self.first_messages(tape, view, neighbours), own_product(tape, view, own)),
            Some(h) => {
                let itself = tape.own_rows(view.block(l), h);
                (self.messages(tape, view, l, h, neighbours), tape.matmul(itself, own))
            }
        };
        let z = tape.blend((T::ONE, received), (T::ONE, kept));
        tape.release(kept);
        z
    }

    /// P X W.
    fn first_messages<'a, T: Real>(
        &self,
        tape: &mut Tape<'a, T>,
        view: &'a View<T>,
        weight: Var,
    ) -> Var {
        match first_product(tape, view, weight) {
            (z, true) => z,
            (z, false) => propagate(tape, view, 0, z),
        }
    }

    /// P H W.
    fn messages<'a, T: Real>(
        &self,
        tape: &mut Tape<'a, T>,
        view: &'a View<T>,
        l: usize,
        h: Var,
        weight: Var,
    ) -> Var {
        if self.0.width(l) < self.0.width(l + 1) && tape.noise().is_off() {
            let z = tape.propagate(view, l, h);
            return tape.matmul(z, weight);
        }
        let z = tape.matmul(h, weight);
        propagate(tape, view, l, z)
    }
}
