//! What a run or a cell knows beyond its scores: how they came about.

use boostfgl_fairness::Scores;
use boostfgl_fairness::diagnostics::{Diagnosis, Which};
use serde::{Deserialize, Serialize};

/// The course of one run and what diagnostics found in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Detail {
    /// The diagnostics that watched, by name.
    pub diagnostics: Vec<String>,
    /// The evaluated rounds.
    pub curve: Vec<Point>,
    /// What was found.
    pub diagnosis: Diagnosis,
    /// How often the hardest client was silenced, if that was watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardest: Option<Hardest>,
}

/// What became of the hardest client of every round: among those that do not attack and whose
/// updates arrived, the one with the largest training loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hardest {
    /// Rounds in which clients had weights.
    pub rounds: usize,
    /// Rounds in which its weight was below a tenth of an equal share.
    pub silenced: usize,
    /// The sum over these rounds of its weight as a multiple of an equal share.
    pub weight: f64,
}

impl Hardest {
    /// Below this multiple of an equal share a client is silenced.
    pub const SILENCED: f64 = 0.1;

    /// Takes in a round in which the hardest client had this multiple of an equal share.
    pub fn round(&mut self, weight: f64) {
        self.rounds += 1;
        self.silenced += usize::from(weight < Self::SILENCED);
        self.weight += weight;
    }
}

/// One evaluated round: the pooled scores in percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Which, from 1.
    pub round: usize,
    /// Training loss.
    pub loss: f64,
    /// Accuracy.
    pub accuracy: Option<f64>,
    /// Overall-F1.
    pub overall_f1: Option<f64>,
    /// Hete-F1.
    pub hete_f1: Option<f64>,
    /// Hete-min-F1.
    pub hete_min_f1: Option<f64>,
}

impl Detail {
    /// Whether all of `wanted` watched.
    pub fn covers(&self, wanted: &[Which]) -> bool {
        wanted.iter().all(|which| self.diagnostics.iter().any(|name| name == which.name()))
    }
}

impl Point {
    /// A round with its scores in percent.
    pub fn new(round: usize, loss: f64, scores: &Scores) -> Self {
        Self {
            round,
            loss,
            accuracy: scores.accuracy.pooled,
            overall_f1: scores.overall_f1.pooled,
            hete_f1: scores.hete_f1.pooled,
            hete_min_f1: scores.hete_min_f1.pooled,
        }
    }
}
