//! Tables for papers.

use super::runs::Run;
use super::summary::{not_shown, tables};
use crate::text_table::escape;

/// Per dataset the headline metrics with their cost, then the other readings.
pub(super) fn document(runs: &[Run<'_>]) -> String {
    let mut text = String::from("% \\usepackage{booktabs}\n");
    for table in tables(runs) {
        text.push_str(&table.latex());
        text.push_str(&table.with_other_readings().latex());
    }
    if let Some(sentence) = not_shown(runs) {
        text.push_str(&format!("% {}\n", escape(&sentence)));
    }
    text
}
