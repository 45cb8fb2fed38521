//! Confusion matrices: the counts that every metric is computed from.

use crate::{Error, Result};

/// C × C counts over a set of nodes: row = true class, column = predicted class.
///
/// ```
/// use boostfgl_fairness::Confusion;
///
/// let confusion = Confusion::from_pairs(3, [(0, 0), (0, 1), (2, 2)])?;
/// assert_eq!(confusion.count(0, 1), 1);
/// assert_eq!(confusion.total(), 3);
/// assert!(Confusion::from_pairs(3, [(0, 3)]).is_err());
/// # Ok::<(), boostfgl_fairness::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confusion {
    classes: usize,
    counts: Vec<u64>,
}

/// What a metric needs to know of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCounts {
    /// Nodes of this class: Σ 𝟙\[y = c\].
    pub truth: u64,
    /// Nodes predicted to be of this class: Σ 𝟙\[ŷ = c\].
    pub predicted: u64,
    /// Nodes for which both hold: Σ 𝟙\[ŷ = c\] 𝟙\[y = c\].
    pub hits: u64,
}

impl Confusion {
    /// Counts over no node yet.
    pub fn new(classes: usize) -> Self {
        Self { classes, counts: vec![0; classes * classes] }
    }

    /// Counts of `(truth, prediction)` pairs.
    ///
    /// # Errors
    /// If a class is not below `classes`.
    pub fn from_pairs(classes: usize, pairs: impl IntoIterator<Item = (u32, u32)>) -> Result<Self> {
        let mut confusion = Self::new(classes);
        for (truth, prediction) in pairs {
            confusion.add(truth, prediction)?;
        }
        Ok(confusion)
    }

    /// Counts as another program gives them, row by row: true class by predicted class.
    ///
    /// # Errors
    /// If there are not C² of them.
    pub fn from_counts(classes: usize, counts: Vec<u64>) -> Result<Self> {
        if counts.len() != classes * classes {
            let expected = format!("{} counts", classes * classes);
            return Err(Error::inconsistent("confusion matrix", expected, &counts.len()));
        }
        Ok(Self { classes, counts })
    }

    /// The counts of nodes whose true class is chosen; the others are 0.
    #[must_use]
    pub fn of_classes(&self, is_chosen: impl Fn(usize) -> bool) -> Self {
        let mut chosen = self.clone();
        for (truth, row) in chosen.counts.chunks_mut(self.classes.max(1)).enumerate() {
            if !is_chosen(truth) {
                row.fill(0);
            }
        }
        chosen
    }

    /// Counts one more node.
    ///
    /// # Errors
    /// If a class is not below C; nothing is counted then.
    pub fn add(&mut self, truth: u32, prediction: u32) -> Result<()> {
        for (what, class) in [("true class", truth), ("predicted class", prediction)] {
            if class as usize >= self.classes {
                return Err(Error::inconsistent(
                    what,
                    format!("a class below {}", self.classes),
                    &class,
                ));
            }
        }
        self.counts[truth as usize * self.classes + prediction as usize] += 1;
        Ok(())
    }

    /// Adds the counts over another, disjoint set of nodes.
    ///
    /// # Errors
    /// If the other has another number of classes.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        if self.classes != other.classes {
            let expected = format!("{} classes", self.classes);
            return Err(Error::inconsistent("confusion to merge", expected, &other.classes));
        }
        for (sum, count) in self.counts.iter_mut().zip(&other.counts) {
            *sum += count;
        }
        Ok(())
    }

    /// Number of classes C.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Number of nodes counted.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Number of nodes whose prediction is right.
    pub fn hits(&self) -> u64 {
        (0..self.classes).map(|c| self.counts[c * self.classes + c]).sum()
    }

    /// Nodes of class `truth` predicted to be `prediction`; 0 for classes that do not exist.
    pub fn count(&self, truth: usize, prediction: usize) -> u64 {
        if truth.max(prediction) < self.classes {
            self.counts[truth * self.classes + prediction]
        } else {
            0
        }
    }

    /// Margins and diagonal, one entry per class. Time O(C²).
    pub fn per_class(&self) -> Vec<ClassCounts> {
        let mut classes = vec![ClassCounts::default(); self.classes];
        // `chunks` refuses width 0, and without classes there is no row either.
        for (truth, row) in self.counts.chunks(self.classes.max(1)).enumerate() {
            classes[truth].truth = row.iter().sum();
            classes[truth].hits = row[truth];
            for (class, count) in classes.iter_mut().zip(row) {
                class.predicted += count;
            }
        }
        classes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_and_diagonal() {
        let confusion = Confusion::from_pairs(3, [(0, 0), (0, 1), (1, 1), (0, 1)]).unwrap();
        assert_eq!(
            confusion.per_class(),
            [
                ClassCounts { truth: 3, predicted: 1, hits: 1 },
                ClassCounts { truth: 1, predicted: 3, hits: 1 },
                ClassCounts::default(),
            ]
        );
        assert_eq!((confusion.hits(), confusion.total(), confusion.classes()), (2, 4, 3));
        let counts: Vec<u64> = (0..3)
            .flat_map(|t| (0..3).map(move |p| (t, p)))
            .map(|(t, p)| confusion.count(t, p))
            .collect();
        assert_eq!(counts, [1, 2, 0, 0, 1, 0, 0, 0, 0]);
        assert_eq!([confusion.count(9, 9), confusion.count(0, 3), confusion.count(3, 0)], [0; 3]);
    }

    #[test]
    fn counts_are_taken_row_by_row() {
        let confusion = Confusion::from_counts(2, vec![1, 2, 3, 4]).unwrap();
        assert_eq!((confusion.count(0, 1), confusion.count(1, 0)), (2, 3));
        let second = confusion.of_classes(|class| class == 1);
        assert_eq!(second, Confusion::from_counts(2, vec![0, 0, 3, 4]).unwrap());
        assert!(Confusion::from_counts(2, vec![1; 3]).is_err());
    }

    #[test]
    fn merging_is_counting_together() {
        let (left, right) = ([(0, 1), (1, 1)], [(1, 0)]);
        let mut merged = Confusion::from_pairs(2, left).unwrap();
        merged.merge(&Confusion::from_pairs(2, right).unwrap()).unwrap();
        assert_eq!(merged, Confusion::from_pairs(2, left.into_iter().chain(right)).unwrap());
        assert!(merged.merge(&Confusion::new(3)).is_err());
    }

    #[test]
    fn classes_out_of_range_are_refused_and_not_counted() {
        let mut confusion = Confusion::new(2);
        let error = confusion.add(0, 2).unwrap_err().to_string();
        assert_eq!(error, "predicted class: expected a class below 2, found 2");
        assert_eq!(confusion.total(), 0);
        assert!(Confusion::new(0).per_class().is_empty());
    }
}
