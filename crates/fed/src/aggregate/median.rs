//! The coordinate-wise median (Yin et al., Byzantine-Robust Distributed Learning, ICML 2018).
//!
//! Every coordinate is the median of the models' values; of an even number, the mean of the middle
//! two. All models have the same weight: with a median weighted by sizes a client would gain
//! influence by a false size.

use super::coordinates::{middle, windowed};
use boostfgl_nn::{Params, Real};

pub(super) fn combine<T: Real>(models: &[&Params<T>], target: &mut Params<T>) -> Vec<f64> {
    windowed(models, target, |sorted| middle(sorted.len()))
}
