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
