//! What a rule may read and use while its client works.

use crate::local_data::LocalData;
use crate::noise_occasion::Occasion;
use crate::{Error, Setup};
use boostfgl_graph::stream::key64;
use boostfgl_nn::backbones::{Backbone, Pass};
use boostfgl_nn::{Dropout, Matrix, MessageNoise, Params, Pool, Real, View, WeightedLoss};
use boostfgl_protocol::Model;
use std::sync::Arc;

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
    /// `start` with its version, if the server gave it.
    pub(crate) given: Option<&'a Model<T>>,
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

    /// The model that this round started from, to be kept: shared with the server's, if the server
    /// gave it.
    pub fn shared_start(&self) -> Arc<Params<T>> {
        self.given.map_or_else(|| Arc::new(self.start.clone()), Model::shared)
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
        self.only_logits(self.inspect(model))
    }

    /// The same under the model that this round started from, whose outputs are often known.
    pub fn start_logits(&self) -> Matrix<T> {
        self.only_logits(self.inspect_start())
    }

    /// Logits and hidden representation of all local nodes under `model` and this round's
    /// propagation, without dropout.
    pub fn inspect(&self, model: &Params<T>) -> (Matrix<T>, Option<Matrix<T>>) {
        let pass = Pass::new(self.backbone, self.whole, self.pool);
        pass.noise(self.noise(Occasion::Other)).inspect(model)
    }

    /// The same under the model that this round started from, whose outputs are often known.
    pub fn inspect_start(&self) -> (Matrix<T>, Option<Matrix<T>>) {
        if let Some((logits, hidden)) = self.seen {
            return (self.copied(logits), hidden.as_ref().map(|hidden| self.copied(hidden)));
        }
        let pass = Pass::new(self.backbone, self.whole, self.pool).using_cache(self.cached);
        pass.noise(self.noise(Occasion::Start)).inspect(self.start)
    }

    /// Mean cross-entropy of the training nodes under the model that this round started from,
    /// without dropout and without node weights.
    pub fn training_loss(&self) -> f64 {
        let logits = self.start_logits();
        let losses = self.data.training().iter().map(|&v| {
            let row = logits.row(v as usize);
            let label = self.data.training_label(v as usize).unwrap_or(0);
            negative_log_likelihood(row, label as usize)
        });
        let mean = losses.sum::<f64>() / self.data.training().len().max(1) as f64;
        self.pool.put(logits);
        mean
    }

    fn only_logits(&self, (logits, hidden): (Matrix<T>, Option<Matrix<T>>)) -> Matrix<T> {
        hidden.into_iter().for_each(|hidden| self.pool.put(hidden));
        logits
    }

    fn copied(&self, matrix: &Matrix<T>) -> Matrix<T> {
        let mut out = self.pool.take(matrix.rows(), matrix.columns());
        out.copy_from(matrix);
        out
    }

    /// The error for a quantity of this client that is no longer finite.
    pub fn diverged(&self, what: &'static str) -> Error {
        let client = self.data.called_in_messages();
        Error::Diverged { client, round: self.rounds_done + 1, what }
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
