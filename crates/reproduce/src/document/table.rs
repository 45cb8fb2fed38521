//! Tables in Markdown, padded so that they are as readable in a terminal as on a page.

use crate::{Results, Row};
use boostfgl_fairness::{mean, sample_std};

/// The widest column that is padded.
const WIDEST: usize = 40;

/// Headings and rows of text.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    pub(super) head: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(head: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { head: head.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Ends in a newline; numbers stand right, words left.
    pub(super) fn markdown(&self) -> String {
        let field = |text: &str| text.replace('|', "\\|").replace('\n', " ");
        let lines: Vec<Vec<String>> = std::iter::once(&self.head)
            .chain(&self.rows)
            .map(|row| row.iter().map(|cell| field(cell)).collect())
            .collect();
        let width = |column: usize| {
            let cells =
                lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count());
            // A column of sentences is not padded: nobody reads those by their column.
            cells.max().filter(|width| *width <= WIDEST).unwrap_or(0).max(3)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let is_number =
            |cell: &String| cell.starts_with(|c: char| c.is_ascii_digit() || "-–".contains(c));
        let left = |column: usize| {
            column == 0 || !lines[1..].iter().filter_map(|line| line.get(column)).all(is_number)
        };
        let pad = |(column, cell): (usize, &String)| {
            let fill = " ".repeat(widths[column].saturating_sub(cell.chars().count()));
            if left(column) { format!("{cell}{fill}") } else { format!("{fill}{cell}") }
        };
        let show = |line: &Vec<String>| {
            format!("| {} |\n", line.iter().enumerate().map(pad).collect::<Vec<_>>().join(" | "))
        };
        let rule = widths.iter().enumerate().map(|(column, width)| match left(column) {
            true => format!(":{}", "-".repeat(width + 1)),
            false => format!("{}:", "-".repeat(width + 1)),
        });
        let rule = format!("|{}|\n", rule.collect::<Vec<_>>().join("|"));
        let mut text = show(&lines[0]);
        text.push_str(&rule);
        lines[1..].iter().for_each(|line| text.push_str(&show(line)));
        text
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

/// The numbers called `column` of the rows that `keep` keeps.
pub(super) fn numbers(results: &Results, column: &str, keep: impl Fn(&Row) -> bool) -> Vec<f64> {
    results
        .rows
        .iter()
        .filter(|row| keep(row))
        .filter_map(|row| results.value(row, column))
        .collect()
}

/// The numbers at one place of a series of the rows that `keep` keeps.
pub(super) fn at(
    results: &Results,
    series: &str,
    place: usize,
    keep: impl Fn(&Row) -> bool,
) -> Vec<f64> {
    let rows = results.rows.iter().filter(|row| keep(row));
    rows.filter_map(|row| row.series.get(series)?.get(place).copied().flatten()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(["Method", "F1"]);
        table.row(["fedavg".to_owned(), "81.4 ± 0.6".to_owned()]);
        table.row(["a|b".to_owned(), "–".to_owned()]);
        let text = table.markdown();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "| Method |         F1 |");
        assert_eq!(lines[1], "|:-------|-----------:|");
        assert_eq!(lines[3], "| a\\|b   |          – |");
        assert!(lines.iter().all(|line| line.chars().count() == lines[0].chars().count()));
    }

    #[test]
    fn one_number_has_no_spread() {
        assert_eq!(spread(&[1.0, 2.0, 3.0], 1), "2.0 ± 1.0");
        assert_eq!(spread(&[1.25], 2), "1.25");
        assert_eq!(spread(&[], 2), "–");
    }
}
