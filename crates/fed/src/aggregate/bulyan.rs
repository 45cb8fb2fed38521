//! Bulyan (El Mhamdi et al., The Hidden Vulnerability of Distributed Learning in Byzantium, ICML
//! 2018).
//!
//! Krum chooses one model after the other, each time among those that are left, until it has n −
//! 2f. Of those, every coordinate is the mean of the n − 4f values that are nearest to its median.

use super::coordinates::{middle, windowed};
use super::krum::best;
use boostfgl_nn::{Params, Real};
use std::ops::Range;

pub(super) fn combine<T: Real>(
    models: &[&Params<T>],
    distances: &[Vec<f64>],
    byzantine: usize,
    target: &mut Params<T>,
) -> Vec<f64> {
    let mut remaining: Vec<usize> = (0..models.len()).collect();
    let mut chosen = Vec::new();
    while chosen.len() < models.len() - 2 * byzantine {
        // Scores depend on which models remain, so that they are computed again for each choice.
        let next = best(distances, &remaining, byzantine, 1)[0];
        remaining.retain(|i| *i != next);
        chosen.push(next);
    }
    // In client order, so that the shares below belong to the right clients.
    chosen.sort_unstable();
    let candidates: Vec<&Params<T>> = chosen.iter().map(|&i| models[i]).collect();
    let keep = candidates.len() - 2 * byzantine;
    let within = windowed(&candidates, target, |sorted| nearest_to_median(sorted, keep));
    let mut shares = vec![0.0; models.len()];
    chosen.into_iter().zip(within).for_each(|(i, share)| shares[i] = share);
    shares
}

/// The `keep` sorted values nearest to their median; of two at the same distance the smaller.
fn nearest_to_median(sorted: &[f64], keep: usize) -> Range<usize> {
    let centre = middle(sorted.len());
    let (mut first, mut end) = (centre.start, centre.start);
    let median = sorted[centre.clone()].iter().sum::<f64>() / centre.len() as f64;
    // The nearest of sorted values are neighbours: the window grows towards the nearer side.
    while end - first < keep {
        let below = first.checked_sub(1).map(|i| median - sorted[i]);
        let above = sorted.get(end).map(|x| x - median);
        match (below, above) {
            (Some(below), Some(above)) if below <= above => first -= 1,
            (Some(_), None) => first -= 1,
            _ => end += 1,
        }
    }
    first..end
}
