//! Instantiation of the numeric core for both number types, in test builds only.
//!
//! Generic code is compiled in the crate that names the number type. At low optimisation levels the
//! compiler reuses instances of a crate below; without this file every crate above and every test
//! binary would compile the same kernels again. Release builds name one type in one place and do
//! not need it.

use crate::backbones::{self, Architecture};
use crate::optim::{Adam, AdamConfig, Optimizer, Sgd, SgdConfig};
use crate::{Dropout, Inputs, Params, Pool, Real, Result, View, WeightedLoss};
use boostfgl_graph::Graph;

/// Uses the entry points of other crates, and through them all kernels. It is never called.
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
