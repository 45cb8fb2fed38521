//! Counts of one class against all others.

use crate::ClassCounts;

/// How many nodes of a set are of one class, the positive one, and how many are predicted to be.
///
/// ```
/// use boostfgl_fairness::protected::BinaryCounts;
///
/// let pairs = [(true, true), (true, false), (false, false), (false, true)];
/// let counts: BinaryCounts = pairs.into_iter().collect();
/// assert_eq!((counts.nodes(), counts.recall(), counts.selection()), (4, (1, 2), (2, 4)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BinaryCounts {
    /// Positive nodes predicted to be positive.
    pub true_positives: u64,
    /// Negative nodes predicted to be positive.
    pub false_positives: u64,
    /// Positive nodes predicted to be negative.
    pub false_negatives: u64,
    /// Negative nodes predicted to be negative.
    pub true_negatives: u64,
}

impl BinaryCounts {
    /// The counts of class number `class` against all others; `None` if there is no such class.
    pub fn of_class(classes: &[ClassCounts], class: usize) -> Option<Self> {
        let counts = classes.get(class)?;
        let nodes: u64 = classes.iter().map(|class| class.truth).sum();
        let false_positives = counts.predicted.saturating_sub(counts.hits);
        Some(Self {
            true_positives: counts.hits,
            false_positives,
            false_negatives: counts.truth.saturating_sub(counts.hits),
            true_negatives: nodes.saturating_sub(counts.truth + false_positives),
        })
    }

    /// Counts one more node.
    pub fn add(&mut self, is_positive: bool, is_selected: bool) {
        match (is_positive, is_selected) {
            (true, true) => self.true_positives += 1,
            (false, true) => self.false_positives += 1,
            (true, false) => self.false_negatives += 1,
            (false, false) => self.true_negatives += 1,
        }
    }

    /// Adds the counts of other nodes. Counts that arrive from a network cannot overflow.
    pub fn merge(&mut self, other: &Self) {
        let Self { true_positives, false_positives, false_negatives, true_negatives } = self;
        *true_positives = true_positives.saturating_add(other.true_positives);
        *false_positives = false_positives.saturating_add(other.false_positives);
        *false_negatives = false_negatives.saturating_add(other.false_negatives);
        *true_negatives = true_negatives.saturating_add(other.true_negatives);
    }

    /// All nodes.
    pub fn nodes(&self) -> u64 {
        self.positives() + self.negatives()
    }

    /// Nodes of the positive class.
    pub fn positives(&self) -> u64 {
        self.true_positives + self.false_negatives
    }

    /// Nodes of other classes.
    pub fn negatives(&self) -> u64 {
        self.false_positives + self.true_negatives
    }

    /// Nodes predicted to be positive.
    pub fn selected(&self) -> u64 {
        self.true_positives + self.false_positives
    }

    /// Selection rate: selected nodes, of all.
    pub fn selection(&self) -> (u64, u64) {
        (self.selected(), self.nodes())
    }

    /// Recall, the true positive rate: selected positive nodes, of all positive ones.
    pub fn recall(&self) -> (u64, u64) {
        (self.true_positives, self.positives())
    }

    /// Precision: positive nodes, of the selected ones.
    pub fn precision(&self) -> (u64, u64) {
        (self.true_positives, self.selected())
    }

    /// False positive rate: selected negative nodes, of all negative ones.
    pub fn false_positive_rate(&self) -> (u64, u64) {
        (self.false_positives, self.negatives())
    }

    /// False negative rate: positive nodes that are not selected, of all positive ones.
    pub fn false_negative_rate(&self) -> (u64, u64) {
        (self.false_negatives, self.positives())
    }

    /// The generalised entropy index with α = 2 of the benefits ŷ − y + 1; `None` without a node
    /// and if no node benefits. See [`GeneralisedEntropy`](crate::metrics::GeneralisedEntropy).
    pub fn generalised_entropy(&self) -> Option<f64> {
        // Benefits are 2 for false positives, 0 for false negatives and 1 for all others.
        let n = self.nodes() as f64;
        let right = (self.true_positives + self.true_negatives) as f64;
        let sum = right + 2.0 * self.false_positives as f64;
        let squares = right + 4.0 * self.false_positives as f64;
        // Σ (b/b̄)² = n² Σ b² / (Σ b)².
        (sum > 0.0).then(|| (n * squares / (sum * sum) - 1.0) / 2.0)
    }
}

impl FromIterator<(bool, bool)> for BinaryCounts {
    /// Counts pairs of whether a node is positive and whether it is predicted to be.
    fn from_iter<I: IntoIterator<Item = (bool, bool)>>(pairs: I) -> Self {
        let mut counts = Self::default();
        pairs.into_iter().for_each(|(is_positive, is_selected)| {
            counts.add(is_positive, is_selected);
        });
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Confusion;
    use proptest::prelude::*;

    #[test]
    fn no_benefit_has_no_index() {
        let missed = BinaryCounts { false_negatives: 3, ..BinaryCounts::default() };
        assert_eq!(missed.generalised_entropy(), None);
        assert_eq!(BinaryCounts::default().generalised_entropy(), None);
        // One node of four benefits: mean 1/4, and ½ · (16/4 − 1).
        let one = BinaryCounts { true_negatives: 1, ..missed };
        assert_eq!(one.generalised_entropy(), Some(1.5));
    }

    proptest! {
        /// Margins of a confusion matrix are enough for the counts of each class.
        #[test]
        fn margins_give_what_pairs_give(
            pairs in proptest::collection::vec((0u32..4, 0u32..4), 0..50), class in 0u32..4,
        ) {
            let confusion = Confusion::from_pairs(4, pairs.iter().copied()).unwrap();
            let found = BinaryCounts::of_class(&confusion.per_class(), class as usize).unwrap();
            let own: BinaryCounts = pairs.iter().map(|(y, p)| (*y == class, *p == class)).collect();
            prop_assert_eq!(found, own);
            prop_assert_eq!(BinaryCounts::of_class(&confusion.per_class(), 4), None);
        }
    }
}
