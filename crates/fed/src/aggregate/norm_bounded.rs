//! The mean of updates of bounded length (Sun et al., Can You Really Backdoor Federated Learning?,
//! 2019).
//!
//! Every update θₖ − θ that is longer than the median of the round's lengths is shortened to it;
//! then the method's weighted mean is taken. No client is left out and none can dominate by length.
//! An attack with short updates has its full weight.

use super::coordinates::middle;

/// The factor by which each update is shortened, in (0, 1].
pub(super) fn cuts(norms: &[f64]) -> Vec<f64> {
    let mut sorted = norms.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let centre = &sorted[middle(sorted.len())];
    let bound = centre.iter().sum::<f64>() / centre.len() as f64;
    norms.iter().map(|norm| if *norm > bound { bound / norm } else { 1.0 }).collect()
}
