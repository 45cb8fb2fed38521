//! One method on one dataset under one seed.

use boostfgl_fairness::{GroupSizes, Percent, Scores};
use serde::{Deserialize, Serialize};

use crate::SeedDetails;

/// A cell of a grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The seed.
    pub seed: u64,
    /// Whether it ran, and its result.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The estimated peak memory of the run, in bytes.
    #[serde(skip)]
    pub peak_bytes: u64,
}

/// The outcome of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum Outcome {
    /// It ran.
    Done(Box<Measured>),
    /// It ran and failed.
    Failed {
        /// Why.
        message: String,
    },
    /// It did not run, because its memory estimate exceeds the budget.
    OverBudget {
        /// The estimate, in bytes.
        needed: u64,
        /// The budget, in bytes.
        budget: u64,
    },
}

/// What a run measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The headline metrics in their three readings.
    #[serde(flatten)]
    pub scores: Percent<Scores>,
    /// How many test nodes each group has.
    pub groups: GroupSizes,
    /// The round whose model is reported, counted from 1.
    pub round: usize,
    /// Both rounds that papers report, budget, split and warnings.
    #[serde(flatten)]
    pub details: SeedDetails,
    /// BLAKE3 of the final parameters and predictions.
    pub digest: String,
    /// Time, traffic and memory.
    pub cost: CellCost,
}

/// Time, traffic and memory of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellCost {
    /// Wall-clock time.
    pub seconds: f64,
    /// CPU time of the threads that worked on this cell.
    pub cpu_seconds: f64,
    /// Bytes that clients sent.
    pub bytes_up: u64,
    /// Bytes that clients received.
    pub bytes_down: u64,
    /// The number of participations: one per client and round in which it took part.
    pub client_rounds: u64,
    /// The largest resident memory of the program, if no other cell ran at the same time.
    pub peak_rss_mib: Option<f64>,
}

impl Outcome {
    /// The outcome in a word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Done(_) => "done",
            Self::Failed { .. } => "failed",
            Self::OverBudget { .. } => "over-budget",
        }
    }
}

impl Cell {
    /// Its measurements, if it ran.
    pub fn measured(&self) -> Option<&Measured> {
        match &self.outcome {
            Outcome::Done(measured) => Some(measured),
            _ => None,
        }
    }
}
