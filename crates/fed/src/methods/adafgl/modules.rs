//! The two modules that a client trains for itself: perceptrons on smoothed features.

use boostfgl_nn::backbones::Supervised;
use boostfgl_nn::ops::{Candidates, Smoothing};
use boostfgl_nn::optim::{Adam, AdamConfig, Optimizer};
use boostfgl_nn::{Dropout, Matrix, Params, Pool, Real, Tape, TensorShape, Var, losses, softmax_rows};

/// Where the learnt slope of PReLU starts.
const SLOPE: f64 = 0.25;

/// The heads: on X, on X̃, and on X̃ before learnt messages.
const FEATURES: usize = 0;
const SMOOTHED: usize = 1;
const MESSAGES: usize = 2;

/// What both modules look at; it does not change while they are trained.
pub(super) struct Sight<T> {
    /// X alone.
    pub(super) plain: Smoothing<T>,
    /// X̃ = [X ‖ ÂX ‖ … ‖ ÂᵏX].
    pub(super) smooth: Smoothing<T>,
    pub(super) candidates: Candidates<T>,
    /// P̂, what the global model predicts.
    pub(super) predicted: Matrix<T>,
    /// All nodes.
    pub(super) nodes: Vec<u32>,
    /// Share β of P̂'s similarity in the learnt messages.
    pub(super) beta: f64,
}

/// Parameters and their optimiser.
pub(super) struct Module<T: Real> {
    params: Params<T>,
    optimizer: Adam<T>,
}

impl<T: Real> Module<T> {
    /// The homophilous module: a perceptron of two layers on X̃.
    pub(super) fn homophilous(sight: &Sight<T>, hidden: usize, seed: u64, adam: AdamConfig) -> Self {
        Self::new(&perceptron("homophilous", &[sight.smooth.width(), hidden, sight.classes()]), seed, adam)
    }

    /// The heterophilous module: three perceptrons of three layers, on X, on X̃, and on X̃ before learnt messages.
    pub(super) fn heterophilous(sight: &Sight<T>, hidden: usize, seed: u64, adam: AdamConfig) -> Self {
        let widths = |inputs: usize| [inputs, hidden, hidden, sight.classes()];
        let mut shapes = perceptron("features", &widths(sight.plain.width()));
        shapes.extend(perceptron("smoothed", &widths(sight.smooth.width())));
        shapes.extend(perceptron("messages", &widths(sight.smooth.width())));
        shapes.push(TensorShape::bias("messages.slope", 1));
        Self::new(&shapes, seed, adam)
    }

    fn new(shapes: &[TensorShape], seed: u64, adam: AdamConfig) -> Self {
        let mut params = Params::glorot(shapes, seed);
        for (shape, tensor) in shapes.iter().zip(params.tensors_mut()) {
            if shape.name.ends_with("slope") {
                tensor.row_mut(0).fill(T::of(SLOPE));
            }
        }
        Self { params, optimizer: Adam::new(adam) }
    }

    pub(super) fn params(&self) -> &Params<T> {
        &self.params
    }

    /// One step down the loss that `gradients` computes; returns its value and how far each tensor moved.
    pub(super) fn step(
        &mut self,
        gradients: impl FnOnce(&Params<T>) -> (f64, Vec<Matrix<T>>),
        pool: &Pool<T>,
    ) -> (f64, Vec<f64>) {
        let before = self.params.clone();
        let (loss, gradients) = gradients(&self.params);
        self.optimizer.step(&mut self.params, &gradients);
        gradients.into_iter().for_each(|g| pool.put(g));
        (loss, self.params.tensor_distances(&before))
    }
}

/// Weight, bias and slope of every layer; the last has no slope.
fn perceptron(name: &str, widths: &[usize]) -> Vec<TensorShape> {
    let mut shapes = Vec::new();
    for (l, width) in widths.windows(2).enumerate() {
        shapes.push(TensorShape::weight(format!("{name}.layer{}.weight", l + 1), width[0], width[1]));
        shapes.push(TensorShape::bias(format!("{name}.layer{}.bias", l + 1), width[1]));
        if l + 2 < widths.len() {
            shapes.push(TensorShape::bias(format!("{name}.layer{}.slope", l + 1), 1));
        }
    }
    shapes
}

impl<T: Real> Sight<T> {
    fn classes(&self) -> usize {
        self.predicted.columns()
    }

    /// The logits of perceptron number `head` of a module: of `rows`, or of all nodes.
    fn logits<'t>(
        &'t self,
        tape: &mut Tape<'t, T>,
        head: usize,
        vars: &[Var],
        rows: Option<&[u32]>,
        dropout: Dropout,
    ) -> Var {
        let smoothing = if head == FEATURES { &self.plain } else { &self.smooth };
        let mut z = tape.smoothed_product(smoothing, vars[0]);
        if let Some(rows) = rows {
            z = tape.select_rows(z, rows.to_vec());
        }
        let nodes = rows.unwrap_or(&self.nodes);
        let (hidden, last) = vars[1..].split_at(vars.len() - 2);
        for (l, layer) in hidden.chunks_exact(3).enumerate() {
            // Each head has masks of its own.
            let h = tape.prelu(z, layer[0], layer[1], nodes, dropout, 2 * head + l);
            z = tape.matmul(h, layer[2]);
        }
        tape.add_bias(z, last[0])
    }

    /// CE(Z) + MSE(Z, P̂) over all nodes, and its gradient.
    pub(super) fn homophilous_loss(
        &self,
        params: &Params<T>,
        labelled: Supervised<'_, T>,
        dropout: Dropout,
        pool: &Pool<T>,
    ) -> (f64, Vec<Matrix<T>>) {
        let mut tape = Tape::new(pool);
        let vars: Vec<Var> = params.tensors().iter().map(|t| tape.parameter(t)).collect();
        let z = self.logits(&mut tape, SMOOTHED, &vars, None, dropout);
        let pairs: Vec<(u32, &[T])> = self.nodes.iter().map(|&v| (v, self.predicted.row(v as usize))).collect();
        let (apart, to_z) = losses::squared_error(tape.value(z), &pairs, pool);
        let labels = tape.select_rows(z, labelled.rows.unwrap_or(&self.nodes));
        let supervised = tape.cross_entropy(labels, labelled.loss);
        let value = tape.value(supervised).row(0)[0].f64() + apart;
        (value, tape.backward_from(vec![(supervised, one(pool)), (z, to_z)], &vars))
    }

    /// Z.
    pub(super) fn homophilous(&self, params: &Params<T>, pool: &Pool<T>) -> Matrix<T> {
        let mut tape = Tape::new(pool);
        let vars: Vec<Var> = params.tensors().iter().map(|t| tape.constant(t)).collect();
        let z = self.logits(&mut tape, SMOOTHED, &vars, None, Dropout::off());
        tape.take(z)
    }

    /// The three heads of the heterophilous module: of `rows`, or of all nodes.
    fn heads<'t>(&'t self, tape: &mut Tape<'t, T>, vars: &[Var], rows: Option<&[u32]>, dropout: Dropout) -> [Var; 3] {
        let (first, rest) = vars.split_at(8);
        let (second, third) = rest.split_at(8);
        let features = self.logits(tape, FEATURES, first, rows, dropout);
        let smoothed = self.logits(tape, SMOOTHED, second, rows, dropout);
        let own = self.logits(tape, MESSAGES, &third[..8], None, dropout);
        let messages = tape.learned_messages(own, third[8], &self.candidates, self.beta);
        let messages = match rows {
            Some(rows) => tape.select_rows(messages, rows.to_vec()),
            None => messages,
        };
        [features, smoothed, messages]
    }

    /// The sum of the cross-entropies of the three heads, and its gradient. Only the messages need all nodes.
    pub(super) fn heterophilous_loss(
        &self,
        params: &Params<T>,
        labelled: Supervised<'_, T>,
        dropout: Dropout,
        pool: &Pool<T>,
    ) -> (f64, Vec<Matrix<T>>) {
        let mut tape = Tape::new(pool);
        let vars: Vec<Var> = params.tensors().iter().map(|t| tape.parameter(t)).collect();
        let rows = Some(labelled.rows.unwrap_or(&self.nodes));
        let losses = self.heads(&mut tape, &vars, rows, dropout).map(|head| tape.cross_entropy(head, labelled.loss));
        let value = losses.iter().map(|&loss| tape.value(loss).row(0)[0].f64()).sum();
        let seeds = losses.iter().map(|&loss| (loss, one(pool))).collect();
        (value, tape.backward_from(seeds, &vars))
    }

    /// The logits of the three heads.
    pub(super) fn heterophilous(&self, params: &Params<T>, pool: &Pool<T>) -> [Matrix<T>; 3] {
        let mut tape = Tape::new(pool);
        let vars: Vec<Var> = params.tensors().iter().map(|t| tape.constant(t)).collect();
        self.heads(&mut tape, &vars, None, Dropout::off()).map(|head| tape.take(head))
    }
}

/// Σ weight · softmax(logits).
pub(super) fn blend<T: Real>(parts: Vec<(f64, Matrix<T>)>, pool: &Pool<T>) -> Option<Matrix<T>> {
    let mut sum: Option<Matrix<T>> = None;
    for (weight, mut part) in parts {
        softmax_rows(&mut part);
        losses::scale(&mut part, weight);
        match &mut sum {
            None => sum = Some(part),
            Some(sum) => {
                sum.data_mut().iter_mut().zip(part.data()).for_each(|(sum, x)| *sum += *x);
                pool.put(part);
            }
        }
    }
    sum
}

fn one<T: Real>(pool: &Pool<T>) -> Matrix<T> {
    let mut one = pool.take(1, 1);
    one.row_mut(0)[0] = T::ONE;
    one
}
