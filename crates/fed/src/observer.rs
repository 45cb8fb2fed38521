//! Observers of a run: they read results and change none.

use crate::config::Model;
use crate::local_data::LocalData;
use crate::screen::Refusal;
use boostfgl_nn::backbones::Backbone;
use boostfgl_nn::{Params, Propagation, Real};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What happened to one client in one round, in memory and in `rounds.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientRecord {
    /// Which client.
    pub client: usize,
    /// Its name; left out if it has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its training loss in the last local epoch.
    pub loss: f64,
    /// ‖Δθₖ‖₂.
    pub update_norm: f64,
    /// Its weight in the aggregation, where the method aggregates.
    pub weight: Option<f64>,
    /// Its trust, under model boosting.
    pub trust: Option<f64>,
    /// The fairness gap that it sent, under model boosting.
    pub gap: Option<f64>,
    /// Bytes that the method sent: models, messages, sizes and summaries.
    pub bytes_up: u64,
    /// Bytes that the method sent to it.
    pub bytes_down: u64,
    /// Bytes of the frame that it sent: the former with headers, shapes and facts about training.
    #[serde(default)]
    pub framed_up: u64,
    /// Bytes of the frame that it received.
    #[serde(default)]
    pub framed_down: u64,
    /// Seconds its local work took.
    pub seconds: f64,
}

/// What happened in one round.
#[derive(Clone, Debug)]
pub struct RoundRecord<'a> {
    /// Round, from 1.
    pub round: usize,
    /// Number of rounds in total.
    pub rounds: usize,
    /// Training loss of the participants, weighted by their training nodes.
    pub loss: f64,
    /// The participants whose updates were used.
    pub clients: &'a [ClientRecord],
    /// The updates that were not.
    pub refused: &'a [Refusal],
    /// The class predicted for every node of the global graph, if this round was evaluated.
    pub predictions: Option<&'a [u32]>,
    /// Share of validation nodes predicted right, if this round was evaluated and there are any.
    pub val_accuracy: Option<f64>,
    /// Seconds the round took, evaluation included and [inspection](Observer::inspect) not.
    pub seconds: f64,
}

/// The inside of a round, for diagnostics: models and messages, borrowed and read-only.
///
/// Only the rounds of the protocol are shown. In those that a method adds after them (AdaFGL's
/// personal step) clients train modules of their own while the network does not change: there is no
/// update of it to inspect.
pub struct Inspection<'a, T: Real> {
    /// Round, from 1.
    pub round: usize,
    /// How many will be shown: those of the protocol. [`RoundRecord::rounds`] includes those that a
    /// method adds.
    pub rounds: usize,
    /// The network.
    pub backbone: &'a dyn Backbone<T>,
    /// The settings of the network.
    pub model: &'a Model,
    /// All clients, in order.
    pub clients: Vec<Inspected<'a, T>>,
}

/// One client inside a round.
pub struct Inspected<'a, T: Real> {
    /// Its data.
    pub data: &'a LocalData<T>,
    /// θ⁽ᵗ⁻¹⁾, the parameters that it starts from, as its optimiser moves them: Δθₖ = `trained` −
    /// `received`.
    pub received: &'a Params<T>,
    /// θ⁽ᵗ⁻¹⁾ as it computes with it before the round: `received`, or what its rule deploys in
    /// place of it (FedPUB's θ∘m, FairFGL's personal mixture). Losses and gradients are taken here;
    /// Δθₖ is not measured from it.
    pub start: Cow<'a, Params<T>>,
    /// θₖ⁽ᵗ⁾, its parameters after local training as they arrived, of the same kind as `received`;
    /// `None` if it did not take part.
    pub trained: Option<&'a Params<T>>,
    /// The model that is evaluated on its graph after this round.
    pub evaluated: Cow<'a, Params<T>>,
    /// αᵥ of [`LocalData::training`], if a boost weighs nodes; `None` if it did not take part.
    pub node_weights: Option<&'a [T]>,
    /// The propagation of its training in this round: with β under topology boosting, otherwise, or
    /// if the client did not take part, the plain one.
    pub propagation: &'a Propagation<T>,
    /// Its size in a plain average.
    pub size: f64,
    /// Its weight in the aggregation of each tensor, as the method reports it, where the method
    /// aggregates networks and the client took part. What a method does beyond a weighted mean is
    /// not in them.
    pub weights: Option<Vec<f64>>,
    /// Its fairness gap, under model boosting.
    pub gap: Option<f64>,
}

/// What an observer returns: an error, of any type, ends the run.
pub type ObserverResult = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// Called with the results of every round. Observers cannot change them, but an error that one
/// returns ends the run ([`Error::Observer`](crate::Error::Observer)).
pub trait Observer<T: Real> {
    /// Called before the first round, where a method prepares: `done` of `total` exchanges between
    /// clients are finished.
    ///
    /// # Errors
    /// Ends the run before its first round.
    fn preparing(&mut self, _done: usize, _total: usize) -> ObserverResult {
        Ok(())
    }

    /// Whether to call [`Observer::inspect`]. It costs a copy of the models that a round starts
    /// from.
    fn inspects(&self) -> bool {
        false
    }

    /// Called once per round of the protocol, before it is evaluated, if [`Observer::inspects`];
    /// not for rounds that a method adds (see [`Inspection`]).
    fn inspect(&mut self, _inspection: &Inspection<'_, T>) {}

    /// Called once per round, in order.
    ///
    /// # Errors
    /// Ends the run after this round.
    fn round(&mut self, record: &RoundRecord<'_>) -> ObserverResult;
}

impl<T: Real, F: FnMut(&RoundRecord<'_>)> Observer<T> for F {
    fn round(&mut self, record: &RoundRecord<'_>) -> ObserverResult {
        self(record);
        Ok(())
    }
}
