//! Krum and Multi-Krum (Blanchard et al., Machine Learning with Adversaries, NeurIPS 2017).
//!
//! The score of a model is the sum of its squared distances to the n − f − 2 models nearest to it.
//! Krum takes the model with the least score, whole; Multi-Krum the n − f models with the least
//! scores, which are then averaged with the weights that the method gives them. Of equal scores the
//! model that is nearer to all others is better, then the first.
//!
//! Both leave out whole clients. A client whose data are unlike the others' is treated as an
//! attacker. Here robustness and fairness conflict, which is why the weights of a round are
//! reported.

/// The members with the least scores, at most `keep` of them, the least first.
pub(super) fn best(
    distances: &[Vec<f64>],
    members: &[usize],
    byzantine: usize,
    keep: usize,
) -> Vec<usize> {
    let nearest = members.len().saturating_sub(byzantine + 2).max(1);
    let mut scored: Vec<([f64; 2], usize)> =
        members.iter().map(|&i| (score(distances, members, nearest, i), i)).collect();
    scored
        .sort_by(|(a, i), (b, j)| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])).then(i.cmp(j)));
    scored.into_iter().take(keep).map(|(_, i)| i).collect()
}

/// Of model `i`, the sum of the `nearest` smallest distances to other members, and the sum of the
/// distances to all models. Two models that are each other's nearest neighbour have equal first
/// scores; the second breaks the tie.
fn score(distances: &[Vec<f64>], members: &[usize], nearest: usize, i: usize) -> [f64; 2] {
    let mut others: Vec<f64> =
        members.iter().filter(|j| **j != i).map(|&j| distances[i][j]).collect();
    others.sort_unstable_by(f64::total_cmp);
    [others.iter().take(nearest).sum(), distances[i].iter().sum()]
}

/// Which models are chosen.
pub(super) fn chosen(distances: &[Vec<f64>], byzantine: usize, keep: usize) -> Vec<bool> {
    let all: Vec<usize> = (0..distances.len()).collect();
    let best = best(distances, &all, byzantine, keep);
    all.iter().map(|i| best.contains(i)).collect()
}
