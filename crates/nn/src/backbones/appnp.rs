//! Predict then propagate: APPNP (Gasteiger, Bojchevski and Günnemann, ICLR 2019).
//!
//! H = MLP(X), Z⁰ = H, Zᵏ⁺¹ = (1 − α) P Zᵏ + α H for k < K, logits = Zᴷ, with K = 10, α = 0.1 and P
//! = D̃^{-1/2}(A+I)D̃^{-1/2} or, under topology boosting, any matrix of that pattern.
//!
//! The perceptron has the parameters of `mlp`. The hidden representation is its hidden layer,
//! before any hop. Departures from the paper: dropout on hidden layers only, neither on the
//! features nor on P.

use super::mlp::perceptron;
use super::{Architecture, Backbone, Output, ViewPlan};
use crate::{Dropout, Real, Tape, TensorShape, Var, View};

/// Steps of propagation K.
const HOPS: usize = 10;
/// Probability α of returning to the node's own prediction.
const TELEPORT: f64 = 0.1;

/// Approximate personalised propagation of neural predictions.
#[derive(Clone, Copy, Debug)]
pub struct Appnp(Architecture);

impl Appnp {
    /// A network of these sizes.
    pub fn new(architecture: Architecture) -> Self {
        Self(architecture)
    }
}

impl<T: Real> Backbone<T> for Appnp {
    fn shapes(&self) -> Vec<TensorShape> {
        self.0.linear_shapes()
    }

    fn plan(&self) -> ViewPlan {
        ViewPlan::new(HOPS, (self.0.layers > 1).then_some(0))
    }

    fn constants(&self) -> Vec<(&'static str, String)> {
        vec![("steps", HOPS.to_string()), ("teleport", TELEPORT.to_string())]
    }

    fn forward<'a>(
        &self,
        tape: &mut Tape<'a, T>,
        params: &[Var],
        view: &'a View<T>,
        dropout: Dropout,
    ) -> Output {
        let Output { logits: mut own, hidden } =
            perceptron(tape, params, view, dropout, self.0.layers);
        let (stay, leave) = (T::of(TELEPORT), T::of(1.0 - TELEPORT));
        let mut z = own;
        for l in 0..HOPS {
            let moved = tape.propagate(view, l, z);
            if z != own {
                tape.release(z);
            }
            // Of H, only the nodes that the remaining hops still need.
            own = tape.own_rows(view.block(l), own);
            z = tape.blend((leave, moved), (stay, own));
        }
        Output { logits: z, hidden }
    }
}
