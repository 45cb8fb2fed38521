//! The client's side of a method: what it adds to local training, and what it says beside its
//! model.
//!
//! ```text
//! ask/answer/hear …  ready │ begin ─► [reparametrise ─► pass + extra ─► adjust ─► step] × E ─► finish │ deploy, predict
//!      once, before round 1 │                          every round                                     │ when judged
//! ```
//!
//! Every hook has a default that does nothing, so that a rule without any is FedAvg's client.
//! Boosts are not rules: the client applies node weights and propagation whatever the rule, see
//! [`crate::boost`].

use crate::local_data::LocalData;
use crate::noise_occasion::Occasion;
use crate::screen::Form;
use crate::wire::Message;
use crate::{Error, Result, Setup};
use boostfgl_graph::stream::key64;
use boostfgl_nn::backbones::{Backbone, Extra, Pass};
use boostfgl_nn::{
    Dropout, Matrix, MessageNoise, Params, Pool, Reach, Real, StateVisitor, View, WeightedLoss,
};

/// The client's side of a method.
pub trait ClientRule<T: Real>: Send {
    /// For which nodes training passes must put out what: the least that [`ClientRule::extra`]
    /// needs.
    fn reach(&self) -> Reach {
        Reach::Output
    }

    /// How many exchanges with the other clients come before the first round.
    fn exchanges(&self) -> usize {
        0
    }

    /// What this client asks every other one in exchange `number`, after the local work that comes
    /// before it. `None` asks nothing.
    ///
    /// # Errors
    /// If that work fails.
    fn ask(&mut self, _desk: &ClientContext<'_, T>, _number: usize) -> Result<Option<Message<T>>> {
        Ok(None)
    }

    /// What this client answers to the question of client `asker`.
    ///
    /// # Errors
    /// If the question makes no sense.
    fn answer(
        &self,
        _desk: &ClientContext<'_, T>,
        _number: usize,
        _asker: usize,
        _question: &Message<T>,
    ) -> Result<Message<T>> {
        Ok(Message::default())
    }

    /// What an answer to this client's question has to be like: others are left out.
    fn answer_form(&self, _question: &Message<T>) -> Form {
        Form::message()
    }

    /// Takes in the answers, in the order of the clients that gave them.
    ///
    /// # Errors
    /// If they make no sense.
    fn hear(
        &mut self,
        _desk: &ClientContext<'_, T>,
        _number: usize,
        _answers: &[(usize, Message<T>)],
    ) -> Result<()> {
        Ok(())
    }

    /// Ends the preparation. A graph that is returned takes the place of the client's own in all
    /// rounds; its first nodes must be the client's, in their order.
    ///
    /// # Errors
    /// If the preparation fails.
    fn ready(&mut self, _desk: &ClientContext<'_, T>) -> Result<Option<LocalData<T>>> {
        Ok(None)
    }

    /// Whether the rule asks its context about the start model on all nodes, so that what was seen
    /// when it was judged is worth keeping.
    fn inspects_start(&self) -> bool {
        false
    }

    /// Begins a round from the model `context.start()`, with what else the server said.
    ///
    /// # Errors
    /// If the message makes no sense.
    fn begin(&mut self, _desk: &ClientContext<'_, T>, _heard: Option<&Message<T>>) -> Result<()> {
        Ok(())
    }

    /// Takes local training over and returns its loss, leaving the trained model in `local`; `None`
    /// leaves it to the usual epochs.
    ///
    /// # Errors
    /// If training fails.
    fn train(
        &mut self,
        _desk: &ClientContext<'_, T>,
        _local: &mut Params<T>,
    ) -> Result<Option<f64>> {
        Ok(None)
    }

    /// Computes the parameters that passes shall use in place of `model`, for
    /// [`ClientRule::effective`].
    fn reparametrise(&mut self, _desk: &ClientContext<'_, T>, _model: &Params<T>) {}

    /// The parameters that passes use in place of the model, if they differ from it.
    fn effective(&self) -> Option<&Params<T>> {
        None
    }

    /// The further context of the loss, from the logits of `context.view().nodes()` and the hidden
    /// representation of `context.view().hidden_nodes()`.
    fn extra(
        &self,
        _desk: &ClientContext<'_, T>,
        _logits: &Matrix<T>,
        _hidden: Option<&Matrix<T>>,
    ) -> Extra<T> {
        Extra::default()
    }

    /// Changes gradients before the optimiser's step. They are taken with respect to the effective
    /// parameters, and the optimiser will move `model` by them.
    fn adjust(
        &mut self,
        _desk: &ClientContext<'_, T>,
        _model: &Params<T>,
        _gradients: &mut [Matrix<T>],
    ) {
    }

    /// Ends a round: what goes up.
    ///
    /// # Errors
    /// If it cannot be computed.
    fn finish(&mut self, _desk: &ClientContext<'_, T>, _local: &Params<T>) -> Result<Upload<T>> {
        Ok(Upload::model())
    }

    /// Hears that the server did not use what came of the round, if anything did: what is said once
    /// must be said again, and what the server would have moved with goes back. `afresh` says that
    /// numbers were the reason, so that what has been trained here may be spoilt.
    fn refused(&mut self, _afresh: bool) {}

    /// The parameters that are judged in place of `model`, if they differ from it.
    fn deploy(&mut self, _model: &Params<T>) -> Option<Params<T>> {
        None
    }

    /// A score for every class and local node, if something else than the backbone predicts.
    ///
    /// # Errors
    /// If it cannot be computed.
    fn predict(&mut self, _desk: &ClientContext<'_, T>) -> Result<Option<Matrix<T>>> {
        Ok(None)
    }

    /// Takes down what the rule remembers from round to round, or puts it back into a rule that was
    /// just made: after it the next round must go on to the same digits. What a round makes for
    /// itself is no state.
    ///
    /// # Errors
    /// As [`Stateful::visit`](boostfgl_nn::Stateful::visit).
    fn visit(
        &mut self,
        _memory: &Memory<'_, T>,
        _ledger: &mut StateVisitor<'_>,
    ) -> boostfgl_nn::Result<()> {
        Ok(())
    }
}

/// What a rule may look at while its state is taken down or put back.
pub struct Memory<'a, T: Real> {
    /// The client's data.
    pub data: &'a LocalData<T>,
    /// The client's own model, put back already.
    pub local: &'a Params<T>,
    /// The seed of the run.
    pub seed: u64,
}

/// What goes up at the end of a round.
#[derive(Debug)]
pub struct Upload<T> {
    /// Whether the trained model does.
    pub model: bool,
    /// Whether the client's size does.
    pub size: bool,
    /// What else.
    pub message: Message<T>,
    /// ‖Δ‖₂ of each tensor of what is combined, where that is not the model.
    pub moved: Option<Vec<f64>>,
}

impl<T> Upload<T> {
    /// The trained model and the client's size, as in FedAvg.
    pub fn model() -> Self {
        Self { model: true, size: true, message: Message::default(), moved: None }
    }

    /// Nothing.
    pub fn nothing() -> Self {
        Self { model: false, size: false, message: Message::default(), moved: None }
    }

    /// The trained model with a message; the server needs no size.
    pub fn with(message: Message<T>) -> Self {
        Self { model: true, size: false, message, moved: None }
    }

    /// A message without the model.
    pub fn only(message: Message<T>) -> Self {
        Self { model: false, size: false, message, moved: None }
    }
}

/// FedAvg's client: no hook does anything.
pub(crate) struct Plain;

impl<T: Real> ClientRule<T> for Plain {}

/// What a rule may look at and use: the client's own data, its views of them and its tools.
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
    /// What has been seen of the start model: logits and hidden representation of all nodes under
    /// this propagation.
    pub(crate) seen: Option<&'a (Matrix<T>, Option<Matrix<T>>)>,
    /// Whether the views' memory belongs to the start model.
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

    /// Communication rounds T that were asked for; a method may add more.
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

    /// Where some nodes (increasing) stand among the rows of the hidden representation that
    /// training passes put out; training nodes always do.
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
        let starts = std::ptr::eq(model, self.start);
        match self.seen.filter(|_| starts) {
            Some((logits, hidden)) => {
                (self.copied(logits), hidden.as_ref().map(|hidden| self.copied(hidden)))
            }
            None => {
                let noise = self.noise(if starts { Occasion::Start } else { Occasion::Other });
                let pass = Pass::new(self.backbone, self.whole, self.pool)
                    .using_cache(self.cached && starts);
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

    /// An error about something this client's model or loss has become.
    pub fn diverged(&self, what: &'static str) -> Error {
        Error::Diverged { client: self.data.id(), round: self.rounds_done + 1, what }
    }
}

/// Where `nodes` stand in `among`, both increasing.
///
/// # Panics
/// If one is not there.
pub(crate) fn positions(nodes: &[u32], among: &[u32]) -> Vec<u32> {
    let at = |v: &u32| match among.binary_search(v) {
        Ok(at) => at as u32,
        Err(_) => unreachable!("node {v} is not among the nodes of this view"),
    };
    nodes.iter().map(at).collect()
}

/// −log softmax(row)[label].
fn negative_log_likelihood<T: Real>(row: &[T], label: usize) -> f64 {
    let largest = row.iter().map(|x| x.f64()).fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = row.iter().map(|x| Real::exp(x.f64() - largest)).sum();
    libm::log(sum) + largest - row[label].f64()
}
