//! A table for documents.

use std::fmt::Write as _;

use super::text::plain;
use super::{Mark, Marked, TextTable};

impl TextTable {
    /// In Markdown, the best (or worst) of each column in bold and the second in italics, ending in
    /// a newline.
    pub(crate) fn markdown(&self) -> String {
        let mut text = format!("| {} |", self.labels);
        for [title, unit] in &self.columns {
            let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
            let _ = write!(text, " {}{} |", field(title), field(&unit));
        }
        text.push_str("\n|:--|");
        text.push_str(&"--:|".repeat(self.columns.len()));
        for row in &self.rows {
            let _ = write!(text, "\n| {} |", field(&row.label));
            for column in 0..self.columns.len() {
                let lines = row.cells.iter().filter_map(|line| line.get(column)).map(emphasised);
                let _ = write!(
                    text,
                    " {} |",
                    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("<br>")
                );
            }
        }
        text.push('\n');
        text
    }
}

fn emphasised(cell: &Marked) -> String {
    let mark = match cell.mark {
        Mark::Best | Mark::Worst => "**",
        Mark::Second => "*",
        Mark::Plain => "",
    };
    format!("{mark}{}{mark}", field(&cell.text))
}

/// Text without `|` and line breaks, which would end a cell or a row.
fn field(text: &str) -> String {
    plain(text).replace('|', "\\|")
}
