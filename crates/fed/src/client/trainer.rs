//! A client that has begun: its graph, its model and the client's side of the method.

use super::exchanges::Exchanges;
use super::predicted::Predicted;
use super::workspace::Workspace;
use crate::client_rule::{ClientContext, ClientRule};
use crate::local_data::LocalData;
use crate::run_context::{ModelSource, RoundContext, RunContext};
use crate::{Error, Result};
use boostfgl_nn::optim::Optimizer;
use boostfgl_nn::{Params, Propagation, Real};
use boostfgl_protocol::Enrolment;
use std::sync::Arc;

/// A client between rounds.
pub(crate) struct Trainer<T: Real> {
    pub(super) run: Arc<RunContext<T>>,
    pub(super) workspace: Workspace<T>,
    pub(super) rule: Box<dyn ClientRule<T>>,
    pub(super) optimizer: Box<dyn Optimizer<T>>,
    /// The model after local training, shared with the update that sends it.
    pub(super) local: Arc<Params<T>>,
    /// The model that the last round started from, if it was the client's own.
    pub(super) origin: Option<Params<T>>,
    /// Training nodes of each class, of all clients together, if a boost needs them.
    class_counts: Vec<usize>,
    /// How far the exchanges before the first round are.
    pub(super) exchanges: Exchanges,
    /// Whether the last evaluation was of parameters that the rule put in place of the model.
    pub(super) deploys: bool,
    /// Rounds done before the last one that it trained in.
    pub(super) trained: Option<u32>,
}

impl<T: Real> Trainer<T> {
    pub(crate) fn new(
        run: Arc<RunContext<T>>,
        data: LocalData<T>,
        enrolment: Enrolment,
        rule: Box<dyn ClientRule<T>>,
        local: Arc<Params<T>>,
        class_counts: Vec<usize>,
    ) -> Self {
        let workspace = Workspace::new(&run, data, enrolment, rule.reach(), &class_counts);
        let optimizer = run.setup.optimizer.build();
        Self {
            run,
            workspace,
            rule,
            optimizer,
            local,
            origin: None,
            class_counts,
            exchanges: Exchanges::default(),
            deploys: false,
            trained: None,
        }
    }

    /// Rebuilds the client on another graph, whose first nodes are those of the old one.
    pub(super) fn adopt(self, data: LocalData<T>) -> Self {
        let Self { run, workspace, rule, class_counts, local, .. } = self;
        Self::new(run, data, workspace.enrolment, rule, local, class_counts)
    }

    /// Fails if this round was trained before (a repeated frame) or there is nothing to train on.
    pub(super) fn check_round(&self, rounds_done: u32) -> Result<()> {
        let is_new = self.trained.is_none_or(|trained| trained < rounds_done);
        if !is_new {
            return Err(Error::OutOfOrder { task: "to train", stage: "after this round" });
        }
        if self.data().training_nodes() == 0 {
            return Err(Error::OutOfOrder { task: "to train", stage: "without training nodes" });
        }
        Ok(())
    }

    /// Turns on storage of values that only observers read.
    pub(crate) fn keep_for_inspection(&mut self) {
        self.workspace.boosts.keep_for_inspection();
    }

    /// The parameters that compute in place of `model`, if they differ from it.
    pub(crate) fn deployed(&mut self, model: &Params<T>) -> Option<Params<T>> {
        self.rule.deploy(model)
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

    pub(crate) fn data(&self) -> &LocalData<T> {
        &self.workspace.data
    }

    /// The model after local training.
    pub(crate) fn local(&self) -> &Arc<Params<T>> {
        &self.local
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
    pub(super) fn recover(&mut self, given: Option<&Params<T>>, afresh: bool) {
        let Self { workspace, rule, optimizer, local, origin, .. } = self;
        if let Some(start) = given.or(origin.as_ref()) {
            Arc::make_mut(local).copy_from(start);
        }
        workspace.views.training.cache_product(None);
        rule.refused(afresh);
        if afresh {
            optimizer.reset();
        }
    }

    /// Lets the rule work before the first round.
    pub(crate) fn prepare<R>(
        &mut self,
        work: impl FnOnce(&mut dyn ClientRule<T>, &ClientContext<'_, T>) -> R,
    ) -> R {
        let Self { run, workspace, rule, local, .. } = self;
        run.pools.lend(|pool| {
            let model = ModelSource::Own;
            let round = RoundContext { run, rounds_done: 0, model, message: None, pool };
            work(&mut **rule, &workspace.context(&round, local))
        })
    }

    /// What the model of `round` predicts for each of the client's own nodes.
    /// `starts_next` means that the next round starts from the same model, so that its results are
    /// worth caching.
    pub(super) fn predict(
        &mut self,
        round: &RoundContext<'_, T>,
        starts_next: bool,
    ) -> Result<Predicted<T>> {
        let Self { workspace, rule, local, deploys, .. } = self;
        let model = round.model.or_own(local);
        let deployed = rule.deploy(model);
        *deploys = deployed.is_some();
        let evaluated = deployed.as_ref().unwrap_or(model);
        workspace.predict(round, &mut **rule, evaluated, starts_next && deployed.is_none())
    }

    /// How many validation nodes `predictions` gets right, and how many there are.
    pub(super) fn validate(&self, predictions: &[u32]) -> (usize, usize) {
        let validation = &self.data().validation;
        let hits = validation.iter().filter(|(v, y)| predictions[*v as usize] == *y).count();
        (hits, validation.len())
    }

    /// Global ids of the local nodes.
    pub(crate) fn nodes(&self) -> &[u32] {
        &self.data().nodes
    }
}
