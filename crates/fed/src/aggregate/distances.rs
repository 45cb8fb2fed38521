//! Squared distances between models.

use boostfgl_nn::{Params, Real};
use rayon::prelude::*;

/// ‖θᵢ − θⱼ‖² of every pair, summed in `f64` in the order of the coordinates: one task per pair, so
/// that no sum depends on the number of threads.
pub(super) fn squared<T: Real>(models: &[&Params<T>]) -> Vec<Vec<f64>> {
    let n = models.len();
    let pairs: Vec<(usize, usize)> = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))).collect();
    let found: Vec<f64> = pairs.par_iter().map(|&(i, j)| between(models[i], models[j])).collect();
    let mut all = vec![vec![0.0; n]; n];
    for ((i, j), d) in pairs.into_iter().zip(found) {
        (all[i][j], all[j][i]) = (d, d);
    }
    all
}

fn between<T: Real>(a: &Params<T>, b: &Params<T>) -> f64 {
    a.tensor_distances(b).iter().map(|d| d * d).sum()
}
