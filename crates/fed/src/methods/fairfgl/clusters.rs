//! Clusters of clients by the cosine between their updates.

use super::Clusters;

/// Updates whose cosine differs from 1 by less than this have the same direction.
const SAME: f64 = 1e-9;

/// cos(Δᵢ, Δⱼ) of every pair, from ⟨Δᵢ, Δⱼ⟩ for j ≤ i; 0 where an update is 0.
pub(super) fn cosines(inner: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut cosines = vec![vec![1.0; inner.len()]; inner.len()];
    for i in 0..inner.len() {
        for j in 0..i {
            let lengths = libm::sqrt(inner[i][i]) * libm::sqrt(inner[j][j]);
            let cosine = if lengths > 0.0 { inner[i][j] / lengths } else { 0.0 };
            (cosines[i][j], cosines[j][i]) = (cosine, cosine);
        }
    }
    cosines
}

/// Clusters of clients, each increasing, in the order of their first client.
pub(super) fn clusters(rule: Clusters, cosines: &[Vec<f64>]) -> Vec<Vec<usize>> {
    let each: Vec<Vec<usize>> = (0..cosines.len()).map(|k| vec![k]).collect();
    match rule {
        Clusters::One => vec![(0..cosines.len()).collect()],
        Clusters::Linkage => {
            // Two clusters are wanted, but equal updates are never separated.
            merged(each, |count, similarity| count > 2 || similarity > 1.0 - SAME, cosines, mean)
        }
        Clusters::Components => merged(each, |_, similarity| similarity > 0.0, cosines, largest),
    }
}

/// Joins the two most similar clusters, the first of equals, while `continues(clusters,
/// similarity)`.
fn merged(
    mut clusters: Vec<Vec<usize>>,
    continues: impl Fn(usize, f64) -> bool,
    cosines: &[Vec<f64>],
    linkage: impl Fn(&[usize], &[usize], &[Vec<f64>]) -> f64,
) -> Vec<Vec<usize>> {
    while clusters.len() > 1 {
        let mut best = (f64::NEG_INFINITY, 0, 1);
        for j in 1..clusters.len() {
            for i in 0..j {
                let found = linkage(&clusters[i], &clusters[j], cosines);
                if found > best.0 {
                    best = (found, i, j);
                }
            }
        }
        let (similarity, i, j) = best;
        if !continues(clusters.len(), similarity) {
            break;
        }
        let joined = clusters.remove(j);
        clusters[i].extend(joined);
        clusters[i].sort_unstable();
    }
    clusters
}

/// Average linkage.
fn mean(a: &[usize], b: &[usize], cosines: &[Vec<f64>]) -> f64 {
    let sum: f64 = a.iter().flat_map(|&i| b.iter().map(move |&j| cosines[i][j])).sum();
    sum / (a.len() * b.len()) as f64
}

/// Single linkage: joining by the largest cosine gives connected components.
fn largest(a: &[usize], b: &[usize], cosines: &[Vec<f64>]) -> f64 {
    a.iter().flat_map(|&i| b.iter().map(move |&j| cosines[i][j])).fold(f64::NEG_INFINITY, f64::max)
}

#[cfg(test)]
mod tests {
    use super::super::entries::full_inner_products;
    use super::*;

    fn cosines(updates: &[Vec<f64>]) -> Vec<Vec<f64>> {
        super::cosines(&full_inner_products(updates))
    }

    fn found(rule: Clusters, updates: &[[f64; 3]]) -> Vec<Vec<usize>> {
        clusters(rule, &cosines(&updates.iter().map(|u| u.to_vec()).collect::<Vec<_>>()))
    }

    #[test]
    fn cosines_follow_from_inner_products() {
        let c = cosines(&[vec![3.0, 0.0], vec![1.0, 1.0], vec![0.0, 0.0], vec![-2.0, 0.0]]);
        assert!((c[0][1] - 0.5f64.sqrt()).abs() < 1e-12 && (c[0][3] + 1.0).abs() < 1e-12);
        assert_eq!((c[0][2], c[1][1]), (0.0, 1.0));
    }

    #[test]
    fn clients_with_similar_updates_form_a_cluster() {
        let updates =
            [[1.0, 0.0, 0.1], [-1.0, 0.0, 0.0], [2.0, 0.1, 0.0], [-3.0, 0.2, 0.0], [1.0, 0.0, 0.1]];
        for rule in [Clusters::Linkage, Clusters::Components] {
            assert_eq!(found(rule, &updates), [vec![0, 2, 4], vec![1, 3]], "{rule:?}");
        }
        assert_eq!(found(Clusters::One, &updates), [vec![0, 1, 2, 3, 4]]);
    }

    /// Two clusters are wanted, but equal updates are never separated.
    #[test]
    fn equal_updates_are_in_one_cluster() {
        for rule in [Clusters::Linkage, Clusters::Components, Clusters::One] {
            assert_eq!(found(rule, &[[0.1, 0.7, -0.3]; 3]), [vec![0, 1, 2]], "{rule:?}");
            assert_eq!(found(rule, &[[0.1, 0.7, -0.3]]), [vec![0]]);
        }
        assert_eq!(
            found(Clusters::Linkage, &[[1.0, 0.0, 0.0], [0.9, 0.3, 0.0]]),
            [vec![0], vec![1]]
        );
    }
}
