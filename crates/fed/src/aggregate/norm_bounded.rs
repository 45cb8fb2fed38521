//! The mean of updates of bounded length (Sun et al., Can You Really Backdoor Federated Learning?,
//! 2019).
//!
//! Every update θₖ − θ that is longer than the median of the round's lengths is cut to it; then the
//! method's weighted mean is taken. Nobody is silenced and nobody can shout; an attacker who
//! whispers is heard.

use super::coordinates::middle;

/// What is left of each update, in (0, 1].
pub(super) fn cuts(norms: &[f64]) -> Vec<f64> {
    let mut sorted = norms.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let centre = &sorted[middle(sorted.len())];
    let bound = centre.iter().sum::<f64>() / centre.len() as f64;
    norms.iter().map(|norm| if *norm > bound { bound / norm } else { 1.0 }).collect()
}
