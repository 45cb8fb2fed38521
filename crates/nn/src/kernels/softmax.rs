//! Softmax and its cross-entropy, row by row.

use super::dispatch;
use crate::Real;

dispatch! {
    /// Turns each row of logits into probabilities in place; columns from `classes` on stay zero.
    fn softmax<T: Real>(rows: &mut [T], stride: usize, classes: usize) {
        for row in rows.chunks_exact_mut(stride) {
            let _ = softmax_row(&mut row[..classes]);
        }
    }
}

dispatch! {
    /// Turns each row of logits into the gradient of its weighted cross-entropy, and writes the
    /// row's loss.
    ///
    /// Row i has label `labels[i]` and weight `weights[i]`: loss = w · (log Σⱼ e^{zⱼ} − z_y),
    /// gradient = w · (p − e_y).
    fn cross_entropy<T: Real>(
        rows: &mut [T],
        stride: usize,
        classes: usize,
        labels: &[u32],
        weights: &[T],
        losses: &mut [T],
    ) {
        for (i, row) in rows.chunks_exact_mut(stride).enumerate() {
            let row = &mut row[..classes];
            let label = labels[i] as usize;
            let logit = row[label];
            let (maximum, sum) = softmax_row(row);
            // −log p_y = log Σⱼ e^{zⱼ − max} − (z_y − max): no logarithm of a tiny probability.
            losses[i] = weights[i] * (sum.ln() - (logit - maximum));
            row[label] -= T::ONE;
            for x in row {
                *x = *x * weights[i];
            }
        }
    }
}

/// In place softmax of one row; returns the maximum logit and Σ e^{z − max}.
///
/// Each step is a loop of its own: the exponentials then vectorise, while the sum stays a chain in
/// the order of the columns, the same on every CPU.
#[inline(always)]
fn softmax_row<T: Real>(row: &mut [T]) -> (T, T) {
    let mut maximum = row[0];
    for x in &*row {
        maximum = if *x > maximum { *x } else { maximum };
    }
    for x in &mut *row {
        *x = (*x - maximum).exp();
    }
    let mut sum = T::ZERO;
    for x in &*row {
        sum += *x;
    }
    let inverse = T::ONE / sum;
    for x in &mut *row {
        *x = *x * inverse;
    }
    (maximum, sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_logits_do_not_overflow() {
        let mut rows = [1000.0f32, 1000.0, -1000.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        softmax(&mut rows, 8, 3);
        assert!((rows[0] - 0.5).abs() < 1e-6 && rows[2] < 1e-30);
        let mut rows = [0.0f64, 0.0, 0.0, 0.0, 7.0, 7.0, 7.0, 7.0];
        let mut loss = [0.0];
        cross_entropy(&mut rows, 8, 4, &[2], &[3.0], &mut loss);
        assert!((loss[0] - 3.0 * 4f64.ln()).abs() < 1e-12);
        assert_eq!(rows[..4], [0.75, 0.75, -2.25, 0.75]);
        assert_eq!(rows[4..], [7.0; 4], "columns beyond the classes are not changed");
    }
}
