//! Architectures: one file each, one line in [`BACKBONES`].

mod gcn;
mod mlp;
mod pass;

pub use gcn::Gcn;
pub use mlp::Mlp;
pub use pass::{Extra, Pass, Supervised};

use crate::view::First;
use crate::{Dropout, Error, Matrix, Params, Pool, Real, Result, Tape, TensorShape, Var, View, WeightedLoss};

/// A network that turns a [`View`] into logits, one row per node.
pub trait Backbone<T: Real>: Send + Sync {
    /// Names and shapes of the parameters, in the order `forward` takes them.
    fn shapes(&self) -> Vec<TensorShape>;

    /// What a view must hold for this network.
    fn plan(&self) -> Plan;

    /// Logits of `view.nodes()` and what went into the last layer, recorded on the tape.
    fn forward<'a>(&self, tape: &mut Tape<'a, T>, params: &[Var], view: &'a View<T>, dropout: Dropout) -> Output;
}

/// What a forward pass leaves on the tape.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// One row per node of `view.nodes()`, one column per class.
    pub logits: Var,
    /// The last hidden representation after its dropout, one row per node of [`View::hidden_nodes`]; `None` exactly if
    /// [`Plan::hidden`] is.
    pub hidden: Option<Var>,
}

/// What a view must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How many layers pass messages.
    pub hops: usize,
    /// Whether dense features should be propagated once, before the first product. Worth it when features are
    /// narrower than the hidden layer: P·X is then cheaper than P·(X·W) and constant while P is.
    pub propagate_features: bool,
    /// After how many hops the last hidden representation stands; `None` if the network has no hidden layer.
    pub hidden: Option<usize>,
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
}

macro_rules! backbones {
    ($($name:literal => $kind:ident, $summary:literal;)*) => {
        /// All architectures.
        pub const BACKBONES: &[BackboneInfo] = &[$(BackboneInfo { name: $name, summary: $summary }),*];

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
    "gcn" => Gcn, "graph convolution (Kipf and Welling 2017): H' = relu(P H W + b)";
    "mlp" => Mlp, "features only, no message passing: H' = relu(H W + b)";
}

/// Logits of `view.nodes()` without dropout and without a way back, using what the view remembers.
pub fn logits<T: Real>(backbone: &dyn Backbone<T>, params: &Params<T>, view: &View<T>, pool: &Pool<T>) -> Matrix<T> {
    Pass::new(backbone, view, pool).recalling(true).logits(params)
}

/// The loss of `view.nodes()` and its gradient with respect to every parameter, using what the view remembers.
pub fn gradients<T: Real>(
    backbone: &dyn Backbone<T>,
    params: &Params<T>,
    view: &View<T>,
    loss: &WeightedLoss<T>,
    dropout: Dropout,
    pool: &Pool<T>,
) -> (f64, Vec<Matrix<T>>) {
    let pass = Pass::new(backbone, view, pool).recalling(true).dropout(dropout);
    pass.gradients(params, Supervised { loss, rows: None }, |_, _| Extra::default())
}

/// Features times the first weight matrix; the flag says whether propagation is already in.
pub fn first_product<'a, T: Real>(tape: &mut Tape<'a, T>, view: &'a View<T>, weights: Var) -> (Var, bool) {
    match view.first() {
        First::Sparse { x, rows, transpose } => {
            let product = match (view.remembered().filter(|_| tape.recalls()), transpose) {
                (None, transpose) => tape.sparse_features(x, rows, transpose.as_ref(), weights),
                (Some(product), None) => tape.constant(product),
                (Some(product), Some(transpose)) => tape.remembered_features(product, rows, transpose, weights),
            };
            (product, false)
        }
        First::Dense { x } => {
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
