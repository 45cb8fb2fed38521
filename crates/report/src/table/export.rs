//! The table of runs as Markdown, LaTeX and CSV.

use std::fmt::Write as _;

use super::{Row, Table};
use crate::notes::{self, NotedRun};
use crate::text_table::{csv_line, plain};

impl Table {
    /// The table in Markdown, the best of each column in bold, ending in a newline.
    pub fn markdown(&self) -> String {
        let mut text = self.table(false).markdown();
        let _ = write!(
            text,
            "\nPercent on the test nodes of {}, mean ± standard deviation over {}. Test nodes: \
             {}.\n",
            plain(&self.title),
            self.seeds(),
            self.sizes().join(", ")
        );
        let runs: Vec<NotedRun<'_>> = self.rows.iter().map(Row::noted_run).collect();
        for (name, parts) in notes::about(&runs) {
            let _ = writeln!(text, "{name}: {}.", parts.join(", "));
        }
        for warning in notes::warned(&runs) {
            let _ = writeln!(text, "\n**Warning** {warning}");
        }
        text
    }

    /// The table in LaTeX for the package booktabs, the best of each column in bold and the second
    /// underlined, ending in a newline.
    pub fn latex(&self) -> String {
        let over =
            format!("percent on the test nodes, mean ± standard deviation over {}", self.seeds());
        let readings = if self.other_readings { ", other readings" } else { "" };
        self.table(true)
            .latex(&format!("{}{readings}: {over}; best in bold, second underlined.", self.title))
    }

    /// The table as CSV with every digit: `dataset,method,seeds`, then `<metric>_mean` and
    /// `<metric>_std` of each metric, then costs. A group without nodes, and the spread of one
    /// seed, are empty fields.
    pub fn csv(&self) -> String {
        let mut header: Vec<String> = ["dataset", "method", "seeds"].map(str::to_owned).to_vec();
        for column in self.columns() {
            if column.is_cost() {
                header.push(column.key.to_owned());
            } else {
                header.extend([format!("{}_mean", column.key), format!("{}_std", column.key)]);
            }
        }
        let mut text = csv_line(&header);
        for row in &self.rows {
            let mut fields =
                vec![self.title.clone(), row.label.clone(), row.groups.len().to_string()];
            for column in self.columns() {
                fields.push(match column.is_text() {
                    true => row.budget().unwrap_or_default(),
                    false => number(column.mean(row)),
                });
                if !column.is_cost() {
                    fields.push(number(column.std(row)));
                }
            }
            text.push_str(&csv_line(&fields));
        }
        text
    }
}

/// A number with every digit; an empty field without a value.
fn number(value: Option<f64>) -> String {
    value.map(|x| x.to_string()).unwrap_or_default()
}
