//! Stochastic gradient descent with optional momentum.

use super::{Optimizer, ensure_buffers};
use crate::kernels::elementwise::sgd;
use crate::{Matrix, Params, Real, Result, StateVisitor};

/// Settings of [`Sgd`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SgdConfig {
    /// Learning rate.
    pub rate: f64,
    /// λ of g ← g + λ·w.
    pub weight_decay: f64,
    /// The factor of the previous step.
    pub momentum: f64,
}

/// u ← momentum·u + g + λ·w, w ← w − lr·u.
#[derive(Debug)]
pub struct Sgd<T> {
    config: SgdConfig,
    velocity: Vec<Matrix<T>>,
}

impl<T: Real> Sgd<T> {
    /// A fresh optimiser.
    pub fn new(config: SgdConfig) -> Self {
        Self { config, velocity: Vec::new() }
    }
}

impl<T: Real> Optimizer<T> for Sgd<T> {
    fn step(&mut self, params: &mut Params<T>, gradients: &[Matrix<T>]) {
        ensure_buffers(&mut self.velocity, params);
        let SgdConfig { rate, weight_decay, momentum } = self.config;
        for ((w, g), u) in params.tensors_mut().iter_mut().zip(gradients).zip(&mut self.velocity) {
            sgd(
                w.data_mut(),
                g.data(),
                u.data_mut(),
                T::of(rate),
                T::of(momentum),
                T::of(weight_decay),
            );
        }
    }

    fn reset(&mut self) {
        self.velocity.clear();
    }

    fn visit(&mut self, params: &Params<T>, visitor: &mut StateVisitor<'_>) -> Result<()> {
        visitor.tensors_like("velocity", &mut self.velocity, params)
    }
}
