//! What a cell knows beyond its scores: how they came about.

use crate::Progress;
use boostfgl_fairness::Evaluation;
use boostfgl_fairness::diagnostics::{Diagnosis, Which};
use boostfgl_fed::RoundRecord;
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
    pub(super) fn new(record: &RoundRecord<'_>, evaluation: &Evaluation) -> Self {
        let scores = evaluation.scores.percent().0;
        Self {
            round: record.round,
            loss: record.loss,
            accuracy: scores.accuracy.pooled,
            overall_f1: scores.overall_f1.pooled,
            hete_f1: scores.hete_f1.pooled,
            hete_min_f1: scores.hete_min_f1.pooled,
        }
    }
}

/// Collects the course of a run, and passes on that a round has ended.
pub(super) struct Course<F> {
    pub(super) ended: F,
    pub(super) client_rounds: u64,
    pub(super) curve: Vec<Point>,
}

impl<F: FnMut()> Progress for Course<F> {
    fn round(&mut self, record: &RoundRecord<'_>, evaluation: Option<&Evaluation>) {
        self.client_rounds += record.clients.len() as u64;
        self.curve.extend(evaluation.map(|evaluation| Point::new(record, evaluation)));
        (self.ended)();
    }
}
