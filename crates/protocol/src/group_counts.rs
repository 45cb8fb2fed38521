//! Test nodes of one group of a protected attribute, as counts.

use boostfgl_nn::{StateVisitor, Stateful};

/// The number of bins of a histogram of scores, of equal width between 0 and 1.
pub const SCORE_BINS: usize = 256;

/// The test nodes of one client that have one value of a protected attribute, with one class of the
/// run as the positive one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupCounts {
    /// The attribute; empty for all test nodes.
    pub attribute: String,
    /// Its value; empty for nodes without one, and for all test nodes.
    pub value: String,
    /// Nodes predicted right, over all classes.
    pub right: u64,
    /// True positive, false positive, false negative and true negative nodes.
    pub outcomes: [u64; 4],
    /// Positive nodes by the probability of the positive class, in [`SCORE_BINS`] bins.
    pub positives: Vec<u64>,
    /// Negative nodes by the same.
    pub negatives: Vec<u64>,
}

impl GroupCounts {
    /// Whether all numbers fit together, and to at most `test` nodes.
    ///
    /// ```
    /// use boostfgl_protocol::{GroupCounts, SCORE_BINS};
    ///
    /// let mut counts = GroupCounts {
    ///     outcomes: [1, 0, 0, 0],
    ///     positives: vec![0; SCORE_BINS],
    ///     negatives: vec![0; SCORE_BINS],
    ///     ..GroupCounts::default()
    /// };
    /// assert!(!counts.is_sound(1), "one positive node that has no score");
    /// counts.positives[200] = 1;
    /// assert!(counts.is_sound(1) && !counts.is_sound(0));
    /// ```
    pub fn is_sound(&self, test: u64) -> bool {
        let [true_positives, false_positives, false_negatives, true_negatives] = self.outcomes;
        let nodes = sum(&self.outcomes);
        nodes.is_some_and(|nodes| nodes <= test && self.right <= nodes)
            && self.positives.len() == SCORE_BINS
            && self.negatives.len() == SCORE_BINS
            && sum(&self.positives) == true_positives.checked_add(false_negatives)
            && sum(&self.negatives) == false_positives.checked_add(true_negatives)
    }
}

/// The sum, unless it is larger than any number.
fn sum(counts: &[u64]) -> Option<u64> {
    counts.iter().try_fold(0u64, |sum, count| sum.checked_add(*count))
}

impl Stateful for GroupCounts {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("attribute", &mut self.attribute)?;
        visitor.visit("value", &mut self.value)?;
        visitor.visit("right", &mut self.right)?;
        for (name, count) in ["tp", "fp", "fn", "tn"].into_iter().zip(&mut self.outcomes) {
            visitor.visit(name, count)?;
        }
        visitor.visit("positives", &mut self.positives)?;
        visitor.visit("negatives", &mut self.negatives)
    }
}
