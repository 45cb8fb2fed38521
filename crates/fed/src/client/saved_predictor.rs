//! What a client predicts with, apart from the reported model and its graph: saved in the reported
//! round, and restored to predict again.

use super::{Client, Stage, Trainer};
use crate::client_rule::StateContext;
use crate::predictor::{Beyond, Predictor};
use crate::run_context::{ModelSource, RoundContext};
use crate::{Error, Result};
use boostfgl_nn::{Matrix, Params, Real, StateVisitor};
use std::sync::Arc;

impl<T: Real> Trainer<T> {
    /// What the last evaluation was made with, apart from the evaluated model.
    pub(crate) fn beyond(&self) -> Vec<Beyond> {
        let parts = [
            (Beyond::Deployed, self.deploys),
            (Beyond::Generated, self.data().len() > self.data().own),
            (Beyond::Boosted, self.workspace.boosts.boosts_evaluation()),
            (Beyond::Modules, self.workspace.is_by_rule),
            (Beyond::Noise, self.run.setup.model.message_noise > 0.0),
        ];
        parts.into_iter().filter(|(_, is_part)| *is_part).map(|(beyond, _)| beyond).collect()
    }

    /// The same with what is needed to predict again, after the evaluation of `model`, or of the
    /// client's own. The graph is left out.
    pub(crate) fn predictor(&mut self, model: Option<&Params<T>>) -> Result<Predictor<T>> {
        let beyond = self.beyond();
        let own = Arc::clone(&self.local);
        let deployed = if self.deploys { self.rule.deploy(model.unwrap_or(&own)) } else { None };
        let stateful = [Beyond::Generated, Beyond::Boosted, Beyond::Modules];
        let mut state = Vec::new();
        if stateful.iter().any(|part| beyond.contains(part)) {
            self.visit_predictor(&mut StateVisitor::saving(&mut state)).map_err(Error::State)?;
        }
        Ok(Predictor { beyond, deployed, state })
    }

    /// The nodes that the method has generated, as the beginning of a state.
    pub(crate) fn saved_graph(&self) -> Result<Vec<u8>> {
        let mut state = Vec::new();
        self.visit_graph(&mut StateVisitor::saving(&mut state)).map_err(Error::State)?;
        Ok(state)
    }

    /// Saves or restores what predictions on the client's graph depend on.
    fn visit_predictor(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        let Self { run, workspace, rule, local, .. } = self;
        // Boosts follow from the settings; whether the method predicts depends on the round.
        if workspace.boosts.boosts_evaluation() {
            workspace.boosts.visit(workspace.data.inputs.propagation(), visitor)?;
        }
        let mut is_by_rule = workspace.is_by_rule;
        visitor.visit("predicts by itself", &mut is_by_rule)?;
        if is_by_rule {
            let context = StateContext { data: &workspace.data, local, seed: run.setup.seed };
            visitor.within("rule", |visitor| rule.visit(&context, visitor))?;
        }
        Ok(())
    }
}

impl<T: Real> Client<T> {
    /// What the client predicted with in its last evaluation, apart from the evaluated model and
    /// its graph; nothing before it has begun.
    pub fn beyond(&self) -> Vec<Beyond> {
        match &self.stage {
            Stage::Preparing(trainer) | Stage::Training(trainer) => trainer.beyond(),
            Stage::Waiting(_) | Stage::Changing => Vec::new(),
        }
    }

    /// The class probabilities of the client's own nodes, as in an earlier run: under `model`, which
    /// is what the client deployed, and what is saved in `state`.
    pub(crate) fn predict_again(
        &mut self,
        rounds_done: usize,
        model: &Params<T>,
        state: &[u8],
    ) -> Result<Matrix<T>> {
        if !state.is_empty() {
            self.restore_predictor(state).map_err(Error::State)?;
        }
        let trainer = self.trainer_mut();
        let run = &Arc::clone(&trainer.run);
        run.pools.lend(|pool| {
            let (model_source, message) = (ModelSource::Own, None);
            let round = RoundContext { run, rounds_done, model: model_source, message, pool };
            let (workspace, rule) = (&mut trainer.workspace, &mut *trainer.rule);
            workspace.probabilities(&round, rule, model)
        })
    }

    fn restore_predictor(&mut self, state: &[u8]) -> boostfgl_nn::Result<()> {
        let visitor = &mut StateVisitor::restoring(state);
        let mut trainer = match std::mem::replace(&mut self.stage, Stage::Changing) {
            Stage::Preparing(trainer) | Stage::Training(trainer) => trainer,
            other => {
                let found = other.name().to_owned();
                self.stage = other;
                return Err(visitor.mismatch("a client that has begun", found));
            }
        };
        if let Some(data) = trainer.visit_graph(visitor)? {
            trainer = Box::new(trainer.adopt(data));
        }
        trainer.visit_predictor(visitor)?;
        self.stage = Stage::Training(trainer);
        match visitor.unread() {
            0 => Ok(()),
            left => Err(visitor.mismatch("the end of the state", format!("{left} bytes more"))),
        }
    }
}
