//! One method on one dataset under one seed.

use boostfgl_fairness::{GroupSizes, Percent, Scores};
use serde::{Deserialize, Serialize};

use crate::SeedDetails;

/// A cell of a grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The seed.
    pub seed: u64,
    /// What became of it.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What the run was expected to hold at most, in bytes.
    #[serde(skip)]
    pub peak_bytes: u64,
}

/// What became of a cell.
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
    /// It did not run, because it would need more memory than it may use.
    OverBudget {
        /// What it would need, estimated, in bytes.
        needed: u64,
        /// What it may use, in bytes.
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
    /// Both rounds that papers report, and what the run was like.
    #[serde(flatten)]
    pub details: SeedDetails,
    /// BLAKE3 of the final parameters and predictions.
    pub digest: String,
    /// What it took.
    pub cost: CellCost,
}

/// What a run took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellCost {
    /// Wall-clock time.
    pub seconds: f64,
    /// Processor time of the threads that worked on this cell.
    pub cpu_seconds: f64,
    /// Bytes that clients sent.
    pub bytes_up: u64,
    /// Bytes that clients received.
    pub bytes_down: u64,
    /// How often a client took part in a round.
    pub client_rounds: u64,
    /// The most memory the program held, if no other cell ran meanwhile.
    pub peak_rss_mib: Option<f64>,
}

impl Cell {
    /// What it measured, if it ran.
    pub fn measured(&self) -> Option<&Measured> {
        match &self.outcome {
            Outcome::Done(measured) => Some(measured),
            _ => None,
        }
    }
}
