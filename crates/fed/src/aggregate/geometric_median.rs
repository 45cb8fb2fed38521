//! The geometric median (Pillutla et al., Robust Aggregation for Federated Learning, 2022).
//!
//! The point z = Σ λₖ θₖ with the least Σ ‖z − θₖ‖, by Weiszfeld's iteration λₖ ∝ 1/max(‖z − θₖ‖,
//! ν). It never leaves the span of the models, so that it runs on the distances between them alone:
//! ‖z − θₖ‖² = Σⱼ λⱼ Dⱼₖ − ½ Σᵢⱼ λᵢ λⱼ Dᵢⱼ with D the squared distances. All models have
//! the same weight.

/// Largest number of iterations; it usually converges in far fewer.
const MOST_ITERATIONS: usize = 1000;
/// Weights that change less than this have converged.
const CONVERGED: f64 = 1e-12;
/// ν as a share of the median distance: avoids a division by 0 where z is one of the models.
const SMOOTHING: f64 = 1e-9;

/// The weights λ of the models, from their squared distances.
pub(super) fn weights(distances: &[Vec<f64>]) -> Vec<f64> {
    let n = distances.len();
    let mut lambda = vec![1.0 / n as f64; n];
    let mut roots: Vec<f64> =
        (0..n).flat_map(|i| distances[i][i + 1..].iter().map(|d| libm::sqrt(*d))).collect();
    roots.sort_unstable_by(f64::total_cmp);
    // The median distance sets the scale of ν, so that the result does not depend on units.
    let scale = roots.get(roots.len() / 2).copied().unwrap_or(0.0);
    if scale == 0.0 && roots.last().is_none_or(|d| *d == 0.0) {
        return lambda;
    }
    let floor = (SMOOTHING * scale).max(f64::MIN_POSITIVE);
    for _ in 0..MOST_ITERATIONS {
        let next = step(distances, &lambda, floor);
        let moved = lambda.iter().zip(&next).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        lambda = next;
        if moved < CONVERGED {
            break;
        }
    }
    lambda
}

/// One iteration of Weiszfeld.
fn step(distances: &[Vec<f64>], lambda: &[f64], floor: f64) -> Vec<f64> {
    let to_all: Vec<f64> = distances.iter().map(|row| dot(row, lambda)).collect();
    let spread = 0.5 * dot(&to_all, lambda);
    // Relative to the nearest, so that a floor far below every distance cannot overflow.
    let apart: Vec<f64> =
        to_all.iter().map(|d| libm::sqrt((d - spread).max(0.0)).max(floor)).collect();
    let nearest = apart.iter().copied().fold(f64::INFINITY, f64::min);
    let near: Vec<f64> = apart.iter().map(|d| nearest / d).collect();
    // Never 0: the nearest contributes 1.
    let sum: f64 = near.iter().sum();
    near.into_iter().map(|share| share / sum).collect()
}

/// Σ aₖ bₖ.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
