//! Architectures: one file each, one line in [`BACKBONES`].

mod appnp;
mod gat;
mod gcn;
mod gin;
mod gprgnn;
mod h2gcn;
mod mlp;
mod pass;
mod sage;
mod sgc;

pub use appnp::Appnp;
pub use gat::Gat;
pub use gcn::Gcn;
pub use gin::Gin;
pub use gprgnn::GprGnn;
pub use h2gcn::H2Gcn;
pub use mlp::Mlp;
pub use pass::{Extra, Pass, Supervised};
pub use sage::Sage;
pub use sgc::Sgc;

use crate::view::First;
use crate::{
    Dropout, Error, Matrix, Operator, Params, Pool, Real, Result, Tape, TensorShape, Var, View,
    WeightedLoss,
};

/// A network that turns a [`View`] into logits, one row per node.
pub trait Backbone<T: Real>: Send + Sync {
    /// Names and shapes of the parameters, in the order `forward` takes them.
    fn shapes(&self) -> Vec<TensorShape>;

    /// What a view must hold for this network.
    fn plan(&self) -> Plan;

    /// Logits of `view.nodes()` and what went into the last layer, recorded on the tape.
    fn forward<'a>(
        &self,
        tape: &mut Tape<'a, T>,
        params: &[Var],
        view: &'a View<T>,
        dropout: Dropout,
    ) -> Output;
}

/// What a forward pass leaves on the tape.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// One row per node of `view.nodes()`, one column per class.
    pub logits: Var,
    /// The last hidden representation after its dropout, one row per node of
    /// [`View::hidden_nodes`]; `None` exactly if [`Plan::hidden`] is.
    pub hidden: Option<Var>,
}

/// What a view must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How many layers pass messages.
    pub hops: usize,
    /// Which messages; of no consequence without hops.
    pub operator: Operator,
    /// Whether a hop also reads the nodes exactly two hops away, by an operator of their own that
    /// nothing replaces.
    pub two_hops: bool,
    /// Whether dense features should be propagated once, before the first product. Worth it when
    /// features are narrower than the hidden layer: P·X is then cheaper than P·(X·W) and constant
    /// while P is.
    pub propagate_features: bool,
    /// Whether the first layer multiplies a node's own features by weights of their own, apart from
    /// its neighbours'.
    pub own_features: bool,
    /// After how many hops the last hidden representation stands; `None` if the network has no
    /// hidden layer.
    pub hidden: Option<usize>,
}

impl Plan {
    /// Features alone: no message, nothing hidden.
    pub const FEATURES: Self = Self {
        hops: 0,
        operator: Operator::Gcn,
        two_hops: false,
        propagate_features: false,
        own_features: false,
        hidden: None,
    };

    /// A network of so many hops of GCN's operator that has a hidden representation after `hidden`
    /// of them.
    pub(crate) fn new(hops: usize, hidden: Option<usize>) -> Self {
        let operator = Operator::default();
        Self {
            hops,
            operator,
            two_hops: false,
            propagate_features: false,
            own_features: false,
            hidden,
        }
    }
}

/// Sizes of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Architecture {
    /// Number of features d.
    pub inputs: usize,
    /// Hidden width h.
    pub hidden: usize,
    /// Number of classes C.
    pub classes: usize,
    /// Number of layers, at least 1.
    pub layers: usize,
}

impl Architecture {
    /// Width of the representation that enters layer `l`.
    pub(crate) fn width(&self, l: usize) -> usize {
        if l == 0 {
            self.inputs
        } else if l == self.layers {
            self.classes
        } else {
            self.hidden
        }
    }

    /// After how many hops the last hidden representation stands, if every layer makes one hop.
    pub(crate) fn hidden_hops(&self) -> Option<usize> {
        (self.layers > 1).then(|| self.layers - 1)
    }

    /// Weight and bias of every layer of a plain stack of linear maps.
    pub(crate) fn linear_shapes(&self) -> Vec<TensorShape> {
        (0..self.layers)
            .flat_map(|l| {
                let (from, to) = (self.width(l), self.width(l + 1));
                [
                    TensorShape::weight(format!("layer{}.weight", l + 1), from, to),
                    TensorShape::bias(format!("layer{}.bias", l + 1), to),
                ]
            })
            .collect()
    }
}

/// One line of [`BACKBONES`].
#[derive(Clone, Copy, Debug)]
pub struct BackboneInfo {
    /// The name in configurations.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Whether nodes hear of each other at all: without messages there is nothing to boost in the
    /// topology.
    pub passes_messages: bool,
}

macro_rules! backbones {
    ($($name:literal => $kind:ident, messages: $messages:literal, $summary:literal;)*) => {
        /// All architectures.
        pub const BACKBONES: &[BackboneInfo] =
            &[$(BackboneInfo { name: $name, summary: $summary, passes_messages: $messages }),*];

        /// The backbone of that name.
        ///
        /// # Errors
        /// If there is none; the nearest name is suggested.
        pub fn build<T: Real>(name: &str, architecture: Architecture) -> Result<Box<dyn Backbone<T>>> {
            match name {
                $($name => Ok(Box::new($kind::new(architecture))),)*
                _ => Err(Error::UnknownBackbone {
                    name: name.to_owned(),
                    suggestion: boostfgl_graph::nearest(name, BACKBONES.iter().map(|b| b.name)).map(str::to_owned),
                }),
            }
        }
    };
}

backbones! {
    "gcn" => Gcn, messages: true, "graph convolution (Kipf and Welling 2017): H' = relu(P H W + b)";
    "sage" => Sage, messages: true, "GraphSAGE (Hamilton et al. 2017): H' = relu(mean of \
        neighbours · W + H V + b)";
    "gat" => Gat, messages: true, "graph attention (Veličković et al. 2018): H' = relu(α(H) H W + \
        b), up to 8 heads";
    "gin" => Gin, messages: true, "graph isomorphism network (Xu et al. 2019): H' = relu(MLP((1 + \
        ε) H + A H))";
    "sgc" => Sgc, messages: true, "simple graph convolution (Wu et al. 2019): P^layers X W + b, \
        nothing hidden";
    "appnp" => Appnp, messages: true, "personalised PageRank (Gasteiger et al. 2019): 10 × Z' = \
        0.9 P Z + 0.1 MLP(X)";
    "gprgnn" => GprGnn, messages: true, "generalised PageRank (Chien et al. 2021): Σₖ γₖ Pᵏ \
        MLP(X), γ learnt, k ≤ 10";
    "h2gcn" => H2Gcn, messages: true, "H2GCN (Zhu et al. 2020): self, neighbours and 2-hop \
        neighbours side by side";
    "mlp" => Mlp, messages: false, "features only, no message passing: H' = relu(H W + b)";
}

/// Logits of `view.nodes()` without dropout and without a way back, using what the view remembers.
pub fn logits<T: Real>(
    backbone: &dyn Backbone<T>,
    params: &Params<T>,
    view: &View<T>,
    pool: &Pool<T>,
) -> Matrix<T> {
    Pass::new(backbone, view, pool).using_cache(true).logits(params)
}

/// The loss of `view.nodes()` and its gradient with respect to every parameter, using what the view
/// remembers.
pub fn gradients<T: Real>(
    backbone: &dyn Backbone<T>,
    params: &Params<T>,
    view: &View<T>,
    loss: &WeightedLoss<T>,
    dropout: Dropout,
    pool: &Pool<T>,
) -> (f64, Vec<Matrix<T>>) {
    let pass = Pass::new(backbone, view, pool).using_cache(true).dropout(dropout);
    pass.gradients(params, Supervised { loss, rows: None }, |_, _| Extra::default())
}

/// Features times the first tensor of the network, whose product the view may remember; the flag
/// says whether propagation is already in.
pub fn first_product<'a, T: Real>(
    tape: &mut Tape<'a, T>,
    view: &'a View<T>,
    weights: Var,
) -> (Var, bool) {
    feature_product(tape, view.first(), view.remembered(), weights)
}

/// The features of the nodes the first layer computes, times weights of their own.
pub(crate) fn own_product<'a, T: Real>(
    tape: &mut Tape<'a, T>,
    view: &'a View<T>,
    weights: Var,
) -> Var {
    feature_product(tape, view.own(), None, weights).0
}

/// P · z for layer `l`, giving the buffer of z back: nothing on the way back reads it.
pub(crate) fn propagate<'a, T: Real>(
    tape: &mut Tape<'a, T>,
    view: &'a View<T>,
    l: usize,
    z: Var,
) -> Var {
    let out = tape.propagate(view, l, z);
    tape.release(z);
    out
}

fn feature_product<'a, T: Real>(
    tape: &mut Tape<'a, T>,
    features: &'a First<T>,
    remembered: Option<&'a Matrix<T>>,
    weights: Var,
) -> (Var, bool) {
    match features {
        First::Sparse(x) => {
            let product = match remembered.filter(|_| tape.cached()) {
                None => tape.sparse_features(x, weights),
                Some(product) if x.is_differentiable() => {
                    tape.remembered_features(product, x, weights)
                }
                Some(product) => tape.constant(product),
            };
            (product, false)
        }
        First::Dense { x } => {
            let x = tape.constant(x);
            (tape.matmul(x, weights), false)
        }
        // What is sent is X·W in every layer: noise belongs on P·(X·W), and P·X of an earlier pass
        // has none.
        First::Propagated { x, .. } if !tape.noise().is_off() => {
            let x = tape.constant(x);
            (tape.matmul(x, weights), false)
        }
        First::Propagated { px, .. } => {
            let px = tape.constant(px);
            (tape.matmul(px, weights), true)
        }
        First::Given => {
            let x = tape.given_features();
            (tape.matmul(x, weights), false)
        }
    }
}
