//! Majority alignment: a loss pulls heterophilous nodes of majority classes towards the homophilous
//! ones of their class.
//!
//! H_v = |{u ∈ N(v) : y_u = y_v}| / |N(v)|, with training labels where there are any and the
//! history model's prediction elsewhere. A node without neighbours counts as homophilous: H_v = 1.

use super::experts::Roles;
use crate::client::argmax;
use crate::client_rule::ClientContext;
use crate::local_data::LocalData;
use boostfgl_nn::{Matrix, Pool, Real, extra_losses};

/// The training nodes of majority classes, by row of the hidden representation and class.
pub(super) struct Alignment {
    /// H_v at or above the threshold: these nodes form the centroids.
    homophilous: Vec<(u32, u32)>,
    /// H_v below it: these nodes are pulled towards the centroids.
    heterophilous: Vec<(u32, u32)>,
    classes: usize,
}

impl Alignment {
    /// Divides the majority's training nodes; `scores` are those of the history model for all nodes.
    pub(super) fn new<T: Real>(
        context: &ClientContext<'_, T>,
        roles: &Roles,
        scores: &Matrix<T>,
        threshold: f64,
    ) -> Self {
        let data = context.data();
        let rows = context.hidden_rows(data.training());
        let mut alignment =
            Self { homophilous: Vec::new(), heterophilous: Vec::new(), classes: data.classes() };
        for (&row, &v) in rows.iter().zip(data.training()) {
            let Some(class) =
                data.training_label(v as usize).filter(|&y| roles.majority[y as usize])
            else {
                continue;
            };
            let neighbours = data.adjacency().neighbours(v as usize);
            let same = neighbours
                .iter()
                .filter(|&&u| label_or_prediction(data, scores, u as usize) == class)
                .count();
            // Compared without a division, which a node without neighbours would not allow.
            let agrees =
                neighbours.is_empty() || same as f64 >= threshold * neighbours.len() as f64;
            let side =
                if agrees { &mut alignment.homophilous } else { &mut alignment.heterophilous };
            side.push((row, class));
        }
        alignment
    }

    /// L_align = mean over heterophilous nodes of 1 − cos(h_v, μ_{y_v}) and its gradient with
    /// respect to the hidden representation, where μ_c is the mean of class c's homophilous nodes,
    /// as a constant. A class without one has no term. `None` if no node has a term.
    pub(super) fn loss<T: Real>(
        &self,
        hidden: &Matrix<T>,
        pool: &Pool<T>,
    ) -> Option<(f64, Matrix<T>)> {
        let mut centroids = Matrix::<T>::zeros(self.classes, hidden.columns());
        let mut counts = vec![0usize; self.classes];
        for &(row, class) in &self.homophilous {
            counts[class as usize] += 1;
            let sum = centroids.row_mut(class as usize);
            sum.iter_mut().zip(hidden.row(row as usize)).for_each(|(sum, x)| *sum += *x);
        }
        // A cosine depends on the direction alone, so that sums serve as well as means.
        let aligned = self.heterophilous.iter().filter(|(_, class)| counts[*class as usize] > 0);
        let pairs: Vec<(u32, &[T])> =
            aligned.map(|&(row, class)| (row, centroids.row(class as usize))).collect();
        (!pairs.is_empty()).then(|| extra_losses::misalignment(hidden, &pairs, pool))
    }
}

/// The label of a training node; the class that `scores` predict for any other.
fn label_or_prediction<T: Real>(data: &LocalData<T>, scores: &Matrix<T>, u: usize) -> u32 {
    data.training_label(u).unwrap_or_else(|| argmax(scores.row(u)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Finite differences with a constant centroid.
    #[test]
    fn the_alignment_loss_agrees_with_finite_differences() {
        let alignment = Alignment {
            homophilous: vec![(0, 1), (1, 1)],
            heterophilous: vec![(2, 1), (3, 0)],
            classes: 2,
        };
        let mut hidden = Matrix::from_rows(4, 2, &[1.0, 0.0, 3.0, 0.0, 1.0, 1.0, 5.0, 5.0]);
        let pool = Pool::new();
        let (value, gradient) = alignment.loss(&hidden, &pool).unwrap();
        assert!((value - (1.0 - 0.5f64.sqrt())).abs() < 1e-12, "class 0 has no centroid");
        assert_eq!(gradient.to_vec()[..4], [0.0; 4], "the centroid is a constant");
        for j in 0..2 {
            let (h, at) = (1e-6, hidden.row(2)[j]);
            hidden.row_mut(2)[j] = at + h;
            let above = alignment.loss(&hidden, &pool).unwrap().0;
            hidden.row_mut(2)[j] = at - h;
            let below = alignment.loss(&hidden, &pool).unwrap().0;
            hidden.row_mut(2)[j] = at;
            assert!(((above - below) / (2.0 * h) - gradient.row(2)[j]).abs() < 1e-8);
        }
        let none = Alignment { heterophilous: Vec::new(), ..alignment };
        assert!(none.loss(&hidden, &pool).is_none());
    }
}
