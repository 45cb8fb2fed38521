//! Fused passes over whole buffers: bias, ReLU and dropout; linear combinations; Adam; SGD.

use super::dispatch;
use crate::Real;
use crate::dropout::Mask;

dispatch! {
    /// In place h = dropout(relu(h + bias)) for rows whose nodes are `nodes`.
    fn bias_relu_dropout<T: Real>(h: &mut [T], bias: &[T], nodes: &[u32], mask: Mask<T>) {
        let stride = bias.len();
        if mask.keeps_everything() {
            for row in h.chunks_exact_mut(stride) {
                for (x, b) in row.iter_mut().zip(bias) {
                    let y = *x + *b;
                    *x = if y > T::ZERO { y * mask.scale } else { T::ZERO };
                }
            }
            return;
        }
        for (row, &node) in h.chunks_exact_mut(stride).zip(nodes) {
            let counter = mask.row(node);
            for (j, (x, b)) in row.iter_mut().zip(bias).enumerate() {
                let y = *x + *b;
                // `&`, not `&&`: without a branch the loop vectorises.
                let keep = (y > T::ZERO) & mask.keeps(counter, j as u32);
                *x = if keep { y * mask.scale } else { T::ZERO };
            }
        }
    }
}

dispatch! {
    /// In place g = gradient through [`bias_relu_dropout`].
    ///
    /// The output is positive exactly where ReLU and dropout let a number through, so that no mask
    /// has to be stored or drawn again.
    fn bias_relu_dropout_gradient<T: Real>(gradient: &mut [T], output: &[T], scale: T) {
        for (g, y) in gradient.iter_mut().zip(output) {
            *g = if *y > T::ZERO { *g * scale } else { T::ZERO };
        }
    }
}

dispatch! {
    /// In place x = dropout(x) for rows whose nodes are `nodes`.
    fn dropout<T: Real>(x: &mut [T], stride: usize, nodes: &[u32], mask: Mask<T>) {
        for (row, &node) in x.chunks_exact_mut(stride).zip(nodes) {
            let counter = mask.row(node);
            for (j, x) in row.iter_mut().enumerate() {
                *x = if mask.keeps(counter, j as u32) { *x * mask.scale } else { T::ZERO };
            }
        }
    }
}

dispatch! {
    /// In place x = a·x + b·z.
    fn blend<T: Real>(x: &mut [T], z: &[T], a: T, b: T) {
        for (x, z) in x.iter_mut().zip(z) {
            *x = a.mul_add(*x, b * *z);
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

impl<T: Real> AdamStep<T> {
    /// The new parameter; moves both moments.
    #[inline(always)]
    fn apply(&self, w: T, g: T, m: &mut T, v: &mut T) -> T {
        // Weight decay is part of the gradient, as in PyTorch's `Adam` (not `AdamW`).
        let gradient = self.decay.mul_add(w, g);
        *m = self.beta1.mul_add(*m, (T::ONE - self.beta1) * gradient);
        *v = self.beta2.mul_add(*v, (T::ONE - self.beta2) * gradient * gradient);
        // m̂ = m/(1 − β₁ᵗ) and √v̂ = √v/√(1 − β₂ᵗ): both corrections are constants of the step.
        w - self.step * *m / v.sqrt().mul_add(self.root, self.epsilon)
    }
}

dispatch! {
    /// One Adam step in one pass: w, m, v are read and written once, g is read once.
    fn adam<T: Real>(w: &mut [T], g: &[T], m: &mut [T], v: &mut [T], step: AdamStep<T>) {
        let n = w.len();
        // Slices of one length: the bounds checks are hoisted out of the loop, which then
        // vectorises.
        let (g, m, v) = (&g[..n], &mut m[..n], &mut v[..n]);
        for i in 0..n {
            w[i] = step.apply(w[i], g[i], &mut m[i], &mut v[i]);
        }
    }
}

dispatch! {
    /// The same step from other parameters: w = step(from).
    fn adam_from<T: Real>(from: &[T], w: &mut [T], g: &[T], m: &mut [T], v: &mut [T], step: AdamStep<T>) {
        let n = w.len();
        let (from, g, m, v) = (&from[..n], &g[..n], &mut m[..n], &mut v[..n]);
        for i in 0..n {
            w[i] = step.apply(from[i], g[i], &mut m[i], &mut v[i]);
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
