//! One pass of a network over a view: forward only, or forward and backward.

use super::{Backbone, Output};
use crate::{Dropout, Matrix, MessageNoise, Params, Pool, Real, Tape, Var, View, WeightedLoss};

/// A network, the view it reads, and the settings of the pass.
#[derive(Clone, Copy)]
pub struct Pass<'a, T: Real> {
    backbone: &'a dyn Backbone<T>,
    view: &'a View<T>,
    pool: &'a Pool<T>,
    dropout: Dropout,
    noise: MessageNoise,
    cached: bool,
}

/// The supervised part of a loss.
#[derive(Clone, Copy, Debug)]
pub struct Supervised<'a, T> {
    /// Labels and weights.
    pub loss: &'a WeightedLoss<T>,
    /// The rows of the logits they belong to; `None` if that is all of them.
    pub rows: Option<&'a [u32]>,
}

/// An extra loss term: its value and its gradients with respect to the outputs of a pass.
#[derive(Debug)]
pub struct Extra<T> {
    /// The value of the term.
    pub value: f64,
    /// Its gradient with respect to the logits, of their shape.
    pub logits: Option<Matrix<T>>,
    /// Its gradient with respect to the hidden representation, of its shape.
    pub hidden: Option<Matrix<T>>,
}

impl<T> Default for Extra<T> {
    fn default() -> Self {
        Self { value: 0.0, logits: None, hidden: None }
    }
}

impl<'a, T: Real> Pass<'a, T> {
    /// A pass without dropout, noise and cache.
    pub fn new(backbone: &'a dyn Backbone<T>, view: &'a View<T>, pool: &'a Pool<T>) -> Self {
        Self {
            backbone,
            view,
            pool,
            dropout: Dropout::off(),
            noise: MessageNoise::off(),
            cached: false,
        }
    }

    /// With dropout.
    #[must_use]
    pub fn dropout(self, dropout: Dropout) -> Self {
        Self { dropout, ..self }
    }

    /// With noise on the aggregated messages of each layer.
    #[must_use]
    pub fn noise(self, noise: MessageNoise) -> Self {
        Self { noise, ..self }
    }

    /// With the cache of the view ([`View::cache_product`]), if `cached`. The caller guarantees
    /// that it belongs to the parameters of this pass.
    #[must_use]
    pub fn using_cache(self, cached: bool) -> Self {
        Self { cached, ..self }
    }

    /// Logits of `view.nodes()`.
    pub fn logits(self, params: &Params<T>) -> Matrix<T> {
        let (logits, hidden) = self.inspect(params);
        hidden.into_iter().for_each(|hidden| self.pool.put(hidden));
        logits
    }

    /// Logits of `view.nodes()` and the hidden representation of `view.hidden_nodes()`, if the
    /// network has one.
    pub fn inspect(self, params: &Params<T>) -> (Matrix<T>, Option<Matrix<T>>) {
        let mut tape = Tape::new(self.pool).using_cache(self.cached).noisy(self.noise);
        let vars: Vec<Var> = params.tensors().iter().map(|t| tape.constant(t)).collect();
        let out = self.backbone.forward(&mut tape, &vars, self.view, self.dropout);
        (tape.take(out.logits), out.hidden.map(|hidden| tape.take(hidden)))
    }

    /// The input of the network's last activation: the representation that its last layer reads,
    /// before ReLU. `None` if the network has no activation.
    ///
    /// If messages are passed after the last activation (H2GCN), it is the input of that activation
    /// and narrower than the hidden representation.
    pub fn before_activation(self, params: &Params<T>) -> Option<Matrix<T>> {
        let mut tape =
            Tape::new(self.pool).using_cache(self.cached).noisy(self.noise).saving_pre_activation();
        let vars: Vec<Var> = params.tensors().iter().map(|t| tape.constant(t)).collect();
        self.backbone.forward(&mut tape, &vars, self.view, self.dropout);
        tape.take_pre_activation()
    }

    /// The loss of the supervised rows plus an extra term, which `extra` computes from logits and
    /// hidden representation, and the gradient of the sum with respect to every parameter.
    ///
    /// Matrices that `extra` makes should come from the pool, to which they return.
    ///
    /// # Panics
    /// If a gradient of the extra term has another shape than its output.
    pub fn gradients(
        self,
        params: &Params<T>,
        supervised: Supervised<'_, T>,
        extra: impl FnOnce(&Matrix<T>, Option<&Matrix<T>>) -> Extra<T>,
    ) -> (f64, Vec<Matrix<T>>) {
        let mut tape = Tape::new(self.pool).using_cache(self.cached).noisy(self.noise);
        let vars: Vec<Var> = params.tensors().iter().map(|t| tape.parameter(t)).collect();
        let Output { logits, hidden } =
            self.backbone.forward(&mut tape, &vars, self.view, self.dropout);
        // Before cross-entropy, which overwrites the logits with its gradient.
        let extra = extra(tape.value(logits), hidden.map(|hidden| tape.value(hidden)));
        let labelled = match supervised.rows {
            Some(rows) => tape.select_rows(logits, rows),
            None => logits,
        };
        let total = tape.cross_entropy(labelled, supervised.loss);
        let value = tape.value(total).row(0)[0].f64() + extra.value;
        let mut seed = self.pool.take(1, 1);
        seed.row_mut(0)[0] = T::ONE;
        let mut seeds = vec![(total, seed)];
        seeds.extend(extra.logits.map(|g| (logits, g)));
        seeds.extend(hidden.zip(extra.hidden));
        (value, tape.backward_from(seeds, &vars))
    }
}
