//! The numeric core for both number types, in builds for tests compiled here.
//!
//! Generic code is compiled by whoever names a number type. At low levels of optimisation the
//! compiler takes what a crate below has compiled already: without these lines every crate above
//! and every binary of tests would compile the same kernels once more. Builds for users name one
//! type in one place and need none of it.

use crate::backbones::{self, Architecture};
use crate::optim::{Adam, AdamConfig, Optimizer, Sgd, SgdConfig};
use crate::{Dropout, Inputs, Params, Pool, Real, Result, View, WeightedLoss};
use boostfgl_graph::Graph;

/// Calls what others call, and through it all the rest. Nobody calls this.
fn step<T: Real>(
    graph: &Graph,
    sizes: Architecture,
    loss: &WeightedLoss<T>,
    dropout: Dropout,
) -> Result<f64> {
    let (backbone, pool) = (backbones::build::<T>("", sizes)?, Pool::new());
    let (inputs, plan) = (Inputs::new(graph), backbone.plan());
    let mut params = Params::glorot(&backbone.shapes(), 0);
    let mut view = View::training(&inputs, Vec::new(), plan);
    view.set_propagation(inputs.propagation());
    let (value, gradients) = backbones::gradients(&*backbone, &params, &view, loss, dropout, &pool);
    let optimizers: [Box<dyn Optimizer<T>>; 2] =
        [Box::new(Adam::new(AdamConfig::default())), Box::new(Sgd::new(SgdConfig::default()))];
    optimizers.into_iter().for_each(|mut optimizer| optimizer.step(&mut params, &gradients));
    for view in [View::whole(&inputs, plan), View::of_given_features(graph.adjacency(), plan)] {
        pool.put(backbones::logits(&*backbone, &params, &view, &pool));
    }
    Ok(value)
}

type Step<T> = fn(&Graph, Architecture, &WeightedLoss<T>, Dropout) -> Result<f64>;

#[used]
static SINGLE: Step<f32> = step::<f32>;

#[used]
static DOUBLE: Step<f64> = step::<f64>;
