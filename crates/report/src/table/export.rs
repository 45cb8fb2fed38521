//! The same table for documents and spreadsheets.

use std::fmt::Write as _;

use super::text::plain;
use super::{Column, Table};

impl Table {
    /// The table in Markdown, the best of each column in bold, ending in a newline.
    pub fn markdown(&self) -> String {
        let mut text = String::from("| Method |");
        for column in self.columns() {
            let _ = write!(text, " {} ({}) |", column.title, column.unit);
        }
        text.push_str("\n|:--|");
        text.push_str(&"--:|".repeat(self.columns().count()));
        let best: Vec<(&Column, Vec<bool>)> = self.columns().map(|column| (column, self.best(column))).collect();
        for (at, row) in self.rows.iter().enumerate() {
            let _ = write!(text, "\n| {} |", plain(&row.label).replace('|', "\\|"));
            for (column, best) in &best {
                let mark = if best[at] { "**" } else { "" };
                let _ = write!(text, " {mark}{}{mark} |", Self::cell(column, row));
            }
        }
        let _ = write!(
            text,
            "\n\nPercent on the test nodes of {}, mean ± standard deviation over {}. Test nodes: {}.\n",
            plain(&self.title),
            self.seeds(),
            self.sizes().join(", ")
        );
        text
    }

    /// The table as CSV with every digit: `dataset,method,seeds`, then `<metric>_mean` and `<metric>_std` of each
    /// metric, then costs. A group without nodes, and the spread of one seed, are empty fields.
    pub fn csv(&self) -> String {
        let mut header: Vec<String> = ["dataset", "method", "seeds"].map(str::to_owned).to_vec();
        for column in self.columns() {
            if column.cost {
                header.push(column.key.to_owned());
            } else {
                header.extend([format!("{}_mean", column.key), format!("{}_std", column.key)]);
            }
        }
        let mut text = csv_line(&header);
        for row in &self.rows {
            let mut fields = vec![self.title.clone(), row.label.clone(), row.groups.len().to_string()];
            for column in self.columns() {
                let value = (column.value)(row);
                let field = |number: Option<f64>| number.map(|x| x.to_string()).unwrap_or_default();
                fields.push(field(value.mean));
                if !column.cost {
                    fields.push(field(value.std));
                }
            }
            text.push_str(&csv_line(&fields));
        }
        text
    }
}

/// One record with its newline; fields with commas, quotes or line breaks are quoted. Written out here because a
/// general writer returns errors that cannot happen in memory.
fn csv_line(fields: &[String]) -> String {
    let quote = |field: &String| {
        if field.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            field.clone()
        }
    };
    let fields: Vec<String> = fields.iter().map(quote).collect();
    fields.join(",") + "\n"
}
