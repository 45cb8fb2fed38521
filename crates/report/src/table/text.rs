//! A table for the terminal.

use super::{Row, Style, Table};
use crate::notes::{self, NotedRun};
use crate::text_table::Mark;

/// The column in which explanations begin.
pub(crate) const NAME: usize = 22;

impl Table {
    /// The table as text for a terminal, at most 100 columns wide, ending in a newline.
    ///
    /// `*` marks the best of each column, in every style. The unit, an explanation of each column
    /// and the sizes of the groups follow below.
    pub fn text(&self, style: Style) -> String {
        self.table(false).text(style)
    }

    /// The lines below the table.
    pub(super) fn notes(&self) -> Vec<String> {
        let marked = self.columns().any(|column| self.marks(column).contains(&Mark::Best));
        let mark = if marked { "; * best of its column" } else { "" };
        let single = self.rows.iter().any(|row| row.groups.len() == 1);
        let spread = if single { "; one seed has no spread (–)" } else { "" };
        let unit =
            format!("Percent, mean ± standard deviation over {}{spread}{mark}.", self.seeds());
        let runs: Vec<NotedRun<'_>> = self.rows.iter().map(Row::noted_run).collect();
        let mut notes = vec![unit];
        let warned = notes::shortened(notes::warned(&runs));
        if !warned.is_empty() {
            notes.push(String::new());
            notes.extend(warned.iter().flat_map(|text| notes::sentence("Warning", text, NAME)));
            notes.extend(
                notes::not_ranked(&runs)
                    .iter()
                    .flat_map(|text| notes::sentence("Not ranked", text, NAME)),
            );
        }
        notes.push(String::new());
        for column in self.columns() {
            let name = format!("{}, {}", column.title, column.unit);
            notes.push(format!("{name:<NAME$}{}", column.meaning));
        }
        notes.extend(notes::listed("Test nodes", &self.sizes(), NAME));
        let about = notes::about(&runs);
        notes.extend(about.iter().flat_map(|(name, parts)| notes::listed(name, parts, NAME)));
        notes
    }
}
