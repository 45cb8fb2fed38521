//! How often state is saved.

use std::time::{Duration, Instant};

/// When a run saves its state. Neither changes a digit of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// After every so many rounds, if at all by rounds.
    pub rounds: Option<usize>,
    /// After so many seconds, once a round is over; infinite for never.
    pub seconds: f64,
}

impl Default for Pace {
    /// Every five seconds: short runs save nothing and lose little.
    fn default() -> Self {
        Self { rounds: None, seconds: 5.0 }
    }
}

/// Saving takes at most one part in so many of the time, unless it is asked for by rounds.
const SHARE: u32 = 50;

/// Knows when the next saving is due.
#[derive(Debug)]
pub(super) struct Clock {
    pace: Pace,
    last: Instant,
    rounds: usize,
    /// What the last saving took.
    cost: Duration,
}

impl Clock {
    pub(super) fn new(pace: Pace) -> Self {
        Self { pace, last: Instant::now(), rounds: 0, cost: Duration::ZERO }
    }

    /// Counts a round, and says whether to save now.
    pub(super) fn round(&mut self) -> bool {
        self.rounds += 1;
        let by_rounds = self.pace.rounds.is_some_and(|rounds| self.rounds >= rounds);
        by_rounds || self.is_late(self.last.elapsed())
    }

    fn is_late(&self, elapsed: Duration) -> bool {
        elapsed.as_secs_f64() >= self.pace.seconds && elapsed >= self.cost * SHARE
    }

    /// State has been saved, from `started` until now.
    pub(super) fn saved(&mut self, started: Instant) {
        (self.last, self.rounds, self.cost) = (Instant::now(), 0, started.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_counted_from_the_last_saving() {
        let mut clock = Clock::new(Pace { rounds: Some(2), seconds: f64::INFINITY });
        assert_eq!([(); 3].map(|()| clock.round()), [false, true, true]);
        clock.saved(Instant::now());
        assert_eq!([(); 2].map(|()| clock.round()), [false, true]);
        let mut never = Clock::new(Pace { rounds: None, seconds: f64::INFINITY });
        assert!(!(0..1000).any(|_| never.round()));
    }

    /// A disk so slow that saving takes a second is asked every fifty seconds, whatever the pace.
    #[test]
    fn saving_never_takes_more_than_its_share() {
        let clock = Clock { cost: Duration::from_secs(1), ..Clock::new(Pace::default()) };
        assert!(!clock.is_late(Duration::from_secs(49)) && clock.is_late(Duration::from_secs(50)));
        let quick = Clock { cost: Duration::from_millis(1), ..Clock::new(Pace::default()) };
        assert!(!quick.is_late(Duration::from_secs(4)) && quick.is_late(Duration::from_secs(5)));
    }
}
