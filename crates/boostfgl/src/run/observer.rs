//! Evaluates, records and saves each round of a seed.

use super::evaluator::Evaluator;
use super::recorder::refusal;
use super::seed::{Output, SeedClock};
use crate::Result;
use crate::checkpoint::Position;
use crate::experiment::{Experiment, Refused};
use boostfgl_fairness::diagnostics::Diagnostician;
use boostfgl_fed::{Observer, ObserverResult, RoundRecord, Training};

/// Evaluates and records each round of a seed. A failed write ends the training.
pub(super) struct SeedObserver<'e, 'a, 'r> {
    pub(super) seed: u64,
    pub(super) evaluator: &'e Evaluator<'e>,
    pub(super) output: Output<'a, 'r, Experiment>,
    /// The refused updates so far.
    pub(super) refused: Vec<Refused>,
}

impl SeedObserver<'_, '_, '_> {
    fn record(&mut self, record: &RoundRecord<'_>) -> Result<()> {
        let evaluation = record.predictions.map(|p| self.evaluator.evaluate(p)).transpose()?;
        let Output { progress, files, .. } = &mut self.output;
        progress.round(record, evaluation.as_ref());
        if let Some(files) = files {
            files.recorder.write_round(self.seed, record, evaluation.as_ref())?;
        }
        let refused = record.refused.iter();
        self.refused
            .extend(refused.map(|one| Refused { round: record.round, update: refusal(one) }));
        Ok(())
    }

    /// Saves the state of the run, if a checkpoint is due.
    pub(super) fn save_if_due(
        &mut self,
        clock: &SeedClock,
        training: &mut Training<f32>,
        diagnostician: &mut Diagnostician<'_, f32>,
    ) -> Result<()> {
        let Output { files: Some(files), finished, .. } = &mut self.output else { return Ok(()) };
        if !files.checkpoints.is_due() {
            return Ok(());
        }
        // A checkpoint counts lines of `rounds.jsonl`: if a power cut took some of them, it could
        // not be used.
        files.recorder.sync()?;
        let position = Position {
            finished,
            recorded: files.recorded(),
            spent: clock.spent(),
            refused: &self.refused,
            rounds_done: training.done(),
        };
        files.checkpoints.save(position, |visitor| {
            training.visit(visitor)?;
            diagnostician.visit(visitor)
        })
    }
}

impl Observer<f32> for SeedObserver<'_, '_, '_> {
    fn preparing(&mut self, done: usize, total: usize) -> ObserverResult {
        let Output { progress, files, finished } = &mut self.output;
        progress.preparing(done, total);
        // The exchanges before round 1 are not part of a checkpoint: a run that stops here starts
        // this seed again.
        if let Some(files) = files {
            files.checkpoints.stop_if_asked(finished)?;
        }
        Ok(())
    }

    fn round(&mut self, record: &RoundRecord<'_>) -> ObserverResult {
        Ok(self.record(record)?)
    }
}
