//! What a model predicts for a client's nodes.

use boostfgl_nn::{Matrix, Real, softmax_rows};

/// The predictions for a client's own nodes.
pub(super) struct Predicted<T> {
    /// The predicted class of each node.
    pub(super) classes: Vec<u32>,
    /// The probability of every class, a row per node, if they are kept.
    pub(super) probabilities: Option<Matrix<T>>,
}

/// A score for every class and node.
pub(super) enum Scores<T> {
    /// Of a backbone: a softmax makes them probabilities.
    Logits(Matrix<T>),
    /// Of a method that predicts by itself.
    Probabilities(Matrix<T>),
}

impl<T: Real> Scores<T> {
    pub(super) fn matrix(&self) -> &Matrix<T> {
        let (Self::Logits(matrix) | Self::Probabilities(matrix)) = self;
        matrix
    }

    pub(super) fn into_matrix(self) -> Matrix<T> {
        let (Self::Logits(matrix) | Self::Probabilities(matrix)) = self;
        matrix
    }

    /// The probabilities of the first `rows` nodes.
    pub(super) fn probabilities(&self, rows: usize) -> Matrix<T> {
        let mut first = Matrix::zeros(rows, self.matrix().columns());
        (0..rows).for_each(|v| first.row_mut(v).copy_from_slice(self.matrix().row(v)));
        if matches!(self, Self::Logits(_)) {
            softmax_rows(&mut first);
        }
        first
    }
}

/// The first of the largest.
pub(crate) fn argmax<T: Real>(row: &[T]) -> u32 {
    let mut best = 0;
    for (c, x) in row.iter().enumerate() {
        if *x > row[best] {
            best = c;
        }
    }
    best as u32
}
