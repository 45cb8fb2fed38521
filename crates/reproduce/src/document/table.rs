//! Tables in Markdown, padded so that they are as readable in a terminal as on a page.

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

    /// The table, ending in a newline. Numbers are aligned right, words left.
    pub(super) fn markdown(&self) -> String {
        let lines: Vec<Vec<String>> = std::iter::once(&self.head)
            .chain(&self.rows)
            .map(|row| row.iter().map(|cell| escape(cell)).collect())
            .collect();
        let columns: Vec<Column> =
            (0..self.head.len()).map(|place| Column::new(place, &lines)).collect();
        let rules: Vec<String> = columns.iter().map(Column::rule).collect();
        let mut text = padded(&lines[0], &columns);
        text.push_str(&format!("|{}|\n", rules.join("|")));
        lines[1..].iter().for_each(|line| text.push_str(&padded(line, &columns)));
        text
    }
}

/// The layout of one column.
struct Column {
    width: usize,
    aligned_left: bool,
}

impl Column {
    /// The layout of the column at `place`; the first of the lines is the heading.
    fn new(place: usize, lines: &[Vec<String>]) -> Self {
        let cells = lines.iter().filter_map(|line| line.get(place));
        let widest = cells.map(|cell| cell.chars().count()).max();
        // A column of sentences is not padded: its cells are not compared with each other.
        let width = widest.filter(|width| *width <= WIDEST).unwrap_or(0).max(3);
        let mut values = lines[1..].iter().filter_map(|line| line.get(place));
        Self { width, aligned_left: place == 0 || !values.all(|cell| is_number(cell)) }
    }

    fn pad(&self, cell: &str) -> String {
        let fill = " ".repeat(self.width.saturating_sub(cell.chars().count()));
        if self.aligned_left { format!("{cell}{fill}") } else { format!("{fill}{cell}") }
    }

    /// The line below the heading, in which a colon marks the side of the alignment.
    fn rule(&self) -> String {
        let dashes = "-".repeat(self.width + 1);
        if self.aligned_left { format!(":{dashes}") } else { format!("{dashes}:") }
    }
}

/// A cell without the characters that end a cell or a line.
fn escape(cell: &str) -> String {
    cell.replace('|', "\\|").replace('\n', " ")
}

/// Whether a cell starts like a number; a dash stands for no number.
fn is_number(cell: &str) -> bool {
    cell.starts_with(|c: char| c.is_ascii_digit() || "-–".contains(c))
}

/// One line of the table.
fn padded(line: &[String], columns: &[Column]) -> String {
    let cells: Vec<String> =
        line.iter().enumerate().map(|(place, cell)| columns[place].pad(cell)).collect();
    format!("| {} |\n", cells.join(" | "))
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
}
