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

use crate::view::InputFeatures;
use crate::{
    Dropout, Error, Matrix, Operator, Params, Pool, Real, Result, Tape, TensorShape, Var, View,
    WeightedLoss,
};

/// A network that computes the logits of the nodes of a [`View`].
pub trait Backbone<T: Real>: Send + Sync {
    /// Names and shapes of the parameters, in the order `forward` takes them.
    fn shapes(&self) -> Vec<TensorShape>;

    /// The view that this network requires.
    fn plan(&self) -> ViewPlan;

    /// Numbers that neither follow from shapes and plan nor are learnt, each with its name: what
    /// another program needs to build the network.
    fn constants(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Records the logits of `view.nodes()` and the input of the last layer on the tape.
    fn forward<'a>(
        &self,
        tape: &mut Tape<'a, T>,
        params: &[Var],
        view: &'a View<T>,
        dropout: Dropout,
    ) -> Output;
}

/// The results of a forward pass, as values of the tape.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// One row per node of `view.nodes()`, one column per class.
    pub logits: Var,
    /// The last hidden representation after its dropout, one row per node of
    /// [`View::hidden_nodes`]; `None` exactly if [`ViewPlan::hidden`] is.
    pub hidden: Option<Var>,
}

/// The requirements of a network on a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewPlan {
    /// Number of layers that pass messages; 0 if the network passes none.
    pub hops: usize,
    /// Which messages they pass; not used without hops.
    pub operator: Operator,
    /// Whether a hop also reads the nodes exactly two hops away, by a separate operator that
    /// topology boosting does not change.
    pub two_hops: bool,
    /// Whether dense features are propagated once, before the first product. This pays if features
    /// are narrower than the hidden layer: P·X is then cheaper than P·(X·W), and constant while P
    /// is.
    pub propagate_features: bool,
    /// Whether the first layer multiplies a node's own features by separate weights.
    pub own_features: bool,
    /// The number of hops before the last hidden representation; `None` if the network has no
    /// hidden layer.
    pub hidden: Option<usize>,
}

impl ViewPlan {
    /// Features alone: no messages and no hidden layer.
    pub const FEATURES: Self = Self {
        hops: 0,
        operator: Operator::Gcn,
        two_hops: false,
        propagate_features: false,
        own_features: false,
        hidden: None,
    };

    /// A network of `hops` hops of GCN's operator, with its last hidden representation after
    /// `hidden` of them.
    pub(crate) fn new(hops: usize, hidden: Option<usize>) -> Self {
        Self { hops, hidden, ..Self::FEATURES }
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
    /// Width of the input of layer `l`; that of layer `layers` is the output of the network.
    pub(crate) fn width(&self, l: usize) -> usize {
        if l == 0 {
            self.inputs
        } else if l == self.layers {
            self.classes
        } else {
            self.hidden
        }
    }

    /// The number of hops before the last hidden representation, if every layer makes one hop.
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
    /// A summary of one line.
    pub summary: &'static str,
}

macro_rules! backbones {
    ($($name:literal => $kind:ident, $summary:literal;)*) => {
        /// All architectures.
        pub const BACKBONES: &[BackboneInfo] =
            &[$(BackboneInfo { name: $name, summary: $summary }),*];

        /// Builds the backbone of that name.
        ///
        /// # Errors
        /// If the name is unknown; the error suggests the nearest one.
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
    "gcn" => Gcn, "graph convolution (Kipf and Welling 2017): H' = relu(P H W + b)";
    "sage" => Sage, "GraphSAGE (Hamilton et al. 2017): H' = relu(mean of \
        neighbours · W + H V + b)";
    "gat" => Gat, "graph attention (Veličković et al. 2018): H' = relu(α(H) H W + \
        b), up to 8 heads";
    "gin" => Gin, "graph isomorphism network (Xu et al. 2019): H' = relu(MLP((1 + \
        ε) H + A H))";
    "sgc" => Sgc, "simple graph convolution (Wu et al. 2019): P^layers X W + b, \
        nothing hidden";
    "appnp" => Appnp, "personalised PageRank (Gasteiger et al. 2019): 10 × Z' = \
        0.9 P Z + 0.1 MLP(X)";
    "gprgnn" => GprGnn, "generalised PageRank (Chien et al. 2021): Σₖ γₖ Pᵏ \
        MLP(X), γ learnt, k ≤ 10";
    "h2gcn" => H2Gcn, "H2GCN (Zhu et al. 2020): self, neighbours and 2-hop \
        neighbours side by side";
    "mlp" => Mlp, "features only, no message passing: H' = relu(H W + b)";
}

/// Logits of `view.nodes()` without dropout and gradients, using the cache of the view.
pub fn logits<T: Real>(
    backbone: &dyn Backbone<T>,
    params: &Params<T>,
    view: &View<T>,
    pool: &Pool<T>,
) -> Matrix<T> {
    Pass::new(backbone, view, pool).using_cache(true).logits(params)
}

/// The loss of `view.nodes()` and its gradient with respect to every parameter, using the cache of
/// the view.
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

/// Features times the first tensor of the network, from the cache of the view if possible. The flag
/// is true if the product includes the first propagation.
pub fn first_product<'a, T: Real>(
    tape: &mut Tape<'a, T>,
    view: &'a View<T>,
    weights: Var,
) -> (Var, bool) {
    feature_product(tape, view.features(), view.cached_product(), weights)
}

/// The features of the first layer's output nodes, times their own weights.
pub(crate) fn own_product<'a, T: Real>(
    tape: &mut Tape<'a, T>,
    view: &'a View<T>,
    weights: Var,
) -> Var {
    feature_product(tape, view.own_features(), None, weights).0
}

/// P · z for layer `l`. Returns the buffer of z to the pool, since no backward pass reads it.
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
    features: &'a InputFeatures<T>,
    cached: Option<&'a Matrix<T>>,
    weights: Var,
) -> (Var, bool) {
    match features {
        InputFeatures::Sparse(x) => {
            let product = match cached.filter(|_| tape.cached()) {
                None => tape.sparse_features(x, weights),
                Some(product) if x.is_differentiable() => tape.cached_features(product, x, weights),
                Some(product) => tape.constant(product),
            };
            (product, false)
        }
        InputFeatures::Dense { x } => {
            let x = tape.constant(x);
            (tape.matmul(x, weights), false)
        }
        // Noise is defined on the messages P·(X·W). The cached P·X has none, so it is not used.
        InputFeatures::Propagated { x, .. } if !tape.noise().is_off() => {
            let x = tape.constant(x);
            (tape.matmul(x, weights), false)
        }
        InputFeatures::Propagated { px, .. } => {
            let px = tape.constant(px);
            (tape.matmul(px, weights), true)
        }
        InputFeatures::Given => {
            let x = tape.given_features();
            (tape.matmul(x, weights), false)
        }
    }
}
