//! Estimates from samples, and their standard errors.

use boostfgl_fairness::diagnostics::gsd::{Gsd, GsdRound, Mass, Weighting};
use boostfgl_graph::Stream;

/// Norms of the training nodes of three classes at two clients: skewed, as they are in runs.
fn norms() -> Vec<Vec<Vec<f64>>> {
    let sizes = [[60, 25, 14], [45, 30, 9]];
    let mut stream = Stream::new(11, "norms", &[]);
    let mut class = |(c, &n): (usize, &usize)| {
        (0..n)
            .map(|_| (1.0 + c as f64) * (0.3 + stream.unit() * stream.unit() * 3.0))
            .collect::<Vec<f64>>()
    };
    sizes.iter().map(|client| client.iter().enumerate().map(&mut class).collect()).collect()
}

fn mass(nodes: usize, norms: &[f64]) -> Mass {
    let (sum, squares) = (norms.iter().sum(), norms.iter().map(|x| x * x).sum());
    Mass {
        nodes,
        measured: norms.len(),
        sum,
        squares,
        weighted_sum: 2.0 * sum,
        weighted_squares: 4.0 * squares,
    }
}

fn gsd(clients: Vec<Vec<Mass>>) -> Gsd {
    let counts = |class: usize| clients.iter().map(|client| client[class].nodes).sum();
    let training_counts = (0..3).map(counts).collect();
    Gsd {
        training_counts,
        minority: Vec::new(),
        minority_ratio: Some(0.3),
        rounds: vec![GsdRound { round: 1, clients }],
    }
}

/// `share` of each class, at least 8 of them or all.
fn sampled(norms: &[Vec<Vec<f64>>], share: f64, draw: u64) -> Gsd {
    let mut stream = Stream::new(5, "draw", &[draw]);
    let mut class = |all: &Vec<f64>| {
        let mut drawn = all.clone();
        stream.shuffle(&mut drawn);
        drawn.truncate(((share * all.len() as f64) as usize).max(8));
        mass(all.len(), &drawn)
    };
    gsd(norms.iter().map(|client| client.iter().map(&mut class).collect()).collect())
}

#[test]
fn sampled_ratios_are_unbiased_and_their_error_is_right() {
    let norms = norms();
    let all =
        |client: &Vec<Vec<f64>>| client.iter().map(|class| mass(class.len(), class)).collect();
    let exact = gsd(norms.iter().map(all).collect());
    let exact = exact.pooled(0, &exact.minority_at(0.3), Weighting::Plain).unwrap();
    assert_eq!(exact.error, 0.0);
    const DRAWS: u64 = 200;
    let (mut within, mut sum, mut errors) = (0, 0.0, 0.0);
    for draw in 0..DRAWS {
        let found = sampled(&norms, 0.3, draw);
        let (plain, weighted) = (
            found.pooled(0, &found.minority_at(0.3), Weighting::Plain),
            found.pooled(0, &found.minority_at(0.3), Weighting::Boosted),
        );
        let plain = plain.unwrap();
        // The same α for all cancels.
        assert!((plain.per_node - weighted.unwrap().per_node).abs() < 1e-12);
        assert!(plain.error > 0.0 && plain.error < 0.5 * exact.per_node);
        within += usize::from((plain.per_node - exact.per_node).abs() < 2.0 * plain.error);
        (sum, errors) = (sum + plain.per_node, errors + plain.error);
    }
    let (mean, error) = (sum / DRAWS as f64, errors / DRAWS as f64);
    assert!(within >= 170, "{within} of {DRAWS} within two errors");
    // Four standard errors of the mean of the draws.
    assert!(
        (mean - exact.per_node).abs() < 4.0 * error / (DRAWS as f64).sqrt(),
        "{mean} is not {}",
        exact.per_node
    );
}

#[test]
fn groups_without_nodes_or_measurements_have_no_ratio() {
    let one_class = gsd(vec![vec![mass(3, &[1.0, 2.0, 3.0]), Mass::default(), Mass::default()]]);
    assert_eq!(one_class.pooled(0, &one_class.minority_at(0.3), Weighting::Plain), None);
    let empty = gsd(vec![vec![Mass::default(); 3]]);
    assert_eq!(empty.pooled(0, &empty.minority_at(0.3), Weighting::Plain), None);
    let empty = gsd(Vec::new());
    assert_eq!(empty.pooled(0, &empty.minority_at(0.3), Weighting::Plain), None);
    let unmeasured = gsd(vec![vec![mass(9, &[1.0]), mass(2, &[]), Mass::default()]]);
    assert_eq!(unmeasured.pooled(0, &unmeasured.minority_at(0.1), Weighting::Plain), None);
    let still = gsd(vec![vec![mass(2, &[0.0, 0.0]), mass(1, &[1.0]), Mass::default()]]);
    assert_eq!(still.pooled(0, &still.minority_at(0.3), Weighting::Plain), None);
    // One of many is an estimate, though an unsure one.
    let guess = gsd(vec![vec![mass(9, &[1.0]), mass(2, &[3.0, 3.0]), Mass::default()]]);
    let guess = guess.pooled(0, &guess.minority_at(0.1), Weighting::Plain).unwrap();
    assert!((guess.per_node - 3.0).abs() < 1e-15 && guess.error > 1.0);
}
