//! A comparison as text for a terminal, in Markdown and in LaTeX.

use std::collections::BTreeSet;

use super::tables::size;
use super::{Block, BlockRow, Comparison, Metrics, Outcome};
use crate::Style;
use crate::notes;
use crate::text_table::{TextTable, escape};

impl Comparison {
    /// For a terminal: per dataset the scores, the differences to the base and the costs; then all
    /// datasets together.
    pub fn text(&self, style: Style) -> String {
        let mut text: Vec<String> = Vec::new();
        for block in &self.datasets {
            let tables = [
                Some(self.scores(block)),
                self.choices(block),
                self.other_round(block),
                Some(self.differences(block)),
                Some(self.costs(block)),
            ];
            text.extend(tables.into_iter().flatten().map(|table| table.text(style)));
        }
        text.extend(self.pooled.iter().map(|block| self.differences(block).text(style)));
        text.push(self.notes().join("\n") + "\n");
        text.join("\n")
    }

    /// In Markdown, a section per dataset.
    pub fn markdown(&self) -> String {
        self.markdown_with(&Metrics::default())
    }

    /// The same with these metrics in the table of methods by datasets.
    pub fn markdown_with(&self, metrics: &Metrics) -> String {
        let mut text = match &self.datasets[..] {
            [_] => String::new(),
            _ => format!("## Methods by datasets\n\n{}\n", self.grid_markdown(metrics)),
        };
        for block in &self.datasets {
            text.push_str(&section("##", &self.scores(block)));
            text.push_str(&markdown_notes(block));
            for table in self.choices(block).into_iter().chain(self.other_round(block)) {
                text.push_str(&section("###", &table));
            }
            text.push_str(&section("###", &self.differences(block)));
            text.push_str(&section("###", &self.costs(block)));
        }
        if let Some(block) = &self.pooled {
            text.push_str(&section("##", &self.differences(block)));
        }
        text.push_str(&self.notes().join(" "));
        text.push('\n');
        text
    }

    /// In LaTeX, for the package booktabs: methods by datasets first, then a table of scores, of
    /// differences and of costs per dataset.
    pub fn latex(&self) -> String {
        self.latex_with(&Metrics::default())
    }

    /// The same with these metrics in the table of methods by datasets.
    pub fn latex_with(&self, metrics: &Metrics) -> String {
        let mut text = format!("% \\usepackage{{booktabs}}\n{}", self.grid_latex(metrics));
        let over = format!("mean ± standard deviation over {} seeds, in percent", self.seeds.len());
        for block in &self.datasets {
            let scores = self.scores(block);
            text.push_str(
                &scores.latex(&format!("{}: {over}; best in bold, second underlined.", block.name)),
            );
            let other = self.choices(block).into_iter().chain(self.other_round(block));
            for table in other.into_iter().chain([self.differences(block), self.costs(block)]) {
                text.push_str(&table.latex(&format!("{}.", table.title)));
            }
        }
        if let Some(block) = &self.pooled {
            let table = self.differences(block);
            text.push_str(&table.latex(&format!("{}.", table.title)));
        }
        for note in self.notes() {
            text.push_str(&format!("% {}\n", escape(&note)));
        }
        text
    }

    /// Notes on all datasets, for the end of the document.
    fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            "Every method ran on the same partition, split and seed; differences are between such \
             pairs."
                .to_owned(),
        ];
        notes.extend(self.budget_notes());
        if !self.varied.is_none() {
            notes.push(format!(
                "Varied: {}. Every value is a row; a method that a key has no effect on has one row.",
                self.varied.keys.join(", ")
            ));
        }
        let evaluated: BTreeSet<&str> = self.methods.iter().map(|m| m.evaluated.as_str()).collect();
        if evaluated.len() > 1 {
            notes.push(
                "Methods differ in which model is evaluated (see cost): this alone moves scores by \
                 points."
                    .to_owned(),
            );
        }
        for block in &self.datasets {
            notes.extend(block.cost_of_federating());
            for row in &block.rows {
                notes.extend(row.over_budget().map(|needed| {
                    format!(
                        "{} on {}: over budget (estimate {}).",
                        row.label,
                        block.name,
                        size(needed as f64)
                    )
                }));
            }
        }
        for (dataset, label, seed, message) in self.failures() {
            notes.push(format!(
                "{label} on {dataset}, seed {seed}, failed and is left out: {message}."
            ));
        }
        notes
    }
}

/// A table in Markdown under its title as a heading.
fn section(level: &str, table: &TextTable) -> String {
    format!("{level} {}\n\n{}\n", table.title.replace(['\n', '\r'], " "), table.markdown())
}

/// Split, minority classes, round and warnings of the runs of a block, in Markdown.
fn markdown_notes(block: &Block) -> String {
    let runs = block.noted_runs();
    let about = notes::about(&runs);
    let mut text: String =
        about.iter().map(|(name, parts)| format!("{name}: {}.\n", parts.join(", "))).collect();
    for warning in notes::warned(&runs) {
        text.push_str(&format!("\n**Warning** {warning}\n"));
    }
    if let Some(note) = notes::not_ranked(&runs) {
        text.push_str(&format!("\n**Not ranked** {note}\n"));
    }
    text.push('\n');
    text
}

impl BlockRow {
    /// The memory estimate of a method that was over budget, in bytes.
    fn over_budget(&self) -> Option<u64> {
        self.cells.iter().find_map(|cell| match cell.outcome {
            Outcome::OverBudget { needed, .. } => Some(needed),
            _ => None,
        })
    }
}
