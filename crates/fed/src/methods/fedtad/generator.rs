//! The server's generator of pseudo-nodes: a network from noise and a class to features.
//!
//! g(z, c) = W₄·tanh(W₃·tanh(W₂·tanh(W₁·[z ‖ E_c] + b₁) + b₂) + b₃) + b₄ with hidden widths 64, 128
//! and 256 and one row E_c of C numbers per class. Weights are drawn by Glorot's rule, class rows
//! from a standard normal distribution.

use boostfgl_graph::Stream;
use boostfgl_nn::optim::{Adam, AdamConfig, Optimizer};
use boostfgl_nn::{Matrix, Params, Pool, Real, StateVisitor, Tape, TensorShape, Var};

/// Hidden widths, as published.
const WIDTHS: [usize; 3] = [64, 128, 256];

/// The generator and its optimiser, whose moments last as long as the run.
pub(super) struct Generator<T: Real> {
    params: Params<T>,
    optimizer: Adam<T>,
}

impl<T: Real> Generator<T> {
    pub(super) fn new(
        noise: usize,
        features: usize,
        classes: usize,
        seed: u64,
        adam: AdamConfig,
    ) -> Self {
        let mut params = Params::glorot(
            &shapes(noise, features, classes),
            Stream::new(seed, "fedtad", &[]).next_u64(),
        );
        let mut stream = Stream::new(seed, "fedtad classes", &[]);
        for class in 0..classes {
            params.tensors_mut()[0]
                .row_mut(class)
                .iter_mut()
                .for_each(|x| *x = T::of(stream.normal()));
        }
        Self { params, optimizer: Adam::new(adam) }
    }

    /// Records g(z, c) of some noise and classes, one row each, on a tape. Returns its parameters
    /// and the features.
    pub(super) fn record<'t>(
        &'t self,
        tape: &mut Tape<'t, T>,
        noise: &'t Matrix<T>,
        labels: &[u32],
    ) -> (Vec<Var>, Var) {
        let vars: Vec<Var> = self.params.tensors().iter().map(|t| tape.parameter(t)).collect();
        let (noise, classes) = (tape.constant(noise), tape.select_rows(vars[0], labels.to_vec()));
        let mut h = tape.concat(&[noise, classes]);
        let (hidden, last) = vars[1..].split_at(2 * WIDTHS.len());
        for layer in hidden.chunks_exact(2) {
            let z = tape.matmul(h, layer[0]);
            let z = tape.add_bias(z, layer[1]);
            h = tape.tanh(z);
        }
        let x = tape.matmul(h, last[0]);
        let x = tape.add_bias(x, last[1]);
        (vars, x)
    }

    /// The features of all pseudo-nodes.
    pub(super) fn generate(&self, noise: &Matrix<T>, labels: &[u32], pool: &Pool<T>) -> Matrix<T> {
        let mut tape = Tape::new(pool);
        let (_, x) = self.record(&mut tape, noise, labels);
        tape.take(x)
    }

    /// One step of the optimiser.
    pub(super) fn step(&mut self, gradients: &[Matrix<T>]) {
        self.optimizer.step(&mut self.params, gradients);
    }

    /// Saves or restores parameters and moments.
    pub(super) fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("params", &mut self.params)?;
        self.optimizer.visit(&self.params, visitor)
    }

    #[cfg(test)]
    pub(super) fn params(&self) -> &Params<T> {
        &self.params
    }
}

fn shapes(noise: usize, features: usize, classes: usize) -> Vec<TensorShape> {
    let mut shapes = vec![TensorShape::weight("classes", classes, classes)];
    let mut from = noise + classes;
    for (l, to) in WIDTHS.into_iter().chain([features]).enumerate() {
        shapes.push(TensorShape::weight(format!("layer{}.weight", l + 1), from, to));
        shapes.push(TensorShape::bias(format!("layer{}.bias", l + 1), to));
        from = to;
    }
    shapes
}

/// Number of parameters of a generator.
pub(super) fn parameters(noise: usize, features: usize, classes: usize) -> usize {
    shapes(noise, features, classes).iter().map(|s| s.rows * s.columns).sum()
}

/// Classes of `count` pseudo-nodes: equally many of each, the remainder to the last.
pub(super) fn balanced(count: usize, classes: usize) -> Vec<u32> {
    let each = (count / classes).max(1);
    (0..count).map(|i| (i / each).min(classes - 1) as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::balanced;

    #[test]
    fn the_last_class_takes_the_remainder() {
        assert_eq!(balanced(8, 3), [0, 0, 1, 1, 2, 2, 2, 2]);
        assert_eq!(balanced(2, 3), [0, 1]);
    }
}
