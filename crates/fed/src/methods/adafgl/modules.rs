//! The two personal modules of a client: perceptrons on smoothed features.

use boostfgl_nn::backbones::Supervised;
use boostfgl_nn::ops::{Candidates, Smoothing};
use boostfgl_nn::optim::{Adam, AdamConfig, Optimizer};
use boostfgl_nn::{
    Dropout, Matrix, Params, Pool, Real, StateVisitor, Tape, TensorShape, Var, extra_losses,
    softmax_rows,
};

/// Where the learnt slope of PReLU starts.
const SLOPE: f64 = 0.25;

/// The heads: on X, on X̃, and on X̃ before learnt messages.
const FEATURES: usize = 0;
const SMOOTHED: usize = 1;
const MESSAGES: usize = 2;

/// Tensors of a perceptron of three layers.
const TENSORS: usize = 8;

/// A perceptron on a tape, and its first product if that is cached.
struct Head<'v, T> {
    number: usize,
    vars: &'v [Var],
    first_product: Option<Matrix<T>>,
}

/// The inputs of both modules, which do not change while they are trained.
pub(super) struct ModuleInputs<T> {
    /// X alone.
    pub(super) plain: Smoothing<T>,
    /// X̃ = [X ‖ ÂX ‖ … ‖ ÂᵏX].
    pub(super) smooth: Smoothing<T>,
    pub(super) candidates: Candidates,
    /// P̂, the predictions of the global model.
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
    /// The first products of the heads, if a prediction has computed them since the last step.
    /// Dropout comes after them, so that the next training step can use them.
    cache: Vec<Matrix<T>>,
}

impl<T: Real> Module<T> {
    /// The homophilous module: a perceptron of two layers on X̃.
    pub(super) fn homophilous(
        inputs: &ModuleInputs<T>,
        hidden: usize,
        seed: u64,
        adam: AdamConfig,
    ) -> Self {
        Self::new(
            &perceptron("homophilous", &[inputs.smooth.width(), hidden, inputs.classes()]),
            seed,
            adam,
        )
    }

    /// The heterophilous module: three perceptrons of three layers, on X, on X̃, and on X̃ before
    /// learnt messages.
    pub(super) fn heterophilous(
        inputs: &ModuleInputs<T>,
        hidden: usize,
        seed: u64,
        adam: AdamConfig,
    ) -> Self {
        let [plain, smooth] = [inputs.plain.width(), inputs.smooth.width()]
            .map(|first| [first, hidden, hidden, inputs.classes()]);
        let mut shapes = perceptron("features", &plain);
        shapes.extend(perceptron("smoothed", &smooth));
        shapes.extend(perceptron("messages", &smooth));
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
        Self { params, optimizer: Adam::new(adam), cache: Vec::new() }
    }

    pub(super) fn is_finite(&self) -> bool {
        self.params.is_finite()
    }

    /// Saves or restores parameters and moments. Cached products are computed again.
    pub(super) fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("params", &mut self.params)?;
        self.optimizer.visit(&self.params, visitor)
    }

    /// One step on the loss that `gradients` computes from the parameters and the cached first
    /// products; returns its value and how far each tensor moved.
    pub(super) fn step(
        &mut self,
        gradients: impl FnOnce(&Params<T>, Vec<Matrix<T>>) -> (f64, Vec<Matrix<T>>),
        pool: &Pool<T>,
    ) -> (f64, Vec<f64>) {
        let before = self.params.clone();
        // The cache is taken, because its products belong to the parameters before the step.
        let (loss, gradients) = gradients(&self.params, std::mem::take(&mut self.cache));
        self.optimizer.step(&mut self.params, &gradients);
        gradients.into_iter().for_each(|g| pool.put(g));
        (loss, self.params.tensor_distances(&before))
    }
}

/// Weight, bias and slope of every layer; the last has no slope.
fn perceptron(name: &str, widths: &[usize]) -> Vec<TensorShape> {
    let mut shapes = Vec::new();
    for (l, width) in widths.windows(2).enumerate() {
        shapes.push(TensorShape::weight(
            format!("{name}.layer{}.weight", l + 1),
            width[0],
            width[1],
        ));
        shapes.push(TensorShape::bias(format!("{name}.layer{}.bias", l + 1), width[1]));
        if l + 2 < widths.len() {
            shapes.push(TensorShape::bias(format!("{name}.layer{}.slope", l + 1), 1));
        }
    }
    shapes
}

impl<T: Real> ModuleInputs<T> {
    fn classes(&self) -> usize {
        self.predicted.columns()
    }

    /// The features that head `number` reads.
    fn smoothing(&self, number: usize) -> &Smoothing<T> {
        if number == FEATURES { &self.plain } else { &self.smooth }
    }

    /// The first products of a module, whose heads have these numbers and these positions among its
    /// parameters. They are computed once between two steps.
    fn first_products(
        &self,
        module: &mut Module<T>,
        heads: &[(usize, usize)],
        pool: &Pool<T>,
    ) -> Vec<Matrix<T>> {
        let Module { params, cache, .. } = module;
        if cache.is_empty() {
            for &(number, at) in heads {
                cache.push(self.smoothing(number).product(&params.tensors()[at], pool));
            }
        }
        cache.clone()
    }

    /// The logits of one head of a module: of `rows`, or of all nodes.
    fn logits<'t>(
        &'t self,
        tape: &mut Tape<'t, T>,
        head: Head<'_, T>,
        rows: Option<&[u32]>,
        dropout: Dropout,
    ) -> Var {
        let Head { number, vars, first_product } = head;
        let mut z = tape.smoothed_product(self.smoothing(number), vars[0], first_product);
        if let Some(rows) = rows {
            z = tape.select_rows(z, rows.to_vec());
        }
        let nodes = rows.unwrap_or(&self.nodes);
        let (hidden, last) = vars[1..].split_at(vars.len() - 2);
        for (l, layer) in hidden.chunks_exact(3).enumerate() {
            // Each head has its own dropout masks: a layer number that no other head uses.
            let h = tape.prelu(z, layer[0], layer[1], nodes, dropout, 2 * number + l);
            z = tape.matmul(h, layer[2]);
        }
        tape.add_bias(z, last[0])
    }

    /// CE(Z) + MSE(Z, P̂) over all nodes, and its gradient.
    pub(super) fn homophilous_loss(
        &self,
        params: &Params<T>,
        products: Vec<Matrix<T>>,
        labelled: Supervised<'_, T>,
        dropout: Dropout,
        pool: &Pool<T>,
    ) -> (f64, Vec<Matrix<T>>) {
        let mut tape = Tape::new(pool);
        let vars: Vec<Var> = params.tensors().iter().map(|t| tape.parameter(t)).collect();
        let head =
            Head { number: SMOOTHED, vars: &vars, first_product: products.into_iter().next() };
        let z = self.logits(&mut tape, head, None, dropout);
        let pairs: Vec<(u32, &[T])> =
            self.nodes.iter().map(|&v| (v, self.predicted.row(v as usize))).collect();
        let (distance, to_z) = extra_losses::squared_error(tape.value(z), &pairs, pool);
        let labels = tape.select_rows(z, labelled.rows.unwrap_or(&self.nodes));
        let supervised = tape.cross_entropy(labels, labelled.loss);
        let value = tape.value(supervised).row(0)[0].f64() + distance;
        (value, tape.backward_from(vec![(supervised, unit_seed(pool)), (z, to_z)], &vars))
    }

    /// Z.
    pub(super) fn homophilous(&self, module: &mut Module<T>, pool: &Pool<T>) -> Matrix<T> {
        let products = self.first_products(module, &[(SMOOTHED, 0)], pool);
        let mut tape = Tape::new(pool);
        let vars: Vec<Var> = module.params.tensors().iter().map(|t| tape.constant(t)).collect();
        let head =
            Head { number: SMOOTHED, vars: &vars, first_product: products.into_iter().next() };
        let z = self.logits(&mut tape, head, None, Dropout::off());
        tape.take(z)
    }

    /// The three heads of the heterophilous module: of `rows`, or of all nodes.
    fn heads<'t>(
        &'t self,
        tape: &mut Tape<'t, T>,
        vars: &[Var],
        products: Vec<Matrix<T>>,
        rows: Option<&[u32]>,
        dropout: Dropout,
    ) -> [Var; 3] {
        let mut products = products.into_iter();
        let [features, smoothed, messages] = [FEATURES, SMOOTHED, MESSAGES].map(|number| {
            let vars = &vars[number * TENSORS..][..TENSORS];
            Head { number, vars, first_product: products.next() }
        });
        let features = self.logits(tape, features, rows, dropout);
        let smoothed = self.logits(tape, smoothed, rows, dropout);
        // Messages come from all nodes, also where only the rows of labelled nodes are needed.
        let own = self.logits(tape, messages, None, dropout);
        let messages =
            tape.learned_messages(own, vars[3 * TENSORS], &self.candidates, self.beta, rows);
        [features, smoothed, messages]
    }

    /// The sum of the cross-entropies of the three heads, and its gradient.
    pub(super) fn heterophilous_loss(
        &self,
        params: &Params<T>,
        products: Vec<Matrix<T>>,
        labelled: Supervised<'_, T>,
        dropout: Dropout,
        pool: &Pool<T>,
    ) -> (f64, Vec<Matrix<T>>) {
        let mut tape = Tape::new(pool);
        let vars: Vec<Var> = params.tensors().iter().map(|t| tape.parameter(t)).collect();
        let rows = Some(labelled.rows.unwrap_or(&self.nodes));
        let losses = self
            .heads(&mut tape, &vars, products, rows, dropout)
            .map(|head| tape.cross_entropy(head, labelled.loss));
        let value = losses.iter().map(|&loss| tape.value(loss).row(0)[0].f64()).sum();
        let seeds = losses.iter().map(|&loss| (loss, unit_seed(pool))).collect();
        (value, tape.backward_from(seeds, &vars))
    }

    /// The logits of the three heads.
    pub(super) fn heterophilous(&self, module: &mut Module<T>, pool: &Pool<T>) -> [Matrix<T>; 3] {
        let heads = [FEATURES, SMOOTHED, MESSAGES].map(|number| (number, number * TENSORS));
        let products = self.first_products(module, &heads, pool);
        let mut tape = Tape::new(pool);
        let vars: Vec<Var> = module.params.tensors().iter().map(|t| tape.constant(t)).collect();
        self.heads(&mut tape, &vars, products, None, Dropout::off()).map(|head| tape.take(head))
    }
}

/// Σ weight · softmax(logits).
pub(super) fn blend<T: Real>(parts: Vec<(f64, Matrix<T>)>, pool: &Pool<T>) -> Option<Matrix<T>> {
    let mut sum: Option<Matrix<T>> = None;
    for (weight, mut part) in parts {
        softmax_rows(&mut part);
        extra_losses::scale(&mut part, weight);
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

/// The seed of a backward pass from a loss: ∂loss/∂loss = 1.
fn unit_seed<T: Real>(pool: &Pool<T>) -> Matrix<T> {
    let mut seed = pool.take(1, 1);
    seed.row_mut(0)[0] = T::ONE;
    seed
}
