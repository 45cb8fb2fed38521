//! What the loop over seeds works on: a simulation on one graph, or clients with graphs of their
//! own.

use super::seed::{Output, SeedTask};
use crate::Result;
use crate::checkpoint::FinishedSeed;
use crate::config::{Checked, Config};
use crate::experiment::Refused;
use boostfgl_fairness::diagnostics::{Diagnosis, DiagnosticKind};
use boostfgl_fed::Outcome;
use boostfgl_report::{Fingerprint, RunFolder, Summary};

/// The sizes of the data of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Number of nodes, of all clients together.
    pub(crate) nodes: usize,
    /// Number of features.
    pub(crate) features: usize,
    /// Number of classes.
    pub(crate) classes: usize,
}

/// The result of one seed: what a checkpoint stores of it.
pub(crate) trait SeedResult {
    /// Models and predictions of the reported round.
    fn outcome(&self) -> &Outcome<f32>;

    /// What diagnostics found, if any watched.
    fn diagnosis(&self) -> Option<&Diagnosis>;

    /// The updates that were refused.
    fn refused(&self) -> &[Refused];

    /// BLAKE3 of what came out; empty where no side has all of it.
    fn digest(&self) -> &str;
}

/// An experiment whose seeds are trained one after the other.
pub(crate) trait Trainable: Sized {
    /// The result of one seed.
    type Seed: SeedResult;
    /// The files of predictions, which grow with every seed.
    type Predictions;

    /// The resolved configuration.
    fn config(&self) -> &Checked<Config>;

    /// The name of the data in tables.
    fn dataset(&self) -> &str;

    /// The fingerprint of the data as they were read.
    fn fingerprint(&self) -> &Fingerprint;

    /// The diagnostics that watch it.
    fn diagnostics(&self) -> &[DiagnosticKind];

    /// The sizes of its data.
    fn sizes(&self) -> Sizes;

    /// Checks the data before anything is written.
    fn check_inputs(&self) -> Result<()>;

    /// Trains one seed from its beginning, or from the round after which it was stopped.
    fn train_seed(
        &self,
        task: SeedTask,
        output: Output<'_, '_, Self>,
    ) -> Result<FinishedSeed<Self::Seed>>;

    /// The result of a seed that was finished before, from what a checkpoint stores.
    fn restore_seed(
        &self,
        seed: u64,
        outcome: Outcome<f32>,
        diagnosis: Option<Diagnosis>,
        refused: Vec<Refused>,
    ) -> Result<Self::Seed>;

    /// Starts the files of predictions.
    fn start_predictions(&self, folder: &RunFolder) -> Result<Self::Predictions>;

    /// Appends those of a seed.
    fn write_predictions(&self, files: &mut Self::Predictions, seed: &Self::Seed) -> Result<()>;

    /// Completes the files of predictions.
    fn finish_predictions(files: Self::Predictions) -> Result<()>;

    /// Writes what is known once all seeds are trained: models, and statistics of the clients.
    fn write_results(&self, folder: &RunFolder, seeds: &[Self::Seed]) -> Result<()>;

    /// Adds to the summary what only this kind of experiment knows.
    fn complete(&self, summary: Summary, _seeds: &[Self::Seed]) -> Summary {
        summary
    }
}
