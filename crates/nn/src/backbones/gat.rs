//! Graph attention network (Veličković et al., ICLR 2018).
//!
//! Per layer and head, with Z = H W cut into heads: eᵤᵥ = LeakyReLU(⟨a, zᵤ⟩ + ⟨b, zᵥ⟩) with slope
//! 0.2, αᵤᵥ = Pᵥᵤ exp(eᵤᵥ) / Σ_w Pᵥ_w exp(e_wᵥ) over the neighbours of v and v itself, h'ᵥ = Σᵤ αᵤᵥ
//! zᵤ. Hidden layers concatenate their heads; the last layer has one head.
//!
//! P has ones on A + I, which is the paper's attention exactly. Edge weights, where the graph has
//! them, and topology boosting make it a prior: a message of weight 2 counts like two of weight 1.
//!
//! W: width × width, a and b: heads × width of a head, by Glorot's rule; bias 0. Departures from
//! the paper, to share one protocol with all other networks: relu instead of ELU, dropout on hidden
//! layers only, neither on the features nor on attention. The hidden width is the width of all
//! heads together: 8 of them, or the most of 4, 2, 1 that divide it.
//!
//! Memory is O(arcs · heads + nodes · width).

use super::{Architecture, Backbone, Output, ViewPlan, first_product};
use crate::kernels::attention::SLOPE;
use crate::{Dropout, Operator, Real, Tape, TensorShape, Var, View};

/// The graph attention network.
#[derive(Clone, Copy, Debug)]
pub struct Gat(Architecture);

impl Gat {
    /// A network of these sizes.
    pub fn new(architecture: Architecture) -> Self {
        Self(architecture)
    }

    /// Number of heads of layer `l`.
    fn heads(&self, l: usize) -> usize {
        if l + 1 == self.0.layers {
            return 1;
        }
        [8, 4, 2].into_iter().find(|heads| self.0.hidden.is_multiple_of(*heads)).unwrap_or(1)
    }

    fn layer_shapes(&self, l: usize) -> [TensorShape; 4] {
        let (from, to, name) = (self.0.width(l), self.0.width(l + 1), format!("layer{}", l + 1));
        let heads = self.heads(l);
        [
            TensorShape::weight(format!("{name}.weight"), from, to),
            TensorShape::weight(format!("{name}.source"), heads, to / heads),
            TensorShape::weight(format!("{name}.target"), heads, to / heads),
            TensorShape::bias(format!("{name}.bias"), to),
        ]
    }
}

impl<T: Real> Backbone<T> for Gat {
    fn shapes(&self) -> Vec<TensorShape> {
        (0..self.0.layers).flat_map(|l| self.layer_shapes(l)).collect()
    }

    fn plan(&self) -> ViewPlan {
        ViewPlan { operator: Operator::Ones, ..ViewPlan::new(self.0.layers, self.0.hidden_hops()) }
    }

    fn constants(&self) -> Vec<(&'static str, String)> {
        let heads: Vec<String> = (0..self.0.layers).map(|l| self.heads(l).to_string()).collect();
        vec![("heads", heads.join(",")), ("slope", SLOPE.to_string())]
    }

    fn forward<'a>(
        &self,
        tape: &mut Tape<'a, T>,
        params: &[Var],
        view: &'a View<T>,
        dropout: Dropout,
    ) -> Output {
        let (layers, _) = params.as_chunks::<4>();
        let last = self.0.layers - 1;
        let mut hidden = None;
        for (l, layer) in layers[..last].iter().enumerate() {
            let z = attend(tape, view, l, hidden, layer);
            hidden = Some(tape.hidden(z, layer[3], view.frontier(l + 1), dropout, l));
        }
        let z = attend(tape, view, last, hidden, &layers[last]);
        Output { logits: tape.add_bias(z, layers[last][3]), hidden }
    }
}

/// The attended messages of layer `l`, without its bias.
fn attend<'a, T: Real>(
    tape: &mut Tape<'a, T>,
    view: &'a View<T>,
    l: usize,
    h: Option<Var>,
    &[weight, source, target, _]: &[Var; 4],
) -> Var {
    let sent = match h {
        None => first_product(tape, view, weight).0,
        Some(h) => tape.matmul(h, weight),
    };
    tape.attention(view, l, sent, source, target)
}
