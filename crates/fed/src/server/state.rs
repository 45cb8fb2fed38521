//! Saving and restoring the server between two rounds.

use super::evaluation::Best;
use super::running::{Phase, Running};
use crate::boost::ServerBoost;
use boostfgl_nn::{Params, Real, StateVisitor, Stateful};

impl<T: Real> Running<T> {
    /// Saves the state between two rounds, or restores it in a server whose clients have joined.
    pub(crate) fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        if !visitor.restores() && !self.is_between_rounds() {
            return Err(visitor.mismatch("a server between two rounds", "one in a round"));
        }
        visitor.visit("rounds done", &mut self.done)?;
        for (name, traffic) in [("up", &mut self.bytes.0), ("down", &mut self.bytes.1)] {
            for (kind, bytes) in
                [("payload", &mut traffic.payload), ("framed", &mut traffic.framed)]
            {
                visitor.visit(&format!("{kind} bytes {name}"), bytes)?;
            }
        }
        visitor.within("server", |visitor| self.rule.visit(visitor))?;
        self.boosts.visit(visitor)?;
        visitor.visit("screen", &mut self.screen)?;
        visitor.option("best validation round", &mut self.best, Best::default)?;
        if !self.run.simulated {
            self.visit_reported(visitor)?;
        }
        let rounds = self.run.rounds();
        if self.done > rounds {
            let expected = format!("at most {rounds} rounds done");
            return Err(visitor.mismatch(expected, self.done.to_string()));
        }
        self.phase = match (self.done == rounds, self.run.simulated) {
            (false, _) => Phase::Train,
            (true, false) => Phase::Conclude,
            (true, true) => Phase::Over,
        };
        Ok(())
    }

    /// Whether nothing of a round is left to do.
    pub(super) fn is_between_rounds(&self) -> bool {
        let between = matches!(self.phase, Phase::Train | Phase::Conclude | Phase::Over);
        between && self.discards.is_empty() && self.unprepared.is_empty()
    }

    /// The models to report, where clients keep their own predictions.
    fn visit_reported(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("round to report", &mut self.kept_round)?;
        let mut keeps: Vec<usize> = self.keeps.iter().copied().collect();
        visitor.visit("clients that have not kept it", &mut keeps)?;
        if let Some(unknown) = keeps.iter().find(|client| **client >= self.enrolled.len()) {
            let expected = format!("clients below {}", self.enrolled.len());
            return Err(visitor.mismatch(expected, unknown.to_string()));
        }
        self.keeps = keeps.into_iter().collect();
        let template = Params::glorot(&self.run.backbone.shapes(), 0);
        visitor.each("reported", &mut self.reported, || template.clone())
    }
}

impl Stateful for Best {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("accuracy", &mut self.accuracy)
    }
}
