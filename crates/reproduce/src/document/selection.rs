//! Rows of results, and their numbers as cells of a table.

use crate::{Results, Row};
use boostfgl_fairness::{mean, sample_std};

/// Some rows, usually those of one method on one dataset.
pub(super) struct Selection<'a> {
    pub(super) results: &'a Results,
    pub(super) rows: Vec<&'a Row>,
}

impl<'a> Selection<'a> {
    /// The rows that `keep` keeps.
    pub(super) fn new(results: &'a Results, keep: impl Fn(&Row) -> bool) -> Self {
        Self { results, rows: results.rows.iter().filter(|row| keep(row)).collect() }
    }

    /// The rows of one method on one dataset.
    pub(super) fn of(results: &'a Results, dataset: &str, method: &str) -> Self {
        Self::new(results, |row| row.dataset == dataset && row.method == method)
    }

    /// The numbers called `column`; rows without one are left out.
    pub(super) fn numbers(&self, column: &str) -> Vec<f64> {
        self.rows.iter().filter_map(|row| self.results.value(row, column)).collect()
    }

    /// [`spread`] of the numbers called `column`.
    pub(super) fn spread(&self, column: &str, digits: usize) -> String {
        spread(&self.numbers(column), digits)
    }

    /// [`middle`] of the numbers called `column`.
    pub(super) fn middle(&self, column: &str, digits: usize) -> String {
        middle(&self.numbers(column), digits)
    }

    /// [`middle`] of the numbers at one place of a series.
    pub(super) fn middle_at(&self, series: &str, place: usize, digits: usize) -> String {
        let numbers: Vec<f64> = self
            .rows
            .iter()
            .filter_map(|row| row.series.get(series)?.get(place).copied().flatten())
            .collect();
        middle(&numbers, digits)
    }
}

/// Mean ± standard deviation; the mean alone for one number, a dash for none.
pub(super) fn spread(numbers: &[f64], digits: usize) -> String {
    match (mean(numbers), sample_std(numbers)) {
        (Some(mean), Some(std)) => format!("{mean:.digits$} ± {std:.digits$}"),
        (Some(mean), None) => format!("{mean:.digits$}"),
        (None, _) => "–".to_owned(),
    }
}

/// The mean; a dash for no number.
pub(super) fn middle(numbers: &[f64], digits: usize) -> String {
    mean(numbers).map_or_else(|| "–".to_owned(), |mean| format!("{mean:.digits$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_has_no_spread() {
        assert_eq!(spread(&[1.0, 2.0, 3.0], 1), "2.0 ± 1.0");
        assert_eq!(spread(&[1.25], 2), "1.25");
        assert_eq!(spread(&[], 2), "–");
    }
}
