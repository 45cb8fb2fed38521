//! The scores of a cell round by round, collected while it runs.

use crate::Progress;
use boostfgl_fairness::Evaluation;
use boostfgl_fed::RoundRecord;
use boostfgl_report::{Hardest, Point};

/// Collects the scores of every evaluated round, and calls `round_ended` after each round.
pub(super) struct CellCurve<F> {
    round_ended: F,
    /// Updates that were used, over all rounds.
    pub(super) client_rounds: u64,
    pub(super) points: Vec<Point>,
    /// Malicious clients: they do not count as the hardest.
    attackers: Vec<usize>,
    pub(super) hardest: Hardest,
}

impl<F: FnMut()> CellCurve<F> {
    pub(super) fn new(attackers: Vec<usize>, round_ended: F) -> Self {
        let hardest = Hardest::default();
        Self { round_ended, client_rounds: 0, points: Vec::new(), attackers, hardest }
    }

    /// Adds the weight of the honest client with the largest training loss. With one local epoch
    /// that is the loss of the model that the round starts from.
    fn add_hardest(&mut self, record: &RoundRecord<'_>) {
        let honest =
            record.clients.iter().filter(|client| !self.attackers.contains(&client.client));
        let hardest = honest.max_by(|a, b| a.loss.total_cmp(&b.loss).then(b.client.cmp(&a.client)));
        if let Some(weight) = hardest.and_then(|client| client.weight) {
            self.hardest.round(weight * record.clients.len() as f64);
        }
    }
}

impl<F: FnMut()> Progress for CellCurve<F> {
    fn round(&mut self, record: &RoundRecord<'_>, evaluation: Option<&Evaluation>) {
        self.client_rounds += record.clients.len() as u64;
        self.add_hardest(record);
        if let Some(evaluation) = evaluation {
            let scores = &evaluation.scores.percent().0;
            self.points.push(Point::new(record.round, record.loss, scores));
        }
        (self.round_ended)();
    }
}
