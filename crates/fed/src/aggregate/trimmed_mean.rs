//! The coordinate-wise trimmed mean (Yin et al., Byzantine-Robust Distributed Learning, ICML 2018).
//!
//! Every coordinate is the plain mean of the models' values without the f smallest and the f
//! largest.

use super::coordinates::windowed;
use boostfgl_nn::{Params, Real};

pub(super) fn combine<T: Real>(
    models: &[&Params<T>],
    byzantine: usize,
    target: &mut Params<T>,
) -> Vec<f64> {
    windowed(models, target, |sorted| byzantine..sorted.len() - byzantine)
}
