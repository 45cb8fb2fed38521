//! Drawing nodes in proportion to their weights, from any stretch of an ordered list, in constant
//! time.

use std::ops::Range;

use crate::Stream;

/// Nodes in a fixed order with cumulative weights, and a guide table into them.
///
/// To draw from positions a..b, take x uniform in [W_a, W_b), W being the cumulative weights, and
/// find the position i with W_i ≤ x < W_{i+1}. The guide table cuts [0, W_n) into n equal cells and
/// stores the first position of each, so that a short walk finds i: O(1) expected, for whichever
/// stretch. One table therefore serves the whole graph, each class and each community, as long as
/// those are stretches of the order.
pub(super) struct Wheel {
    nodes: Vec<u32>,
    cumulative: Vec<f64>,
    guide: Vec<u32>,
}

impl Wheel {
    /// A wheel over `nodes` in that order; `weight[v]` is the positive weight of node v.
    pub(super) fn new(nodes: Vec<u32>, weight: &[f64]) -> Self {
        let mut cumulative = Vec::with_capacity(nodes.len() + 1);
        let mut sum = 0.0;
        cumulative.push(sum);
        for &v in &nodes {
            sum += weight[v as usize];
            cumulative.push(sum);
        }
        let mut guide = Vec::with_capacity(nodes.len());
        let mut at = 0;
        for cell in 0..nodes.len() {
            let start = sum * cell as f64 / nodes.len() as f64;
            while at + 1 < nodes.len() && cumulative[at + 1] <= start {
                at += 1;
            }
            guide.push(at as u32);
        }
        Self { nodes, cumulative, guide }
    }

    /// Number of nodes on the wheel.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The node at `fraction` of the whole weight, 0 ≤ fraction < 1; `None` if the wheel is empty.
    pub(super) fn at(&self, fraction: f64) -> Option<u32> {
        let all = 0..self.len();
        (!all.is_empty()).then(|| self.node(all, fraction * self.cumulative[self.len()]))
    }

    /// A node at one of the positions `range`, in proportion to weight; `None` if the range is
    /// empty.
    pub(super) fn draw(&self, range: Range<usize>, stream: &mut Stream) -> Option<u32> {
        if range.is_empty() {
            return None;
        }
        let (low, high) = (self.cumulative[range.start], self.cumulative[range.end]);
        Some(self.node(range, low + stream.unit() * (high - low)))
    }

    /// The node of `range` whose stretch of the cumulative weights holds `x`.
    fn node(&self, range: Range<usize>, x: f64) -> u32 {
        let cell = (x / self.cumulative[self.len()] * self.len() as f64) as usize;
        // Rounding may put the cell one too far: the search goes in both directions, within the
        // range.
        let mut at = self.guide[cell.min(self.len() - 1)] as usize;
        while at > range.start && self.cumulative[at] > x {
            at -= 1;
        }
        while at + 1 < range.end && self.cumulative[at + 1] <= x {
            at += 1;
        }
        self.nodes[at.clamp(range.start, range.end - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_follow_the_weights_of_the_stretch() {
        let weight = [1.0, 2.0, 3.0, 0.5, 8.0];
        let wheel = Wheel::new(vec![4, 2, 0, 1, 3], &weight);
        let mut stream = Stream::new(0, "wheel", &[]);
        let mut hits = [0usize; 5];
        for _ in 0..60_000 {
            hits[wheel.draw(1..4, &mut stream).unwrap() as usize] += 1;
        }
        assert_eq!((hits[3], hits[4]), (0, 0));
        for v in 0..3 {
            let expected = 10_000.0 * weight[v];
            assert!((hits[v] as f64 - expected).abs() < 0.05 * expected, "node {v}: {}", hits[v]);
        }
        assert_eq!(wheel.draw(2..2, &mut stream), None);
    }
}
