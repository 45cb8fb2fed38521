//! The course of a cell, collected while it runs.

use crate::Progress;
use boostfgl_fairness::Evaluation;
use boostfgl_fed::RoundRecord;
use boostfgl_report::{Hardest, Point};

/// Collects the course of a run, and passes on that a round has ended.
pub(super) struct Course<F> {
    pub(super) ended: F,
    pub(super) client_rounds: u64,
    pub(super) curve: Vec<Point>,
    /// Clients that attack: they are not asked how hard they have it.
    pub(super) attackers: Vec<usize>,
    pub(super) hardest: Hardest,
}

impl<F> Course<F> {
    /// What became of the client with the largest training loss. With one local epoch that is the
    /// loss of the model that the round starts from.
    fn hardest(&mut self, record: &RoundRecord<'_>) {
        let honest =
            record.clients.iter().filter(|client| !self.attackers.contains(&client.client));
        let hardest = honest.max_by(|a, b| a.loss.total_cmp(&b.loss).then(b.client.cmp(&a.client)));
        if let Some(weight) = hardest.and_then(|client| client.weight) {
            self.hardest.round(weight * record.clients.len() as f64);
        }
    }
}

impl<F: FnMut()> Progress for Course<F> {
    fn round(&mut self, record: &RoundRecord<'_>, evaluation: Option<&Evaluation>) {
        self.client_rounds += record.clients.len() as u64;
        self.hardest(record);
        self.curve.extend(evaluation.map(|evaluation| {
            Point::new(record.round, record.loss, &evaluation.scores.percent().0)
        }));
        (self.ended)();
    }
}
