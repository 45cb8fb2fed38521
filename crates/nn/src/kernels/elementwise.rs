//! Fused passes over whole buffers: bias, ReLU and dropout; Adam; SGD.

use super::dispatch;
use crate::Real;
use crate::dropout::Mask;

dispatch! {
    /// In place h = dropout(relu(h + bias)) for rows whose nodes are `nodes` (or `first..` if empty).
    fn bias_relu_dropout<T: Real>(h: &mut [T], bias: &[T], nodes: &[u32], mask: Mask<T>) {
        let stride = bias.len();
        for (row, &node) in h.chunks_exact_mut(stride).zip(nodes) {
            let counter = mask.row(node);
            for (j, (x, b)) in row.iter_mut().zip(bias).enumerate() {
                let y = *x + *b;
                let keep = (y > T::ZERO) & mask.keeps(counter, j as u32);
                *x = if keep { y * mask.scale } else { T::ZERO };
            }
        }
    }
}

dispatch! {
    /// In place g = gradient through [`bias_relu_dropout`], whose output tells what survived.
    fn bias_relu_dropout_gradient<T: Real>(gradient: &mut [T], output: &[T], scale: T) {
        for (g, y) in gradient.iter_mut().zip(output) {
            *g = if *y > T::ZERO { *g * scale } else { T::ZERO };
        }
    }
}

dispatch! {
    /// In place x += bias, row by row.
    fn add_bias<T: Real>(x: &mut [T], bias: &[T]) {
        for row in x.chunks_exact_mut(bias.len()) {
            for (x, b) in row.iter_mut().zip(bias) {
                *x += *b;
            }
        }
    }
}

dispatch! {
    /// out = sum of the rows of `x`.
    fn sum_rows<T: Real>(x: &[T], out: &mut [T]) {
        out.fill(T::ZERO);
        for row in x.chunks_exact(out.len()) {
            for (sum, x) in out.iter_mut().zip(row) {
                *sum += *x;
            }
        }
    }
}

/// The constants of one Adam step, bias corrections included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AdamStep<T> {
    pub(crate) beta1: T,
    pub(crate) beta2: T,
    /// lr / (1 − β₁ᵗ)
    pub(crate) step: T,
    /// 1 / √(1 − β₂ᵗ)
    pub(crate) root: T,
    pub(crate) epsilon: T,
    pub(crate) decay: T,
}

dispatch! {
    /// One Adam step in one pass: w, m, v are read and written once, g is read once.
    fn adam<T: Real>(w: &mut [T], g: &[T], m: &mut [T], v: &mut [T], s: AdamStep<T>) {
        let n = w.len();
        let (g, m, v) = (&g[..n], &mut m[..n], &mut v[..n]);
        for i in 0..n {
            let gradient = s.decay.mul_add(w[i], g[i]);
            let first = s.beta1.mul_add(m[i], (T::ONE - s.beta1) * gradient);
            let second = s.beta2.mul_add(v[i], (T::ONE - s.beta2) * gradient * gradient);
            m[i] = first;
            v[i] = second;
            w[i] -= s.step * first / second.sqrt().mul_add(s.root, s.epsilon);
        }
    }
}

dispatch! {
    /// One SGD step with weight decay and (heavy-ball) momentum, as PyTorch does it.
    fn sgd<T: Real>(w: &mut [T], g: &[T], velocity: &mut [T], rate: T, momentum: T, decay: T) {
        for ((w, g), velocity) in w.iter_mut().zip(g).zip(velocity) {
            *velocity = momentum.mul_add(*velocity, decay.mul_add(*w, *g));
            *w = (-rate).mul_add(*velocity, *w);
        }
    }
}
