//! The course of a cell, collected while it runs.

use crate::Progress;
use boostfgl_fairness::Evaluation;
use boostfgl_fed::RoundRecord;
use boostfgl_report::Point;

/// Collects the course of a run, and passes on that a round has ended.
pub(super) struct Course<F> {
    pub(super) ended: F,
    pub(super) client_rounds: u64,
    pub(super) curve: Vec<Point>,
}

impl<F: FnMut()> Progress for Course<F> {
    fn round(&mut self, record: &RoundRecord<'_>, evaluation: Option<&Evaluation>) {
        self.client_rounds += record.clients.len() as u64;
        self.curve
            .extend(evaluation.map(|evaluation| Point::new(record.round, record.loss, &evaluation.scores.percent().0)));
        (self.ended)();
    }
}
