//! Simple graph convolution (Wu et al., ICML 2019).
//!
//! logits = Pᴷ X W + b with P = D̃^{-1/2}(A+I)D̃^{-1/2} (or, under topology boosting, any matrix of
//! that pattern) and K the number of layers: GCN without bias, ReLU and weights between its layers.
//! There is no hidden representation and no dropout.
//!
//! W: features × classes by Glorot's rule, b = 0. The paper computes PᴷX once. Here it is Pᴷ(XW),
//! because X is sparse and wide and P may change every round: K products with as many columns as
//! classes. Only for dense features narrower than the classes is P·X computed once.

use super::{Architecture, Backbone, Output, ViewPlan, first_product, propagate};
use crate::{Dropout, Real, Tape, TensorShape, Var, View};

/// The simple graph convolution.
#[derive(Clone, Copy, Debug)]
pub struct Sgc(Architecture);

impl Sgc {
    /// A network of these sizes; the hidden width is not used.
    pub fn new(architecture: Architecture) -> Self {
        Self(architecture)
    }
}

impl<T: Real> Backbone<T> for Sgc {
    fn shapes(&self) -> Vec<TensorShape> {
        vec![
            TensorShape::weight("weight", self.0.inputs, self.0.classes),
            TensorShape::bias("bias", self.0.classes),
        ]
    }

    fn plan(&self) -> ViewPlan {
        ViewPlan {
            propagate_features: self.0.inputs <= self.0.classes,
            ..ViewPlan::new(self.0.layers, None)
        }
    }

    fn forward<'a>(
        &self,
        tape: &mut Tape<'a, T>,
        params: &[Var],
        view: &'a View<T>,
        _: Dropout,
    ) -> Output {
        let (mut z, propagated) = first_product(tape, view, params[0]);
        for l in usize::from(propagated)..self.0.layers {
            z = propagate(tape, view, l, z);
        }
        Output { logits: tape.add_bias(z, params[1]), hidden: None }
    }
}
