//! Homophily confidence score (HCS): how well label propagation predicts hidden training labels.
//!
//! Half of the training labels are hidden; ten times F ← ½PF + ½F⁰ with F⁰ added once more on the
//! nodes whose label was kept, from F⁰ = one-hot there and 1/C elsewhere, with P = D̃^{-1/2}(A +
//! I)D̃^{-1/2} on every backbone. HCS is the share of hidden labels that come out right.

use crate::client::argmax;
use boostfgl_graph::Stream;
use boostfgl_nn::{Propagation, Real};

/// Steps of label propagation.
const STEPS: usize = 10;

/// Nodes with their labels.
pub type Labelled = Vec<(u32, u32)>;

/// Splits labelled nodes into two halves: those that keep their label, and those whose label is
/// hidden. The kept half is the larger.
pub fn halves(mut labelled: Labelled, seed: u64, client: usize) -> (Labelled, Labelled) {
    Stream::new(seed, "adafgl hidden labels", &[client as u64]).shuffle(&mut labelled);
    let hidden = labelled.split_off(labelled.len().div_ceil(2));
    (labelled, hidden)
}

/// HCS ∈ [0, 1]; ½ if no label is hidden.
pub fn confidence<T: Real>(
    propagation: &Propagation<T>,
    classes: usize,
    kept: &[(u32, u32)],
    hidden: &[(u32, u32)],
) -> f64 {
    if hidden.is_empty() {
        return 0.5;
    }
    let spread = spread(propagation, classes, kept);
    // The first of equal classes counts: a node that no label reached is predicted as class 0.
    let recovered = hidden
        .iter()
        .filter(|(v, label)| argmax(&spread[*v as usize * classes..][..classes]) == *label)
        .count();
    recovered as f64 / hidden.len() as f64
}

/// F after all steps, row by row.
fn spread<T: Real>(propagation: &Propagation<T>, classes: usize, kept: &[(u32, u32)]) -> Vec<f64> {
    let p = propagation.csr();
    let mut seeds = vec![1.0 / classes as f64; p.rows() * classes];
    for (v, label) in kept {
        let row = &mut seeds[*v as usize * classes..][..classes];
        row.fill(0.0);
        row[*label as usize] = 1.0;
    }
    let mut now = seeds.clone();
    for _ in 0..STEPS {
        let mut next: Vec<f64> = seeds.iter().map(|x| 0.5 * x).collect();
        for v in 0..p.rows() {
            for at in p.row_range(v) {
                let (weight, u) = (0.5 * p.values()[at].f64(), p.indices()[at] as usize);
                (0..classes).for_each(|c| next[v * classes + c] += weight * now[u * classes + c]);
            }
        }
        // Known labels are added once more after every step: propagation would otherwise smooth
        // them away.
        for (v, label) in kept {
            next[*v as usize * classes + *label as usize] += 1.0;
        }
        now = next;
    }
    now
}
