//! The schedule of saving the state of a run.

use std::time::{Duration, Instant};

/// When a run saves its state. The results do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CheckpointSchedule {
    /// After every this many rounds; `None` to go by time alone.
    pub rounds: Option<usize>,
    /// At the end of a round, if this many seconds have passed since the last time; infinite for
    /// never.
    pub seconds: f64,
}

impl Default for CheckpointSchedule {
    /// Every five seconds: short runs save nothing and lose little.
    fn default() -> Self {
        Self { rounds: None, seconds: 5.0 }
    }
}

/// The least time between two saves by time, as a multiple of the duration of the last save, so
/// that a slow disk does not dominate the run: saving takes at most 2 % of the time.
const LEAST_INTERVAL: u32 = 50;

/// Decides after each round whether the state is due to be saved.
#[derive(Debug)]
pub(super) struct SaveTimer {
    schedule: CheckpointSchedule,
    last: Instant,
    /// Rounds since the last save.
    rounds: usize,
    /// The duration of the last save.
    cost: Duration,
}

impl SaveTimer {
    pub(super) fn new(schedule: CheckpointSchedule) -> Self {
        Self { schedule, last: Instant::now(), rounds: 0, cost: Duration::ZERO }
    }

    /// Counts a round, and returns whether the state is due to be saved.
    pub(super) fn count_round(&mut self) -> bool {
        self.rounds += 1;
        let by_rounds = self.schedule.rounds.is_some_and(|rounds| self.rounds >= rounds);
        by_rounds || self.is_late(self.last.elapsed())
    }

    fn is_late(&self, elapsed: Duration) -> bool {
        elapsed.as_secs_f64() >= self.schedule.seconds && elapsed >= self.cost * LEAST_INTERVAL
    }

    /// The state has been saved, from `started` until now.
    pub(super) fn saved(&mut self, started: Instant) {
        (self.last, self.rounds, self.cost) = (Instant::now(), 0, started.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: CheckpointSchedule = CheckpointSchedule { rounds: None, seconds: f64::INFINITY };

    #[test]
    fn rounds_are_counted_from_the_last_save() {
        let mut timer = SaveTimer::new(CheckpointSchedule { rounds: Some(2), ..NEVER });
        assert_eq!([(); 3].map(|()| timer.count_round()), [false, true, true]);
        timer.saved(Instant::now());
        assert_eq!([(); 2].map(|()| timer.count_round()), [false, true]);
        let mut never = SaveTimer::new(NEVER);
        assert!(!(0..1000).any(|_| never.count_round()));
    }

    /// If a save takes a second, the next one by time comes fifty seconds later, whatever the
    /// schedule.
    #[test]
    fn saving_takes_at_most_two_percent_of_the_time() {
        let timer_of = |cost| SaveTimer { cost, ..SaveTimer::new(CheckpointSchedule::default()) };
        let slow = timer_of(Duration::from_secs(1));
        assert!(!slow.is_late(Duration::from_secs(49)) && slow.is_late(Duration::from_secs(50)));
        let quick = timer_of(Duration::from_millis(1));
        assert!(!quick.is_late(Duration::from_secs(4)) && quick.is_late(Duration::from_secs(5)));
    }
}
