//! The numeric core for both number types, in builds for tests compiled here.
//!
//! Generic code is compiled by whoever names a number type. At low levels of optimisation the compiler takes what a crate
//! below has compiled already: without these lines every crate above and every binary of tests would compile the same kernels
//! once more. Builds for users name one type in one place and need none of it.

use crate::backbones::{self, Architecture, Backbone, Plan};
use crate::optim::{Adam, AdamConfig, Optimizer, Sgd, SgdConfig};
use crate::{Dropout, Inputs, Matrix, Params, Pool, Propagation, Real, Result, TensorShape, View, WeightedLoss};
use boostfgl_graph::{Adjacency, Graph};

type Gradients<T> =
    fn(&dyn Backbone<T>, &Params<T>, &View<T>, &WeightedLoss<T>, Dropout, &Pool<T>) -> (f64, Vec<Matrix<T>>);

/// What others call, and through it all the rest.
struct Entrances<T: Real> {
    _inputs: fn(&Graph) -> Inputs<T>,
    _views: (fn(&Inputs<T>, Vec<u32>, Plan) -> View<T>, fn(&Inputs<T>, Plan) -> View<T>),
    _other_views: (fn(&Adjacency, Plan) -> View<T>, fn(&mut View<T>, &Propagation<T>)),
    _params: fn(&[TensorShape], u64) -> Params<T>,
    _build: fn(&str, Architecture) -> Result<Box<dyn Backbone<T>>>,
    _gradients: Gradients<T>,
    _logits: fn(&dyn Backbone<T>, &Params<T>, &View<T>, &Pool<T>) -> Matrix<T>,
    _adam: fn(AdamConfig) -> Box<dyn Optimizer<T>>,
    _sgd: fn(SgdConfig) -> Box<dyn Optimizer<T>>,
}

impl<T: Real> Entrances<T> {
    const ALL: Self = Self {
        _inputs: Inputs::new,
        _views: (View::training, View::whole),
        _other_views: (View::of_given_features, View::set_propagation),
        _params: Params::glorot,
        _build: backbones::build,
        _gradients: backbones::gradients,
        _logits: backbones::logits,
        _adam: |config| Box::new(Adam::new(config)),
        _sgd: |config| Box::new(Sgd::new(config)),
    };
}

#[used]
static SINGLE: Entrances<f32> = Entrances::ALL;

#[used]
static DOUBLE: Entrances<f64> = Entrances::ALL;
