//! Macro-F1.

use super::{Classes, Metric, Parameter};
use crate::{ClassCounts, Confusion};

/// The mean over classes of F1, the harmonic mean of precision and recall:
///
/// * Prec_c = hits_c / (predicted_c + ε),  Rec_c = hits_c / (truth_c + ε)
/// * F1_c = 2 Prec_c Rec_c / (Prec_c + Rec_c + ε)
/// * macro-F1(S) = 1/|classes| · Σ_c F1_c
///
/// With ε = 0, the default, 0/0 counts as 0: scikit-learn's `f1_score(average="macro",
/// zero_division=0)`. A positive ε gives the paper's literal formula; it lowers an F1 by at most
/// about 3ε/2 and is there to compare with others.
///
/// A class that no node of S has cannot be hit, so its F1 is 0. Hence the value over all classes is
/// the value over the present ones times |present| / C, always: a perfect model on a set with k of
/// C classes reaches k/C, no more.
///
/// ```
/// use boostfgl_fairness::{Classes, Confusion, Metric, metrics::MacroF1};
///
/// let perfect = Confusion::from_pairs(4, [(0, 0), (3, 3)])?;
/// assert_eq!(MacroF1::EXACT.compute(&perfect, Classes::All), Some(0.5));
/// assert_eq!(MacroF1::EXACT.compute(&perfect, Classes::Present), Some(1.0));
/// # Ok::<(), boostfgl_fairness::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MacroF1 {
    /// ε ≥ 0 of the formula; 0 is exact.
    pub epsilon: f64,
}

impl MacroF1 {
    /// Without ε: 0/0 counts as 0.
    pub const EXACT: Self = Self { epsilon: 0.0 };

    /// F1 of one class.
    pub fn of_class(&self, class: ClassCounts) -> f64 {
        // Without a hit the literal formula is 0 for any ε > 0; for ε = 0 it may be 0/0, which we
        // also call 0.
        if class.hits == 0 {
            return 0.0;
        }
        let hits = class.hits as f64;
        let precision = hits / (class.predicted as f64 + self.epsilon);
        let recall = hits / (class.truth as f64 + self.epsilon);
        2.0 * precision * recall / (precision + recall + self.epsilon)
    }

    /// F1 of every class, absent ones included.
    pub fn per_class(&self, confusion: &Confusion) -> Vec<f64> {
        confusion.per_class().into_iter().map(|class| self.of_class(class)).collect()
    }
}

impl Metric for MacroF1 {
    fn name(&self) -> &'static str {
        "macro_f1"
    }

    fn title(&self) -> &'static str {
        "macro-F1"
    }

    fn parameter(&self) -> Parameter {
        Parameter::Average
    }

    fn stored(&self) -> bool {
        true
    }

    fn meaning(&self) -> &'static str {
        "mean over classes of F1, the harmonic mean of precision and recall"
    }

    fn value(&self, classes: &[ClassCounts], over: Classes) -> Option<f64> {
        let present = classes.iter().filter(|class| class.truth > 0).count();
        // No class is present exactly when the set is empty: then no reading has a value.
        if present == 0 {
            return None;
        }
        let sum: f64 = classes.iter().map(|&class| self.of_class(class)).sum();
        match over {
            Classes::All => Some(sum / classes.len() as f64),
            Classes::Present => Some(sum / present as f64),
            // The average over one class is its F1.
            Classes::One(class) => classes.get(class).map(|&class| self.of_class(class)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_class_by_hand() {
        let class = ClassCounts { truth: 4, predicted: 2, hits: 1 };
        // precision 1/2, recall 1/4: 2 · (1/8) / (3/4) = 1/3.
        assert!((MacroF1::EXACT.of_class(class) - 1.0 / 3.0).abs() < 1e-15);
        // With ε = 1: precision 1/3, recall 1/5, and 2 · (1/15) / (8/15 + 1) = 2/23.
        assert!((MacroF1 { epsilon: 1.0 }.of_class(class) - 2.0 / 23.0).abs() < 1e-15);
        assert_eq!(MacroF1::EXACT.of_class(ClassCounts::default()), 0.0);
        assert_eq!(MacroF1 { epsilon: 1e-12 }.of_class(ClassCounts::default()), 0.0);
    }

    #[test]
    fn predicting_an_absent_class_costs_recall_only() {
        let confusion = Confusion::from_pairs(3, [(0, 0), (0, 2)]).unwrap();
        assert_eq!(MacroF1::EXACT.per_class(&confusion), [2.0 / 3.0, 0.0, 0.0]);
        assert_eq!(MacroF1::EXACT.compute(&confusion, Classes::Present), Some(2.0 / 3.0));
    }
}
