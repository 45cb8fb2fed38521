//! Saving and restoring a client between two rounds.

use super::{Client, Stage, Trainer};
use crate::client_rule::StateContext;
use crate::config::OptimizerState;
use crate::local_data::LocalData;
use boostfgl_nn::{Matrix, Real, StateVisitor};

impl<T: Real> Client<T> {
    /// Saves the state between two rounds, or restores it in a client that has begun.
    pub(crate) fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        let Self { plan, layers, stage, kept, .. } = self;
        let mut trainer = match std::mem::replace(stage, Stage::Changing) {
            Stage::Preparing(trainer) | Stage::Training(trainer) => trainer,
            other => {
                let found = other.name().to_owned();
                *stage = other;
                return Err(visitor.mismatch("a client that has begun", found));
            }
        };
        // A graph is rebuilt before the state that depends on it is restored.
        if let Some(data) = trainer.visit_graph(visitor)? {
            trainer = Box::new(trainer.adopt(data));
        }
        trainer.visit(visitor)?;
        layers.iter_mut().try_for_each(|layer| layer.visit(visitor))?;
        if !plan.simulated {
            let sizes = (trainer.data().nodes().len(), trainer.data().classes());
            kept.visit(trainer.local(), sizes, visitor)?;
        }
        *stage = Stage::Training(trainer);
        Ok(())
    }
}

impl<T: Real> Trainer<T> {
    /// Saves the nodes that a method generated, or restores the graph that has them.
    pub(super) fn visit_graph(
        &self,
        visitor: &mut StateVisitor<'_>,
    ) -> boostfgl_nn::Result<Option<LocalData<T>>> {
        let data = self.data();
        let mut owners = data.owners();
        visitor.visit("owners of made-up nodes", &mut owners)?;
        if !visitor.restores() {
            save_features(data, visitor)?;
            return Ok(None);
        }
        let features = restore_features(data, &owners, visitor)?;
        Ok((!owners.is_empty()).then(|| data.extended(&owners, &features)))
    }

    /// Saves or restores what the client keeps between rounds.
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        let Self { run, workspace, rule, optimizer, local, .. } = self;
        visitor.visit("model", &mut *local)?;
        if run.setup.optimizer.optimizer_state == OptimizerState::Keep {
            visitor.within("optimizer", |visitor| optimizer.visit(local, visitor))?;
        }
        workspace.boosts.visit(workspace.data.inputs.propagation(), visitor)?;
        let context = StateContext { data: &workspace.data, local, seed: run.setup.seed };
        visitor.within("rule", |visitor| rule.visit(&context, visitor))
    }
}

/// Saves the features of generated nodes, row by row: all of them together may be larger than the
/// rest of the state.
fn save_features<T: Real>(
    data: &LocalData<T>,
    visitor: &mut StateVisitor<'_>,
) -> boostfgl_nn::Result<()> {
    let mut row = vec![T::ZERO; data.width()];
    for v in data.own..data.len() {
        data.inputs.write_row(v, &mut row);
        visitor.visit("features", &mut row[..])?;
    }
    Ok(())
}

/// Restores the features of the generated neighbours of `owners`. Their size is checked before
/// anything is allocated.
fn restore_features<T: Real>(
    data: &LocalData<T>,
    owners: &[u32],
    visitor: &mut StateVisitor<'_>,
) -> boostfgl_nn::Result<Matrix<T>> {
    let (width, own) = (data.width(), data.own);
    let room = visitor.unread() / size_of::<T>();
    if owners.len() * width > room || owners.iter().any(|&v| v as usize >= own) {
        let expected = format!("neighbours of {own} own nodes, with {width} features each");
        let found = format!("{} others, and {room} numbers", owners.len());
        return Err(visitor.mismatch(expected, found));
    }
    let mut features = Matrix::zeros(owners.len(), width);
    (0..owners.len()).try_for_each(|i| visitor.visit("features", features.row_mut(i)))?;
    Ok(features)
}
