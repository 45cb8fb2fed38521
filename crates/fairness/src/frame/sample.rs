//! The evaluated nodes of one group as a sample, and its bootstrap draws.

use boostfgl_graph::Stream;

use super::metric::Resolved;
use crate::ClassCounts;
use crate::statistics::{Interval, quantile};

/// The evaluated nodes of a group, of which only (truth, prediction) counts.
pub(super) struct Sample {
    classes: usize,
    /// The pairs that occur, sorted.
    cells: Vec<(u32, u32)>,
    /// Per node, the position of its pair: what is drawn from. Sorted, so that draws do not depend
    /// on the order of the nodes.
    nodes: Vec<u32>,
}

impl Sample {
    /// The sample of `(truth, prediction)` pairs, both below `classes`.
    pub(super) fn new(classes: usize, mut pairs: Vec<(u32, u32)>) -> Self {
        pairs.sort_unstable();
        let (mut cells, mut nodes) = (Vec::new(), Vec::with_capacity(pairs.len()));
        for (cell, equal) in (0..).zip(pairs.chunk_by(|a, b| a == b)) {
            cells.push(equal[0]);
            nodes.extend(std::iter::repeat_n(cell, equal.len()));
        }
        Self { classes, cells, nodes }
    }

    /// Number of nodes.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Per class, the counts of the sample itself.
    pub(super) fn classes(&self) -> Vec<ClassCounts> {
        let mut counts = vec![0; self.cells.len()];
        self.nodes.iter().for_each(|&cell| counts[cell as usize] += 1);
        self.per_class(&counts)
    }

    /// Draws as many nodes as there are, with replacement, `draws` times; per metric its value in
    /// each draw. Time O(draws · (nodes + C)), one pass for all metrics.
    pub(super) fn resample(
        &self,
        metrics: &[Resolved],
        draws: usize,
        stream: &mut Stream,
    ) -> Vec<Vec<Option<f64>>> {
        let mut values = vec![Vec::with_capacity(draws); metrics.len()];
        let n = self.nodes.len() as u64;
        let mut counts = vec![0; self.cells.len()];
        for _ in 0..draws {
            counts.fill(0);
            for _ in 0..n {
                // Lemire's multiply-and-shift with 32 bits, without rejection: half the time of
                // `Stream::below`. Its bias is below n / 2³², far below the sampling noise.
                let at = (u64::from(stream.next_u32()) * n) >> 32;
                counts[self.nodes[at as usize] as usize] += 1;
            }
            let classes = self.per_class(&counts);
            for (values, metric) in values.iter_mut().zip(metrics) {
                values.push(metric.value(&classes));
            }
        }
        values
    }

    fn per_class(&self, counts: &[u64]) -> Vec<ClassCounts> {
        let mut classes = vec![ClassCounts::default(); self.classes];
        for (&(truth, predicted), &count) in self.cells.iter().zip(counts) {
            classes[truth as usize].truth += count;
            classes[predicted as usize].predicted += count;
            if truth == predicted {
                classes[truth as usize].hits += count;
            }
        }
        classes
    }
}

/// From the 2.5th to the 97.5th percentile of the values there are; `None` if there is none, and if
/// that is a point: draws that all agree give no estimate of the spread.
pub(super) fn percentiles(values: impl Iterator<Item = Option<f64>>) -> Option<Interval> {
    // A draw without a counted node has no value and is left out.
    let mut known: Vec<f64> = values.flatten().collect();
    known.sort_by(f64::total_cmp);
    let interval = (!known.is_empty())
        .then(|| Interval { lo: quantile(&known, 0.025), hi: quantile(&known, 0.975) });
    interval.filter(|interval| interval.lo < interval.hi)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameMetric;

    fn resolved(name: &str) -> Resolved {
        FrameMetric::parse(name).unwrap().resolve(&["a", "b", "c"].map(str::to_owned)).unwrap()
    }

    #[test]
    fn draws_have_the_moments_of_a_binomial() {
        // 30 of 100 right: draws of the accuracy have mean 0.3 and variance 0.3 · 0.7 / 100.
        let pairs = (0..100).map(|v| (0, u32::from(v >= 30))).collect();
        let sample = Sample::new(2, pairs);
        let draws =
            sample.resample(&[resolved("accuracy")], 4000, &mut Stream::new(0, "test", &[]));
        let values: Vec<f64> = draws[0].iter().copied().flatten().collect();
        assert_eq!(values.len(), 4000);
        let mean = crate::mean(&values).unwrap();
        let variance = crate::sample_std(&values).unwrap().powi(2);
        // Four standard errors of the mean are 0.003; the draws are fixed, so this never fails by
        // chance.
        assert!((mean - 0.3).abs() < 0.003, "{mean}");
        assert!((variance / 0.0021 - 1.0).abs() < 0.1, "{variance}");
        let interval = percentiles(draws[0].iter().copied()).unwrap();
        assert!(
            interval.lo > 0.2 && interval.lo < 0.23 && interval.hi > 0.37 && interval.hi < 0.41,
            "{interval:?}"
        );
    }

    #[test]
    fn a_set_without_nodes_has_nothing() {
        let empty = Sample::new(3, Vec::new());
        assert!(
            ["accuracy", "recall:c"]
                .map(resolved)
                .iter()
                .all(|metric| metric.value(&empty.classes()).is_none())
        );
        assert_eq!(
            empty.resample(&[resolved("error")], 2, &mut Stream::new(0, "test", &[])),
            [[None, None]]
        );
        assert_eq!(percentiles([None, None].into_iter()), None);
    }

    #[test]
    fn draws_that_agree_are_no_interval() {
        assert_eq!(percentiles([Some(1.0); 200].into_iter()), None);
        assert!(percentiles([Some(1.0), Some(0.0)].into_iter()).is_some());
    }
}
