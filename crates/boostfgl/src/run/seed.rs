//! One seed: what is asked of it, where its results go, and the time that it takes.

use super::RunFiles;
use super::trainable::Trainable;
use crate::checkpoint::{FinishedSeed, TimeSpent, UnfinishedSeed};
use crate::experiment::{Progress, Refused};
use crate::process::Meter;
use boostfgl_fairness::Evaluation;
use boostfgl_fed::Outcome;
use boostfgl_report::{SeedDetails, SeedSummary};
use std::collections::BTreeMap;

/// One seed to train, or to continue.
pub(crate) struct SeedTask {
    pub(crate) seed: u64,
    /// Started when work on the seed began.
    pub(crate) meter: Meter,
    /// Its state, if it was stopped between two rounds.
    pub(crate) unfinished: Option<UnfinishedSeed>,
}

/// The destination of the results of a seed.
pub(crate) struct Output<'a, 'r, E: Trainable> {
    pub(crate) progress: &'a mut dyn Progress,
    /// `None` for a run in memory.
    pub(crate) files: Option<&'a mut RunFiles<'r, E>>,
    /// The seeds before this one, which a checkpoint includes.
    pub(crate) finished: &'a [FinishedSeed<E::Seed>],
}

/// The time that a seed takes, with the time before it was stopped.
pub(crate) struct SeedClock {
    total: Meter,
    /// Started after the federation was set up.
    training: Meter,
    before: TimeSpent,
}

impl SeedClock {
    pub(crate) fn start(total: Meter, before: Option<TimeSpent>) -> Self {
        Self { total, training: Meter::start(), before: before.unwrap_or_default() }
    }

    /// The time spent so far.
    pub(crate) fn spent(&self) -> TimeSpent {
        self.before.plus(TimeSpent {
            wall: self.total.wall(),
            cpu: self.total.cpu(),
            training: self.training.cpu(),
        })
    }
}

/// What is known of a trained seed besides its outcome.
pub(crate) struct Scored<'a> {
    pub(crate) evaluation: &'a Evaluation,
    pub(crate) details: SeedDetails,
    pub(crate) refused: &'a [Refused],
}

impl Scored<'_> {
    /// The summary of a seed with its digest, which is empty where no side has all predictions.
    pub(crate) fn summary(
        self,
        (seed, digest): (u64, String),
        outcome: &Outcome<f32>,
        spent: TimeSpent,
    ) -> SeedSummary {
        SeedSummary {
            seed,
            scores: self.evaluation.scores.percent(),
            groups: self.evaluation.groups.sizes(),
            round: outcome.round,
            details: self.details,
            seconds: spent.wall,
            cpu_seconds: spent.cpu,
            bytes_up: outcome.bytes_up,
            bytes_down: outcome.bytes_down,
            framed_up: outcome.framed_up,
            framed_down: outcome.framed_down,
            refused: count_by_reason(self.refused),
            digest,
            federation_digest: outcome.federation_digest.clone(),
        }
    }
}

/// The number of refused updates for each reason.
fn count_by_reason(refused: &[Refused]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for refused in refused {
        *counts.entry(refused.update.reason.clone()).or_insert(0) += 1;
    }
    counts
}
