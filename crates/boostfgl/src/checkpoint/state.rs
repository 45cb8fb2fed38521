//! The content of checkpoint files, and the values that a run saves into them.

use crate::experiment::Refused;
use boostfgl_fed::Outcome;
use boostfgl_nn::{StateVisitor, Stateful};
use boostfgl_report::SeedSummary;

/// Seconds that a seed or a run took, earlier attempts included.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TimeSpent {
    /// Wall-clock seconds.
    pub(crate) wall: f64,
    /// CPU seconds of all threads.
    pub(crate) cpu: f64,
    /// CPU seconds of the rounds alone.
    pub(crate) training: f64,
}

impl TimeSpent {
    /// Both together.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            wall: self.wall + other.wall,
            cpu: self.cpu + other.cpu,
            training: self.training + other.training,
        }
    }
}

impl Stateful for TimeSpent {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("wall", &mut self.wall)?;
        visitor.visit("cpu", &mut self.cpu)?;
        visitor.visit("training", &mut self.training)
    }
}

/// The lines of `rounds.jsonl` that a checkpoint counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecordedRounds {
    /// Their number, from the start of the file.
    pub(crate) lines: usize,
    /// Their BLAKE3. A run is resumed only on the rounds that were recorded before it stopped.
    pub(crate) digest: String,
}

impl Stateful for RecordedRounds {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("lines", &mut self.lines)?;
        visitor.visit("digest", &mut self.digest)
    }
}

/// The first part of every file but the manifest: to which seed of which run it belongs.
#[derive(Default)]
pub(super) struct StateHeader {
    /// Digest of configuration, seed, graph and program.
    pub(super) identity: String,
    /// `rounds.jsonl` up to here.
    pub(super) recorded: RecordedRounds,
    pub(super) spent: TimeSpent,
    /// The refused updates of the seed, as JSON.
    pub(super) refused: String,
}

impl Stateful for StateHeader {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("identity", &mut self.identity)?;
        visitor.visit("recorded", &mut self.recorded)?;
        visitor.visit("spent", &mut self.spent)?;
        visitor.visit("refused", &mut self.refused)
    }
}

/// The second part of a `.done` file: the results of a finished seed.
pub(super) struct StoredSeed {
    /// The [`SeedSummary`] as JSON.
    pub(super) summary: String,
    /// The diagnosis as JSON; empty without diagnostics.
    pub(super) diagnosis: String,
    pub(super) outcome: Outcome<f32>,
}

impl Stateful for StoredSeed {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("summary", &mut self.summary)?;
        visitor.visit("diagnosis", &mut self.diagnosis)?;
        visitor.visit("outcome", &mut self.outcome)
    }
}

/// A finished seed in memory.
pub(crate) struct FinishedSeed<S> {
    pub(crate) run: S,
    pub(crate) summary: SeedSummary,
    pub(crate) spent: TimeSpent,
    /// `rounds.jsonl` up to the end of the seed.
    pub(crate) recorded: RecordedRounds,
}

/// The progress of a run, between two rounds of a seed.
pub(crate) struct Position<'a, S> {
    /// The seeds before this one.
    pub(crate) finished: &'a [FinishedSeed<S>],
    /// `rounds.jsonl`, all of it fsynced.
    pub(crate) recorded: RecordedRounds,
    pub(crate) spent: TimeSpent,
    /// The refused updates of this seed.
    pub(crate) refused: &'a [Refused],
    /// Rounds of this seed that are done.
    pub(crate) rounds_done: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time before a stop is part of the time that a resumed run reports.
    #[test]
    fn time_spent_is_saved_and_restored() {
        let mut spent = TimeSpent { wall: 1.5, cpu: 2.5, training: 2.25 };
        let (mut bytes, mut restored) = (Vec::new(), TimeSpent::default());
        spent.visit(&mut StateVisitor::saving(&mut bytes)).unwrap();
        restored.visit(&mut StateVisitor::restoring(&bytes)).unwrap();
        assert_eq!(restored, spent);
    }
}
