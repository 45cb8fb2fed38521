//! Methods by datasets in one table, as papers print it.

use super::Comparison;
use super::analysis::metrics;
use super::tables::score;
use crate::table::Column;
use crate::text_table::{Line, Marked, TextTable, emphasised, escape, marks};
use crate::{Error, Result};
use boostfgl_fairness::HEADLINES;
use std::fmt::Write as _;

/// The metrics of a table of methods by datasets, by their keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metrics(Vec<&'static str>);

impl Default for Metrics {
    fn default() -> Self {
        // The score on all nodes, and on the most disadvantaged group.
        Self(vec![HEADLINES.accuracy.key, HEADLINES.hete_min_f1.key])
    }
}

impl Metrics {
    /// Reads a list such as `accuracy,hete_f1`, or `all`. Their order is that of the list.
    ///
    /// ```
    /// use boostfgl_report::Metrics;
    ///
    /// assert!(Metrics::parse("hete_f1, accuracy").is_ok());
    /// let error = Metrics::parse("acuracy").unwrap_err().to_string();
    /// assert!(error.starts_with("unknown metric `acuracy` (did you mean `accuracy`?); there are accuracy,"));
    /// ```
    ///
    /// # Errors
    /// If a name is unknown; the nearest is suggested.
    pub fn parse(list: &str) -> Result<Self> {
        let known = Self::known();
        let mut found: Vec<&'static str> = Vec::new();
        for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let named: Vec<&'static str> =
                known.iter().copied().filter(|key| name == "all" || *key == name).collect();
            if named.is_empty() {
                return Err(Error::unknown("metric", name, &known));
            }
            let new = named.into_iter().filter(|key| !found.contains(key)).collect::<Vec<_>>();
            found.extend(new);
        }
        Ok(if found.is_empty() { Self::default() } else { Self(found) })
    }

    /// Every metric that can be shown, by its key.
    pub fn known() -> Vec<&'static str> {
        metrics().map(|column| column.key).collect()
    }

    /// The keys of these metrics.
    pub fn keys(&self) -> &[&'static str] {
        &self.0
    }

    fn columns(&self) -> Vec<&'static Column> {
        self.0.iter().filter_map(|key| metrics().find(|column| column.key == *key)).collect()
    }
}

impl Comparison {
    /// Methods by datasets in LaTeX, for the package booktabs: under every dataset the metrics,
    /// mean ± standard deviation, the best of each column in bold and the second underlined.
    pub fn grid_latex(&self, metrics: &Metrics) -> String {
        let table = self.grid(metrics);
        let (width, datasets) = (metrics.0.len(), &self.datasets);
        let caption = format!(
            "Methods by datasets: mean ± standard deviation over {}, in percent; best in bold, \
             second underlined.",
            seeds(self.seeds.len())
        );
        let mut text = format!(
            "\\begin{{table*}}\n  \\centering\n  \\caption{{{}}}\n  \\begin{{tabular}}{{l{}}}\n    \\toprule\n   ",
            escape(&caption),
            "r".repeat(table.columns.len())
        );
        for block in datasets {
            let _ = write!(text, " & \\multicolumn{{{width}}}{{c}}{{{}}}", escape(&block.name));
        }
        text.push_str(" \\\\\n   ");
        for at in 0..datasets.len() {
            let _ = write!(text, " \\cmidrule(lr){{{}-{}}}", 2 + at * width, 1 + (at + 1) * width);
        }
        let _ = write!(text, "\n    {}", table.labels);
        for [_, metric] in &table.columns {
            let _ = write!(text, " & {}", escape(metric));
        }
        text.push_str(" \\\\\n    \\midrule\n");
        for row in &table.rows {
            let cells: String =
                row.cells[0].iter().map(|cell| format!(" & {}", emphasised(cell))).collect();
            let _ = writeln!(text, "    {}{cells} \\\\", escape(&row.label));
        }
        text.push_str("    \\bottomrule\n  \\end{tabular}\n\\end{table*}\n");
        text
    }

    /// Methods by datasets in Markdown, without a heading.
    pub fn grid_markdown(&self, metrics: &Metrics) -> String {
        self.grid(metrics).markdown()
    }

    /// One row per method, one column per dataset and metric.
    fn grid(&self, metrics: &Metrics) -> TextTable {
        let mut rows: Vec<Line> = self
            .methods
            .iter()
            .map(|method| Line { label: method.label.clone(), cells: vec![Vec::new()] })
            .collect();
        let mut columns = Vec::new();
        for block in &self.datasets {
            for column in metrics.columns() {
                columns.push([block.name.clone(), heading(column)]);
                let ranked: Vec<Option<f64>> =
                    block.rows.iter().map(|row| row.ranked_mean(column)).collect();
                for ((line, row), mark) in rows.iter_mut().zip(&block.rows).zip(marks(&ranked)) {
                    let text = row.state(0).unwrap_or_else(|| score(&row.metric(column)));
                    line.cells[0].push(Marked { text, mark });
                }
            }
        }
        let title = format!("Methods by datasets: {}", seeds(self.seeds.len()));
        TextTable { title, labels: "Method", columns, rows, notes: Vec::new() }
    }
}

/// `Accuracy`, or `Hete-min-F1 (present)` for a reading other than the pooled one.
fn heading(column: &Column) -> String {
    if column.unit == "pooled" {
        column.title.to_owned()
    } else {
        format!("{} ({})", column.title, column.unit)
    }
}

fn seeds(count: usize) -> String {
    format!("{count} seed{}", if count == 1 { "" } else { "s" })
}
