//! NeighGen, the generator of missing neighbours, and the classifier it is trained with.
//!
//! ```text
//! z  = relu(M relu(M X W + b) W + b)             Enc, d → hidden → latent, M = D̃⁻¹(Ā + I)
//! ñ  = relu(z w + b)                             dGen
//! x̃ⱼ = tanh(dropout(relu(relu((z + ε) W₁ + b₁) W₂ + b₂)) W₃ⱼ + b₃ⱼ)     fGen, ε ~ N(0, I), j < p
//! y  = M̃ relu(M̃ [X; X̃] W + b) W + b             classifier, M̃ of the mended graph
//! ```

use super::Config;
use super::demand::Demand;
use super::impaired::Impaired;
use super::slot::{Drawing, Slot};
use boostfgl_nn::backbones::first_product;
use boostfgl_nn::optim::{Adam, AdamConfig, Optimizer as _};
use boostfgl_nn::{Dropout, Matrix, Params, Real, RowMean, Tape, TensorShape, Var};

/// The positions of Enc, dGen and the classifier among the tensors of [`NeighGen::local`].
pub(super) const ENCODER: std::ops::Range<usize> = 0..4;
pub(super) const DEGREE: std::ops::Range<usize> = 4..6;
pub(super) const CLASSIFIER: std::ops::Range<usize> = 6..10;

/// Numbers of the hidden layers with dropout, so that each has its own mask.
const MASK_ENCODER: usize = 0;
const MASK_GENERATOR: usize = 1;
const MASK_CLASSIFIER: usize = 2;

/// All networks that a client trains before the first round.
pub(super) struct NeighGen<T> {
    /// Enc, dGen and the classifier: trained in the local phase only.
    pub(super) local: Params<T>,
    local_optimizer: Adam<T>,
    /// fGen's first two layers.
    pub(super) trunk: Params<T>,
    trunk_optimizer: Adam<T>,
    /// fGen's last layer.
    pub(super) slots: Vec<Slot<T>>,
    drawing: Drawing,
}

impl<T: Real> NeighGen<T> {
    /// Fresh networks for `features` features and `classes` classes.
    pub(super) fn new(config: &Config, features: usize, classes: usize, seed: u64) -> Self {
        let Config { hidden, latent, narrow, wide, max_neighbours: p, .. } = *config;
        let optimizer = AdamConfig {
            rate: config.learning_rate,
            weight_decay: config.weight_decay,
            ..AdamConfig::default()
        };
        let local = [
            layer("encoder1", features, hidden),
            layer("encoder2", hidden, latent),
            layer("degree", latent, 1),
            layer("classifier1", features, hidden),
            layer("classifier2", hidden, classes),
        ];
        let trunk = [layer("generator1", latent, narrow), layer("generator2", narrow, wide)];
        Self {
            local: Params::glorot(&local.concat(), seed),
            local_optimizer: Adam::new(optimizer),
            // Another seed: with the same one, both networks would draw the same random numbers.
            trunk: Params::glorot(&trunk.concat(), !seed),
            trunk_optimizer: Adam::new(optimizer),
            slots: (0..p).map(|_| Slot::new(optimizer)).collect(),
            drawing: Drawing {
                rows: wide,
                columns: features,
                fan_out: p * features,
                seed,
                slot: 0,
            },
        }
    }

    /// Brings the slots that `demand` uses up to date before a pass.
    pub(super) fn catch_up(&mut self, demand: &Demand) {
        for (j, slot) in self.slots.iter_mut().take(demand.slots()).enumerate() {
            slot.catch_up(Drawing { slot: j, ..self.drawing });
        }
    }

    /// A step of Enc, dGen and the classifier.
    pub(super) fn step_local(&mut self, gradients: &[Matrix<T>]) {
        self.local_optimizer.step(&mut self.local, gradients);
    }

    /// A step of fGen along gradients of its first two layers and of the slots in use; without
    /// gradients only weight decay acts.
    pub(super) fn step_generator(&mut self, gradients: &[Matrix<T>]) {
        let (trunk, used) = gradients.split_at(gradients.len().min(4));
        match trunk {
            [] => self.trunk_optimizer.idle(&mut self.trunk, 1),
            _ => self.trunk_optimizer.step(&mut self.trunk, trunk),
        }
        let mut used = used.chunks(2);
        self.slots.iter_mut().for_each(|slot| slot.step(used.next()));
    }

    /// Ends the local phase: resets fGen's optimiser.
    pub(super) fn reset_optimizer(&mut self) {
        self.trunk_optimizer.reset();
        self.slots.iter_mut().for_each(Slot::reset_optimizer);
    }
}

/// Weight and bias of a layer.
fn layer(name: &str, from: usize, to: usize) -> [TensorShape; 2] {
    [
        TensorShape::weight(format!("{name}.weight"), from, to),
        TensorShape::bias(format!("{name}.bias"), to),
    ]
}

/// z of every node of the impaired graph.
pub(super) fn encode<'a, T: Real>(
    tape: &mut Tape<'a, T>,
    local: &[Var],
    impaired: &'a Impaired<T>,
    dropout: Dropout,
) -> Var {
    let layers = &local[ENCODER];
    let product = first_product(tape, &impaired.features, layers[0]).0;
    let h = averaged(tape, &impaired.mean, product);
    let h = tape.hidden(h, layers[1], &impaired.kept, dropout, MASK_ENCODER);
    let product = tape.matmul(h, layers[2]);
    let z = averaged(tape, &impaired.mean, product);
    tape.hidden(z, layers[3], &impaired.kept, Dropout::off(), MASK_ENCODER)
}

/// ñ of every row of z.
pub(super) fn degrees<T: Real>(
    tape: &mut Tape<'_, T>,
    local: &[Var],
    z: Var,
    nodes: &[u32],
) -> Var {
    let layers = &local[DEGREE];
    let product = tape.matmul(z, layers[0]);
    tape.hidden(product, layers[1], nodes, Dropout::off(), 0)
}

/// x̃ of the slots in use: a matrix per slot, a row per node of [`Demand::rows`]. `noisy` is z + ε
/// of the nodes of `demand`, and `fgen` holds weight and bias of the two first layers and of each
/// slot.
pub(super) fn generate<T: Real>(
    tape: &mut Tape<'_, T>,
    fgen: &[Var],
    noisy: Var,
    demand: &Demand,
    dropout: Dropout,
) -> Vec<Var> {
    let product = tape.matmul(noisy, fgen[0]);
    let h = tape.hidden(product, fgen[1], &demand.nodes, Dropout::off(), 0);
    let product = tape.matmul(h, fgen[2]);
    let h = tape.hidden(product, fgen[3], &demand.nodes, dropout, MASK_GENERATOR);
    let mut slots = Vec::new();
    for (j, layer) in fgen[4..].chunks(2).enumerate() {
        let rows = demand.rows(j);
        // Most slots are used by few nodes: only their rows are multiplied.
        let some =
            if rows.len() == demand.nodes.len() { h } else { tape.select_rows(h, rows.clone()) };
        let product = tape.active_product(some, layer[0]);
        let sum = tape.add_bias(product, layer[1]);
        slots.push(tape.tanh(sum));
    }
    slots
}

/// Logits of `training` on the mended graph, whose operator is `mean`. `product` is X·W of the real
/// nodes, which come first; generated ones follow slot by slot.
pub(super) fn classify<'a, T: Real>(
    tape: &mut Tape<'a, T>,
    local: &[Var],
    (product, generated): (Var, &[Var]),
    mean: &'a RowMean<T>,
    training: &[u32],
    dropout: Dropout,
) -> Var {
    let layers = &local[CLASSIFIER];
    // X·W of real nodes comes from a sparse product; generated features are dense.
    let mut parts = vec![product];
    parts.extend(generated.iter().map(|&x| tape.matmul(x, layers[0])));
    let stacked = if generated.is_empty() { product } else { tape.stack_rows(&parts) };
    let h = tape.row_mean(mean, stacked);
    let nodes: Vec<u32> = (0..tape.value(h).rows() as u32).collect();
    let h = tape.hidden(h, layers[1], &nodes, dropout, MASK_CLASSIFIER);
    let product = tape.matmul(h, layers[2]);
    let out = averaged(tape, mean, product);
    // The loss needs training nodes only, so that the bias is added to their rows alone.
    let selected = tape.select_rows(out, training.to_vec());
    tape.add_bias(selected, layers[3])
}

/// The mean of x over every node and its neighbours. The buffer of x is released: the backward pass
/// does not read it.
fn averaged<'a, T: Real>(tape: &mut Tape<'a, T>, mean: &'a RowMean<T>, x: Var) -> Var {
    let out = tape.row_mean(mean, x);
    tape.release(x);
    out
}
