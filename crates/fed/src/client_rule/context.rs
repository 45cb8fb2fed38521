//! What a rule may read and use while its client works.

use crate::local_data::LocalData;
use crate::noise_occasion::Occasion;
use crate::{Error, Setup};
use boostfgl_graph::stream::key64;
use boostfgl_nn::backbones::{Backbone, Pass};
use boostfgl_nn::{Dropout, Matrix, MessageNoise, Params, Pool, Real, View, WeightedLoss};

/// What a rule may read and use: the client's own data, its views of them, and its tools.
pub struct ClientContext<'a, T: Real> {
    pub(crate) data: &'a LocalData<T>,
    pub(crate) backbone: &'a dyn Backbone<T>,
    /// The view that training passes use.
    pub(crate) training: &'a View<T>,
    /// All nodes under this round's propagation.
    pub(crate) whole: &'a View<T>,
    /// Labels and node weights of the training nodes.
    pub(crate) loss: &'a WeightedLoss<T>,
    /// Rows of the training nodes among those of the training view, if they are not all.
    pub(crate) rows: Option<&'a [u32]>,
    pub(crate) pool: &'a Pool<T>,
    pub(crate) settings: &'a Setup,
    pub(crate) start: &'a Params<T>,
    /// Cached outputs of the start model: logits and hidden representation of all nodes under this
    /// propagation.
    pub(crate) seen: Option<&'a (Matrix<T>, Option<Matrix<T>>)>,
    /// Whether the first product that the views cache belongs to the start model.
    pub(crate) cached: bool,
    pub(crate) rounds_done: usize,
}

impl<'a, T: Real> ClientContext<'a, T> {
    /// The client's data.
    pub fn data(&self) -> &'a LocalData<T> {
        self.data
    }

    /// The network.
    pub fn backbone(&self) -> &'a dyn Backbone<T> {
        self.backbone
    }

    /// The model that this round started from.
    pub fn start(&self) -> &'a Params<T> {
        self.start
    }

    /// Rounds done before this one.
    pub fn rounds_done(&self) -> usize {
        self.rounds_done
    }

    /// The configured number of communication rounds T; a method may add more.
    pub fn rounds(&self) -> usize {
        self.settings.protocol.rounds
    }

    /// Local epochs E.
    pub fn epochs(&self) -> usize {
        self.settings.protocol.epochs
    }

    /// The view that training passes use.
    pub fn view(&self) -> &'a View<T> {
        self.training
    }

    /// The rows of some nodes (increasing) in the hidden representation that training passes
    /// compute; training nodes are always among them.
    ///
    /// # Panics
    /// If a node is not among them.
    pub fn hidden_rows(&self, nodes: &[u32]) -> Vec<u32> {
        positions(nodes, self.training.hidden_nodes())
    }

    /// All nodes, under this round's propagation.
    pub fn whole(&self) -> &'a View<T> {
        self.whole
    }

    /// Labels and node weights αᵥ of the training nodes.
    pub fn loss(&self) -> &'a WeightedLoss<T> {
        self.loss
    }

    /// Buffers.
    pub fn pool(&self) -> &'a Pool<T> {
        self.pool
    }

    /// A fresh optimiser with the run's settings.
    pub fn optimizer(&self) -> Box<dyn boostfgl_nn::optim::Optimizer<T>> {
        self.settings.optimizer.build()
    }

    /// Learning rate η of the local optimiser.
    pub fn learning_rate(&self) -> f64 {
        self.settings.optimizer.learning_rate
    }

    /// The seed of the run.
    pub fn seed(&self) -> u64 {
        self.settings.seed
    }

    /// A key for random numbers of this client in this round.
    pub fn key(&self, purpose: &str, number: usize) -> u64 {
        key64(
            self.settings.seed,
            purpose,
            &[self.data.id() as u64, self.rounds_done as u64, number as u64],
        )
    }

    /// The dropout of the usual training in epoch `epoch` of this round.
    pub fn dropout(&self, epoch: usize) -> Dropout {
        Dropout::new(self.settings.model.dropout, self.key("dropout", epoch))
    }

    /// The noise on the messages of a pass over the client's graph in this round.
    pub fn noise(&self, occasion: Occasion) -> MessageNoise {
        self.settings.noise(self.data.id(), self.rounds_done, occasion)
    }

    /// Logits of all local nodes under `model` and this round's propagation, without dropout.
    pub fn logits(&self, model: &Params<T>) -> Matrix<T> {
        let (logits, hidden) = self.inspect(model);
        hidden.into_iter().for_each(|hidden| self.pool.put(hidden));
        logits
    }

    /// Logits and hidden representation of all local nodes under `model` and this round's
    /// propagation, without dropout.
    pub fn inspect(&self, model: &Params<T>) -> (Matrix<T>, Option<Matrix<T>>) {
        // Compared by address: only the start model itself has cached outputs.
        let is_start = std::ptr::eq(model, self.start);
        match self.seen.filter(|_| is_start) {
            Some((logits, hidden)) => {
                (self.copied(logits), hidden.as_ref().map(|hidden| self.copied(hidden)))
            }
            None => {
                let noise = self.noise(if is_start { Occasion::Start } else { Occasion::Other });
                let pass = Pass::new(self.backbone, self.whole, self.pool)
                    .using_cache(self.cached && is_start);
                pass.noise(noise).inspect(model)
            }
        }
    }

    /// Mean cross-entropy of the training nodes under `model`, without dropout and without node
    /// weights.
    pub fn training_loss(&self, model: &Params<T>) -> f64 {
        let logits = self.logits(model);
        let losses = self.data.training().iter().map(|&v| {
            let row = logits.row(v as usize);
            let label = self.data.training_label(v as usize).unwrap_or(0);
            negative_log_likelihood(row, label as usize)
        });
        let mean = losses.sum::<f64>() / self.data.training().len().max(1) as f64;
        self.pool.put(logits);
        mean
    }

    fn copied(&self, matrix: &Matrix<T>) -> Matrix<T> {
        let mut out = self.pool.take(matrix.rows(), matrix.columns());
        out.copy_from(matrix);
        out
    }

    /// The error for a quantity of this client that is no longer finite.
    pub fn diverged(&self, what: &'static str) -> Error {
        Error::Diverged { client: self.data.id(), round: self.rounds_done + 1, what }
    }
}

/// The positions of `nodes` in `among`, both increasing.
///
/// # Panics
/// If one is missing.
pub(crate) fn positions(nodes: &[u32], among: &[u32]) -> Vec<u32> {
    nodes.iter().map(|&node| position(node, among)).collect()
}

/// The position of `node` in `among`, which is increasing.
fn position(node: u32, among: &[u32]) -> u32 {
    match among.binary_search(&node) {
        Ok(position) => position as u32,
        Err(_) => unreachable!("node {node} is not among the nodes of this view"),
    }
}

/// −log softmax(row)[label].
fn negative_log_likelihood<T: Real>(row: &[T], label: usize) -> f64 {
    // Shifted by the largest logit, so that no exponential overflows.
    let largest = row.iter().map(|x| x.f64()).fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = row.iter().map(|x| Real::exp(x.f64() - largest)).sum();
    libm::log(sum) + largest - row[label].f64()
}
