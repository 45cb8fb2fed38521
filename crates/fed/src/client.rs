//! One client: its data never leave it, its model does.
//!
//! `workspace` is the graph with all that is computed on it (`views`, `boosts`, `cache`),
//! `local_training` one round of training, `state` saving and restoring.

mod boosts;
mod cache;
mod local_training;
mod state;
#[cfg(test)]
mod tests;
mod views;
mod workspace;

pub(crate) use local_training::length;

use crate::Result;
use crate::client_rule::{ClientContext, ClientRule};
use crate::local_data::LocalData;
use crate::round_context::{ModelSource, RoundContext, RunContext};
use boostfgl_nn::optim::Optimizer;
use boostfgl_nn::{Params, Pool, Propagation, Real};
use boostfgl_protocol::Enrolment;
use std::sync::Arc;
use workspace::Workspace;

/// A client between rounds.
pub(crate) struct Client<T: Real> {
    workspace: Workspace<T>,
    rule: Box<dyn ClientRule<T>>,
    optimizer: Box<dyn Optimizer<T>>,
    /// The model after local training, shared with the update that sends it.
    local: Arc<Params<T>>,
    /// The model that the last round started from, if it was the client's own.
    origin: Option<Params<T>>,
}

impl<T: Real> Client<T> {
    pub(crate) fn new(
        run: &RunContext<T>,
        data: LocalData<T>,
        rule: Box<dyn ClientRule<T>>,
        initial: &Params<T>,
    ) -> Self {
        Self {
            workspace: Workspace::new(run, data, rule.reach()),
            optimizer: run.setup.optimizer.build(),
            local: Arc::new(initial.clone()),
            origin: None,
            rule,
        }
    }

    /// Rebuilds the client on another graph, whose first nodes are those of the old one.
    pub(crate) fn adopt(self, data: LocalData<T>, run: &RunContext<T>) -> Self {
        let enrolment = self.workspace.enrolment;
        let mut client = Self::new(run, data, self.rule, &self.local);
        client.workspace.enrolment = enrolment;
        client
    }

    /// Turns on storage of values that only observers read.
    pub(crate) fn keep_for_inspection(&mut self) {
        self.workspace.boosts.keep_for_inspection();
    }

    /// The parameters that compute in place of `model`, if they differ from it.
    pub(crate) fn deployed(&mut self, model: ModelSource<'_, T>) -> Option<Params<T>> {
        self.rule.deploy(model.or_own(&self.local))
    }

    /// The node weights αᵥ of this round's training, if a boost weighs nodes.
    pub(crate) fn node_weights(&self) -> Option<&[T]> {
        self.workspace.boosts.node_weights()
    }

    /// The messages of this round's training.
    pub(crate) fn propagation(&self) -> &Propagation<T> {
        let plain = self.data().inputs.propagation();
        self.workspace.boosts.last_propagation().unwrap_or(plain)
    }

    /// What the client said about itself when it joined.
    pub(crate) fn enrolment(&self) -> &Enrolment {
        &self.workspace.enrolment
    }

    pub(crate) fn data(&self) -> &LocalData<T> {
        &self.workspace.data
    }

    /// The model after local training.
    pub(crate) fn local(&self) -> &Params<T> {
        &self.local
    }

    /// Whether each update carries a summary for the server.
    pub(crate) fn summarises(&self) -> bool {
        self.workspace.boosts.summarises()
    }

    /// The model that the round started from: `given`, or the client's own.
    pub(crate) fn started_from<'a>(
        &'a self,
        given: Option<&'a Params<T>>,
    ) -> Option<&'a Params<T>> {
        given.or(self.origin.as_ref())
    }

    /// Returns to the model that the round started from, because the update was not used. `afresh`
    /// means that numbers overflowed, so that the optimiser's state is reset.
    pub(crate) fn recover(&mut self, given: Option<&Params<T>>, afresh: bool) {
        let Self { workspace, rule, optimizer, local, origin } = self;
        if let Some(start) = given.or(origin.as_ref()) {
            Arc::make_mut(local).copy_from(start);
        }
        workspace.views.training.cache_product(None);
        rule.refused(afresh);
        if afresh {
            optimizer.reset();
        }
    }

    /// How many exchanges come before the first round.
    pub(crate) fn exchanges(&self) -> usize {
        self.rule.exchanges()
    }

    /// Lets the rule work before the first round.
    pub(crate) fn prepare<R>(
        &mut self,
        run: &RunContext<T>,
        pool: &Pool<T>,
        work: impl FnOnce(&mut dyn ClientRule<T>, &ClientContext<'_, T>) -> R,
    ) -> R {
        let round =
            RoundContext { run, rounds_done: 0, model: ModelSource::Own, message: None, pool };
        work(&mut *self.rule, &self.workspace.context(&round, &self.local))
    }

    /// The predicted class of each of the client's own nodes under the model of `round`.
    /// `starts_next` means that the next round starts from the same model, so that its results are
    /// worth caching.
    pub(crate) fn predict(
        &mut self,
        round: &RoundContext<'_, T>,
        starts_next: bool,
    ) -> Result<Vec<u32>> {
        let Self { workspace, rule, local, .. } = self;
        let model = round.model.or_own(local);
        let deployed = rule.deploy(model);
        let evaluated = deployed.as_ref().unwrap_or(model);
        workspace.predict(round, &mut **rule, evaluated, starts_next && deployed.is_none())
    }

    /// How many validation nodes `predictions` gets right, and how many there are.
    pub(crate) fn validate(&self, predictions: &[u32]) -> (usize, usize) {
        let validation = &self.data().validation;
        let hits = validation.iter().filter(|(v, y)| predictions[*v as usize] == *y).count();
        (hits, validation.len())
    }

    /// Global ids of the local nodes.
    pub(crate) fn nodes(&self) -> &[u32] {
        &self.data().nodes
    }
}

/// The first of the largest.
pub(crate) fn argmax<T: Real>(row: &[T]) -> u32 {
    let mut best = 0;
    for (c, x) in row.iter().enumerate() {
        if *x > row[best] {
            best = c;
        }
    }
    best as u32
}
