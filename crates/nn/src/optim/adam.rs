//! Adam (Kingma and Ba), with weight decay added to the gradient as PyTorch's `Adam` does.

use super::{Optimizer, ensure_buffers};
use crate::kernels::elementwise::{AdamStep, adam, adam_from};
use crate::parallel::over_pieces;
use crate::{Matrix, Params, Real, Result, StateVisitor};

/// Numbers that stay in the first-level cache between several passes over them.
const BLOCK: usize = 2048;

/// Settings of [`Adam`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamConfig {
    /// Learning rate.
    pub rate: f64,
    /// λ of g ← g + λ·w.
    pub weight_decay: f64,
    /// Decay of the first moment.
    pub beta1: f64,
    /// Decay of the second moment.
    pub beta2: f64,
    /// Keeps the denominator away from 0.
    pub epsilon: f64,
}

impl Default for AdamConfig {
    fn default() -> Self {
        Self { rate: 1e-2, weight_decay: 5e-4, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }
    }
}

/// m ← β₁m + (1−β₁)g, v ← β₂v + (1−β₂)g², w ← w − lr · m̂ / (√v̂ + ε).
#[derive(Debug)]
pub struct Adam<T> {
    config: AdamConfig,
    first: Vec<Matrix<T>>,
    second: Vec<Matrix<T>>,
    /// β₁ᵗ and β₂ᵗ.
    powers: (f64, f64),
}

impl<T: Real> Adam<T> {
    /// A fresh optimiser.
    pub fn new(config: AdamConfig) -> Self {
        Self { config, first: Vec::new(), second: Vec::new(), powers: (1.0, 1.0) }
    }

    /// Makes `steps` steps with a gradient of zero: only weight decay and the moments move the
    /// parameters. Steps of different numbers are independent, so each block makes all of its steps
    /// while it is in the cache; the digits are those of single steps.
    pub fn idle(&mut self, params: &mut Params<T>, steps: usize) {
        let steps: Vec<AdamStep<T>> = (0..steps).map(|_| self.next_step(params)).collect();
        let state = self.first.iter_mut().zip(&mut self.second);
        for (w, (m, v)) in params.tensors_mut().iter_mut().zip(state) {
            over_pieces([w.data_mut(), m.data_mut(), v.data_mut()], |_, [w, m, v]| {
                let zeros = [T::ZERO; BLOCK];
                let parts = w.chunks_mut(BLOCK).zip(m.chunks_mut(BLOCK)).zip(v.chunks_mut(BLOCK));
                for ((w, m), v) in parts {
                    steps.iter().for_each(|&step| adam(w, &zeros, m, v, step));
                }
            });
        }
    }

    /// A step that computes its gradient block by block, so that it never leaves the first-level
    /// cache: `gradient(t, start, out)` writes the gradient of the numbers from `start` on of
    /// tensor t, with padding, and `then(t, start, numbers)` gets the updated numbers. The result
    /// is that of [`Optimizer::step`].
    pub fn step_in_blocks(
        &mut self,
        params: &mut Params<T>,
        mut gradient: impl FnMut(usize, usize, &mut [T]),
        mut then: impl FnMut(usize, usize, &[T]),
    ) {
        let step = self.next_step(params);
        let mut made = [T::ZERO; BLOCK];
        let state = self.first.iter_mut().zip(&mut self.second);
        for (t, (w, (m, v))) in params.tensors_mut().iter_mut().zip(state).enumerate() {
            let state = m.data_mut().chunks_mut(BLOCK).zip(v.data_mut().chunks_mut(BLOCK));
            for (block, (w, (m, v))) in w.data_mut().chunks_mut(BLOCK).zip(state).enumerate() {
                let made = &mut made[..w.len()];
                gradient(t, block * BLOCK, made);
                adam(w, made, m, v, step);
                then(t, block * BLOCK, w);
            }
        }
    }

    /// Counts one step and returns its constants. They are computed in `f64`: in `f32` 1 − β₂ᵗ of
    /// the first steps would lose half of its digits.
    fn next_step(&mut self, params: &Params<T>) -> AdamStep<T> {
        ensure_buffers(&mut self.first, params);
        ensure_buffers(&mut self.second, params);
        let c = &self.config;
        self.powers = (self.powers.0 * c.beta1, self.powers.1 * c.beta2);
        AdamStep {
            beta1: T::of(c.beta1),
            beta2: T::of(c.beta2),
            step: T::of(c.rate / (1.0 - self.powers.0)),
            root: T::of(1.0 / libm::sqrt(1.0 - self.powers.1)),
            epsilon: T::of(c.epsilon),
            decay: T::of(c.weight_decay),
        }
    }
}

impl<T: Real> Optimizer<T> for Adam<T> {
    fn step(&mut self, params: &mut Params<T>, gradients: &[Matrix<T>]) {
        let step = self.next_step(params);
        let state = self.first.iter_mut().zip(&mut self.second);
        for ((w, g), (m, v)) in params.tensors_mut().iter_mut().zip(gradients).zip(state) {
            over_pieces([w.data_mut(), m.data_mut(), v.data_mut()], |start, [w, m, v]| {
                adam(w, &g.data()[start..], m, v, step);
            });
        }
    }

    fn step_from(&mut self, from: &Params<T>, params: &mut Params<T>, gradients: &[Matrix<T>]) {
        let step = self.next_step(params);
        let state = self.first.iter_mut().zip(&mut self.second);
        let tensors = from.tensors().iter().zip(params.tensors_mut());
        for (((from, w), g), (m, v)) in tensors.zip(gradients).zip(state) {
            over_pieces([w.data_mut(), m.data_mut(), v.data_mut()], |start, [w, m, v]| {
                adam_from(&from.data()[start..], w, &g.data()[start..], m, v, step);
            });
        }
    }

    fn reset(&mut self) {
        // Zeroing the buffers is cheaper than allocating new ones every round.
        self.first.iter_mut().chain(&mut self.second).for_each(|m| m.data_mut().fill(T::ZERO));
        self.powers = (1.0, 1.0);
    }

    fn visit(&mut self, params: &Params<T>, visitor: &mut StateVisitor<'_>) -> Result<()> {
        visitor.tensors_like("first moment", &mut self.first, params)?;
        visitor.tensors_like("second moment", &mut self.second, params)?;
        visitor.visit("power of beta1", &mut self.powers.0)?;
        visitor.visit("power of beta2", &mut self.powers.1)
    }
}
