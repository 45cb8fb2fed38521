//! The mixture Ŵ = α·W_hist + (1 − α)·W_local with trained α = sigmoid(a), and its gradients.

use super::{Alpha, Config};
use boostfgl_nn::optim::{Adam, AdamConfig, Optimizer};
use boostfgl_nn::{
    Matrix, Params, Real, StateVisitor, TensorShape, mix, sigmoid, unmix, weighted_sum,
};
use std::cell::RefCell;

/// The mixing weights of a client.
pub(super) struct Mixture<T: Real> {
    kind: Alpha,
    /// a: of the model's shapes, one number per tensor, or one number. Starts at 0, which is α = ½.
    a: Params<T>,
    /// sigmoid(a).
    alpha: Vec<Matrix<T>>,
    optimizer: Adam<T>,
}

impl<T: Real> Mixture<T> {
    /// Weights for a model of these shapes; `None` if nothing is mixed.
    pub(super) fn new(config: &Config, model: &Params<T>) -> Option<Self> {
        let shapes: Vec<TensorShape> = match config.alpha {
            Alpha::Off => return None,
            Alpha::Element => model.shapes().to_vec(),
            Alpha::Tensor => {
                model.shapes().iter().map(|s| TensorShape::bias(s.name.clone(), 1)).collect()
            }
            Alpha::Scalar => vec![TensorShape::bias("alpha", 1)],
        };
        let zeros: Vec<Matrix<T>> =
            shapes.iter().map(|s| Matrix::zeros(s.rows, s.columns)).collect();
        let settings =
            AdamConfig { rate: config.alpha_rate, weight_decay: 0.0, ..AdamConfig::default() };
        let mut mixture = Self {
            kind: config.alpha,
            a: Params::from_tensors(&shapes, zeros.clone()),
            alpha: zeros,
            optimizer: Adam::new(settings),
        };
        mixture.set_alpha();
        Some(mixture)
    }

    /// Computes α = sigmoid(a) after a has changed.
    fn set_alpha(&mut self) {
        self.alpha
            .iter_mut()
            .zip(self.a.tensors())
            .for_each(|(alpha, a)| sigmoid(a.data(), alpha.data_mut()));
    }

    /// The α of a tensor, or the one of all tensors.
    fn alpha(&self, tensor: usize) -> f64 {
        // With one α for the whole model every tensor maps to the only entry.
        self.alpha[tensor.min(self.alpha.len() - 1)].row(0)[0].f64()
    }

    /// Resets the optimiser of a.
    pub(super) fn reset(&mut self) {
        self.optimizer.reset();
    }

    /// Resets the optimiser after numbers overflowed, and a to 0 if it is no longer finite.
    pub(super) fn recover(&mut self) {
        self.optimizer.reset();
        if !self.a.is_finite() {
            self.a.tensors_mut().iter_mut().for_each(|a| a.data_mut().fill(T::ZERO));
        }
        self.set_alpha();
    }

    /// Saves or restores a and its moments.
    pub(super) fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("a", &mut self.a)?;
        self.optimizer.visit(&self.a, visitor)?;
        self.set_alpha();
        Ok(())
    }

    /// Sets `out` to the mixture Ŵ of the history and a model.
    pub(super) fn mix(&self, history: &Params<T>, local: &Params<T>, out: &mut Params<T>) {
        let pairs = history.tensors().iter().zip(local.tensors()).zip(out.tensors_mut());
        for (t, ((history, local), out)) in pairs.enumerate() {
            let alpha = self.alpha(t);
            match self.kind {
                Alpha::Element => {
                    mix(self.alpha[t].data(), history.data(), local.data(), out.data_mut());
                }
                _ => weighted_sum(
                    &[history.data(), local.data()],
                    &[alpha, 1.0 - alpha],
                    out.data_mut(),
                ),
            }
        }
    }

    /// Turns gradients with respect to Ŵ into those with respect to W_local, ∂Ŵ/∂W_local = 1 − α,
    /// and makes a step of a.
    pub(super) fn step_back(
        &mut self,
        history: &Params<T>,
        local: &Params<T>,
        gradients: &mut [Matrix<T>],
    ) {
        if self.kind == Alpha::Element {
            return self.step_each(history, local, gradients);
        }
        // Before the scaling below: the gradient of a needs the one with respect to Ŵ.
        let by_a = self.by_a(history, local, gradients);
        for (t, g) in gradients.iter_mut().enumerate() {
            boostfgl_nn::extra_losses::scale(g, 1.0 - self.alpha(t));
        }
        self.optimizer.step(&mut self.a, &by_a);
        self.set_alpha();
    }

    /// The gradient with respect to each a, one per tensor or one for all: Σ α(1 − α)(W_hist −
    /// W_local)·g.
    fn by_a(
        &self,
        history: &Params<T>,
        local: &Params<T>,
        gradients: &[Matrix<T>],
    ) -> Vec<Matrix<T>> {
        let pairs = history.tensors().iter().zip(local.tensors());
        let mut sum = vec![0.0; self.alpha.len()];
        for (t, (g, (history, local))) in gradients.iter().zip(pairs).enumerate() {
            let alpha = self.alpha(t);
            let along = g.data().iter().zip(history.data().iter().zip(local.data()));
            let inner: f64 = along.map(|(g, (h, l))| g.f64() * (h.f64() - l.f64())).sum();
            sum[t.min(self.alpha.len() - 1)] += alpha * (1.0 - alpha) * inner;
        }
        sum.into_iter().map(|sum| Matrix::from_rows(1, 1, &[T::of(sum)])).collect()
    }

    /// The same for a weight per parameter, block by block: gradient, step and new α of a block while
    /// it is in the CPU's cache.
    fn step_each(&mut self, history: &Params<T>, local: &Params<T>, gradients: &mut [Matrix<T>]) {
        // One closure reads α and the other writes it, never at the same time.
        let alpha = RefCell::new(&mut self.alpha);
        self.optimizer.step_in_blocks(
            &mut self.a,
            |t, start, by_a| {
                let range = start..start + by_a.len();
                let (history, local) = (
                    &history.tensors()[t].data()[range.clone()],
                    &local.tensors()[t].data()[range.clone()],
                );
                unmix(
                    &alpha.borrow()[t].data()[range.clone()],
                    history,
                    local,
                    &mut gradients[t].data_mut()[range],
                    by_a,
                );
            },
            |t, start, a| sigmoid(a, &mut alpha.borrow_mut()[t].data_mut()[start..start + a.len()]),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(numbers: [f64; 5]) -> Params<f64> {
        let shapes = [TensorShape::weight("w", 2, 2), TensorShape::bias("b", 1)];
        let tensors =
            vec![Matrix::from_rows(2, 2, &numbers[..4]), Matrix::from_rows(1, 1, &numbers[4..])];
        Params::from_tensors(&shapes, tensors)
    }

    /// f(Ŵ) = ⟨weights, Ŵ⟩ by finite differences in a and in W_local, for every kind of α.
    #[test]
    fn gradients_agree_with_finite_differences() {
        let (history, weights) =
            (model([1.0, -2.0, 0.5, 0.3, 2.0]), model([0.4, 1.0, -0.7, 0.2, -1.5]));
        let local = model([0.2, 0.9, -0.4, 1.1, 0.6]);
        for alpha in [Alpha::Element, Alpha::Tensor, Alpha::Scalar] {
            let config = Config { alpha, ..Config::default() };
            let mut mixture = Mixture::new(&config, &local).unwrap();
            for (t, tensor) in mixture.a.tensors_mut().iter_mut().enumerate() {
                (0..tensor.rows()).for_each(|r| {
                    tensor.row_mut(r).iter_mut().for_each(|a| *a = 0.3 + 0.2 * t as f64);
                });
            }
            let a = mixture.a.clone();
            let mut value = |a: &Params<f64>, local: &Params<f64>| {
                mixture.a.copy_from(a);
                mixture.set_alpha();
                let mut mixed = local.clone();
                mixture.mix(&history, local, &mut mixed);
                let pairs = mixed.tensors().iter().zip(weights.tensors());
                pairs
                    .flat_map(|(x, w)| x.to_vec().into_iter().zip(w.to_vec()))
                    .map(|(x, w)| x * w)
                    .sum::<f64>()
            };
            let mut numeric = |of_a: bool, t: usize, r: usize, c: usize| {
                let mut value_at = |h: f64| {
                    let (mut a, mut local) = (a.clone(), local.clone());
                    let moved = if of_a { &mut a } else { &mut local };
                    moved.tensors_mut()[t].row_mut(r)[c] += h;
                    value(&a, &local)
                };
                (value_at(1e-6) - value_at(-1e-6)) / 2e-6
            };
            let shapes = local.shapes().to_vec();
            let places: Vec<_> = (0..2)
                .flat_map(|t| (0..shapes[t].rows).flat_map(move |r| [(t, r, 0), (t, r, 1)]))
                .collect();
            let places: Vec<_> =
                places.into_iter().filter(|(t, _, c)| *c < shapes[*t].columns).collect();
            let by_local: Vec<f64> =
                places.iter().map(|&(t, r, c)| numeric(false, t, r, c)).collect();
            let by_a: Vec<f64> =
                a.shapes().iter().enumerate().map(|(t, _)| numeric(true, t, 0, 0)).collect();
            mixture.a.copy_from(&a);
            mixture.set_alpha();
            let mut gradients = weights.tensors().to_vec();
            // For a weight per parameter the kernel's own test checks this.
            let analytic = if alpha == Alpha::Element {
                Vec::new()
            } else {
                mixture.by_a(&history, &local, &gradients)
            };
            for (t, (found, expected)) in analytic.iter().zip(&by_a).enumerate() {
                assert!((found.row(0)[0] - expected).abs() < 1e-8, "{alpha:?} a {t}");
            }
            mixture.step_back(&history, &local, &mut gradients);
            for (&(t, r, c), expected) in places.iter().zip(by_local) {
                assert!(
                    (gradients[t].row(r)[c] - expected).abs() < 1e-8,
                    "{alpha:?} local {t} {r} {c}"
                );
            }
            for (t, expected) in by_a.iter().enumerate() {
                // Adam's first step goes the full rate against the gradient.
                let moved = mixture.a.tensors()[t].row(0)[0] - a.tensors()[t].row(0)[0];
                assert!(
                    (moved + config.alpha_rate * expected.signum()).abs() < 1e-6,
                    "{alpha:?} step {t}"
                );
            }
        }
    }
}
