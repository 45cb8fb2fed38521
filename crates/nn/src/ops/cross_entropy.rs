//! The supervised loss: Σᵢ wᵢ · CE(softmax(zᵢ), yᵢ), loss and gradient in one pass, in place of the
//! logits.

use crate::kernels::softmax;
use crate::parallel;
use crate::tape::{Backward, Operation};
use crate::{Matrix, Real, Tape, Var, WeightedLoss};
use rayon::prelude::*;

impl<T: Real> Tape<'_, T> {
    /// The weighted cross-entropy of all rows of `logits`. Overwrites the logits.
    ///
    /// # Panics
    /// If there is not one label per row, or a label is not a column.
    pub fn cross_entropy(&mut self, logits: Var, loss: &WeightedLoss<T>) -> Var {
        let mut gradient = self.take(logits);
        let (stride, classes) = (gradient.stride(), gradient.columns());
        assert_eq!(gradient.rows(), loss.labels().len(), "one label per row");
        let mut losses = self.pool().take(1, gradient.rows().max(1));
        row_losses(&mut gradient, stride, classes, loss, losses.data_mut());
        // Row losses are added in row order and in `f64`, so that the digits do not depend on the
        // threads that computed them.
        let total: f64 = losses.row(0)[..loss.labels().len()].iter().map(|x| x.f64()).sum();
        self.pool().put(losses);
        let mut out = self.pool().take(1, 1);
        out.row_mut(0)[0] = T::of(total);
        self.record(&[logits], out, CrossEntropy { logits, gradient })
    }
}

/// Turns logits into gradients and writes the loss of each row, in parallel over rows.
fn row_losses<T: Real>(
    gradient: &mut Matrix<T>,
    stride: usize,
    classes: usize,
    loss: &WeightedLoss<T>,
    losses: &mut [T],
) {
    const ROWS: usize = 1024;
    let pieces = gradient.data_mut().par_chunks_mut(ROWS * stride).zip(losses.par_chunks_mut(ROWS));
    pieces.enumerate().for_each(|(i, (rows, losses))| {
        let labels = &loss.labels()[i * ROWS..][..rows.len() / stride];
        let weights = &loss.row_weights()[i * ROWS..][..labels.len()];
        softmax::cross_entropy(rows, stride, classes, labels, weights, losses);
        if loss.gamma() > 0.0 {
            focus(rows, stride, weights, losses, loss.gamma());
        }
    });
}

/// Makes cross-entropy the focal loss (1 − p)^γ·c, with c = −log p and p the probability of the own
/// class. Its gradient is that of c times (1 − p)^γ + γ·p·c·(1 − p)^(γ − 1), since ∂p/∂z = −p·∂c/∂z.
fn focus<T: Real>(rows: &mut [T], stride: usize, weights: &[T], losses: &mut [T], gamma: f64) {
    for ((row, weight), loss) in rows.chunks_exact_mut(stride).zip(weights).zip(losses) {
        // A row without weight has neither loss nor gradient.
        if *weight == T::ZERO {
            continue;
        }
        let c = loss.f64() / weight.f64();
        let p = libm::exp(-c);
        let wrong = 1.0 - p;
        let (share, factor) = match wrong > 0.0 {
            true => {
                let share = libm::pow(wrong, gamma);
                (share, share + gamma * p * c * libm::pow(wrong, gamma - 1.0))
            }
            false => (0.0, 0.0),
        };
        *loss = *loss * T::of(share);
        row.iter_mut().for_each(|x| *x = *x * T::of(factor));
    }
}

struct CrossEntropy<T> {
    logits: Var,
    gradient: Matrix<T>,
}

impl<T: Real> Operation<T> for CrossEntropy<T> {
    fn backward(mut self: Box<Self>, _: Var, gradient: Matrix<T>, to: &mut Backward<'_, '_, T>) {
        // The gradient was computed in the forward pass, together with the softmax. It is only
        // scaled here, and by 1 in every pass that starts from the loss.
        let scale = gradient.row(0)[0];
        if scale != T::ONE {
            let stride = self.gradient.stride();
            let work = self.gradient.data().len();
            parallel::over_rows(self.gradient.data_mut(), stride, work, |_, chunk| {
                chunk.iter_mut().for_each(|x| *x = *x * scale);
            });
        }
        to.add(self.logits, self.gradient);
        to.recycle(gradient);
    }
}
