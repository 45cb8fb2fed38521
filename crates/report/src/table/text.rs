//! A table for the terminal.

use super::{Row, Style, Table};
use crate::remarks::{self, Remarked};
use crate::sheet::Mark;

/// More warnings than this are counted, not told, below a table.
const MOST_WARNINGS: usize = 8;

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
        notes.extend(remarks::listed("Test nodes", &self.sizes(), NAME));
        let runs: Vec<Remarked<'_>> = self.rows.iter().map(Row::remarked).collect();
        let about = remarks::about(&runs);
        notes.extend(about.iter().flat_map(|(name, parts)| remarks::listed(name, parts, NAME)));
        let warned = remarks::shortened(remarks::warned(&runs), MOST_WARNINGS);
        if !warned.is_empty() {
            notes.push(String::new());
            notes.extend(warned.iter().flat_map(|text| remarks::sentence("Warning", text, NAME)));
        }
        if runs.iter().any(Remarked::collapsed) {
            let text = "not ranked: a model that answers the same for every node; no star stands for it";
            notes.extend(remarks::sentence("", text, NAME));
        }
        notes
    }
}
