//! A table of marked text, from which terminal text, Markdown and LaTeX are written.

mod csv;
mod latex;
mod markdown;
mod text;

pub(crate) use csv::csv_line;
pub(crate) use latex::{emphasised, escape};
pub(crate) use text::{WIDTH, plain, width};

/// A table of text.
#[derive(Clone, Debug)]
pub(crate) struct TextTable {
    pub(crate) title: String,
    /// The heading of the labels.
    pub(crate) labels: &'static str,
    /// Per column its heading and the reading or unit under it.
    pub(crate) columns: Vec<[String; 2]>,
    pub(crate) rows: Vec<Line>,
    /// Lines below the table, for the terminal.
    pub(crate) notes: Vec<String>,
}

/// One row: a label and one or more lines of cells.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) label: String,
    pub(crate) cells: Vec<Vec<Marked>>,
}

/// Text and its mark.
#[derive(Clone, Debug)]
pub(crate) struct Marked {
    pub(crate) text: String,
    pub(crate) mark: Mark,
}

/// The rank of a cell in its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Plain,
    Best,
    Second,
    Worst,
}

impl Marked {
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), mark: Mark::Plain }
    }
}

/// Marks the best and the second best of values of which the largest is the best. Values that are
/// printed alike are marked alike; if all are printed alike, none is marked.
pub(crate) fn marks(values: &[Option<f64>]) -> Vec<Mark> {
    let mut known: Vec<f64> = values.iter().flatten().map(|&value| tenths(value)).collect();
    known.sort_by(|a, b| b.total_cmp(a));
    known.dedup();
    values.iter().map(|value| mark(*value, &known)).collect()
}

/// The mark of a value; `known` are the distinct values in tenths, in descending order.
fn mark(value: Option<f64>, known: &[f64]) -> Mark {
    match value.and_then(|value| known.iter().position(|&other| other == tenths(value))) {
        Some(0) if known.len() > 1 => Mark::Best,
        Some(1) if known.len() > 2 => Mark::Second,
        _ => Mark::Plain,
    }
}

/// A value in tenths, as printed with one decimal.
fn tenths(value: f64) -> f64 {
    (value * 10.0).round()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn best_and_second_as_printed() {
        use Mark::{Best, Plain, Second};
        assert_eq!(marks(&[Some(80.04), Some(80.0), Some(79.0), None]), [Best, Best, Plain, Plain]);
        assert_eq!(
            marks(&[Some(3.0), Some(2.0), Some(1.0), Some(2.01)]),
            [Best, Second, Plain, Second]
        );
        assert_eq!(marks(&[Some(3.0), Some(3.0)]), [Plain, Plain]);
        assert_eq!(marks(&[Some(3.0), Some(1.0)]), [Best, Plain]);
    }
}
