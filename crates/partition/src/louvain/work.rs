//! How much of a level is done, for a display of progress.

/// The share of the visits of a level that are over, by estimate.
///
/// How many sweeps a level takes is not known before its end. The number of nodes that a sweep
/// visits falls about geometrically, which gives an estimate of the visits that are left, and one
/// full sweep checks the result.
pub(super) struct Work {
    nodes: f64,
    visited: f64,
    /// The estimate of all visits of the level.
    expected: f64,
    /// The number of nodes in the sweep before.
    last: Option<f64>,
    share: f64,
}

/// The ratio of the nodes of two sweeps before it is known, and the largest that is believed.
const RATIO: (f64, f64) = (0.5, 0.9);

impl Work {
    /// A level of this many nodes.
    pub(super) fn new(nodes: usize) -> Self {
        let nodes = nodes as f64;
        Self { nodes, visited: 0.0, expected: nodes, last: None, share: 0.0 }
    }

    /// A sweep over `count` nodes begins; `checks` if it is the one that may end the level.
    pub(super) fn sweep(&mut self, count: usize, checks: bool) {
        let count = count as f64;
        let ratio = self.last.map_or(RATIO.0, |last| (count / last.max(1.0)).min(RATIO.1));
        let further = if checks { 0.0 } else { count * ratio / (1.0 - ratio) + self.nodes };
        self.expected = self.visited + count + further;
        self.last = Some(count);
    }

    /// The share after `count` more visits. It never falls, also where the estimate does.
    pub(super) fn visited(&mut self, count: usize) -> f64 {
        self.visited += count as f64;
        self.share = (self.visited / self.expected.max(1.0)).clamp(self.share, 1.0);
        self.share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_rises_to_one_and_is_near_the_truth() {
        let (mut work, mut shares) = (Work::new(1000), Vec::new());
        let sweeps = [(1000, false), (600, false), (360, false), (216, false), (1000, true)];
        let total: usize = sweeps.iter().map(|(count, _)| count).sum();
        let mut done = 0;
        for (count, checks) in sweeps {
            work.sweep(count, checks);
            done += count;
            let share = work.visited(count);
            assert!((share - done as f64 / total as f64).abs() < 0.1, "{share} after {done}");
            shares.push(share);
        }
        assert!(shares.is_sorted() && shares.last() == Some(&1.0), "{shares:?}");
    }
}
