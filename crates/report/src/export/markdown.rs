//! Tables for documents.

use super::runs::Run;
use super::summary::{not_shown, tables};
use crate::text_table::plain;

/// Per dataset the headline metrics with their cost, then the other readings.
pub(super) fn document(runs: &[Run<'_>]) -> String {
    let mut sections = Vec::new();
    for table in tables(runs) {
        let title = plain(table.title());
        sections.push(format!("## {title}\n\n{}", table.markdown()));
        sections.push(format!(
            "### {title}: other readings\n\n{}",
            table.with_other_readings().markdown()
        ));
    }
    sections.extend(not_shown(runs).map(|sentence| plain(&sentence) + "\n"));
    sections.join("\n")
}
