//! A table for the terminal.

use super::{Style, Table};
use crate::sheet::{Mark, WIDTH, width};

/// Where explanations begin.
pub(crate) const NAME: usize = 22;

impl Table {
    /// The table as text for a terminal, at most 100 columns wide, ending in a newline.
    ///
    /// `*` marks the best of each column, in every style. Below stand the unit, a line on what each column means, and
    /// the sizes of the groups.
    pub fn text(&self, style: Style) -> String {
        self.sheet(false).text(style)
    }

    /// What stands below the table.
    pub(super) fn notes(&self) -> Vec<String> {
        let marked = self.columns().any(|column| self.marks(column).contains(&Mark::Best));
        let mark = if marked { "; * best of its column" } else { "" };
        let lone = self.rows.iter().any(|row| row.groups.len() == 1);
        let spread = if lone { "; one seed has no spread (–)" } else { "" };
        let unit = format!("Percent, mean ± standard deviation over {}{spread}{mark}.", self.seeds());
        let mut notes = vec![unit, String::new()];
        for column in self.columns() {
            let name = format!("{}, {}", column.title, column.unit);
            notes.push(format!("{name:<NAME$}{}", column.meaning));
        }
        let mut sizes = format!("{:<NAME$}", "Test nodes");
        for (at, part) in self.sizes().into_iter().enumerate() {
            if at > 0 {
                sizes.push_str(", ");
            }
            // One more for the comma that may follow.
            if width(&sizes) + width(&part) + 1 > WIDTH {
                notes.push(std::mem::replace(&mut sizes, " ".repeat(NAME)));
            }
            sizes.push_str(&part);
        }
        notes.push(sizes);
        notes
    }
}
