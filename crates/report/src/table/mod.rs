//! Several runs side by side.

mod column;
mod export;
mod text;

pub(crate) use column::{COLUMNS, Column};

use boostfgl_fairness::{GroupSizes, Percent, Scores, mean};
use column::OTHER_READINGS;

use crate::notes::NotedRun;
use crate::text_table::{Line, Mark, Marked, TextTable, marks};
use crate::{SeedDetails, SeedSummary, Summary};

/// A comparison of runs on one dataset: one row per run, one column per metric.
///
/// The headline columns are the `pooled` readings; `present` stands next to Hete-min-F1, because
/// there the pooled reading cannot reach 100. The best value of each column, as printed, is marked.
///
/// [`Table::text`] is for a terminal, [`Table::markdown`], [`Table::latex`] and [`Table::csv`] are
/// for documents, papers and spreadsheets.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    title: String,
    rows: Vec<Row>,
    cost: bool,
    other_readings: bool,
}

/// One run in a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The name of the run.
    pub label: String,
    /// The mean over seeds.
    pub mean: Percent<Scores>,
    /// The standard deviation over seeds.
    pub std: Percent<Scores>,
    /// Wall-clock seconds, mean over seeds.
    pub seconds: Option<f64>,
    /// MiB that clients sent, mean over seeds.
    pub mib_up: Option<f64>,
    /// The number of test nodes of each group, one entry per seed.
    pub groups: Vec<GroupSizes>,
    /// Per seed the reported round and the details of the run.
    pub seeds: Vec<(usize, SeedDetails)>,
}

/// How text may be decorated. Marks such as `*` are printed in both styles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Characters only: files, pipes, terminals without colour.
    #[default]
    Plain,
    /// With ANSI escape codes.
    Colour,
}

impl From<&Summary> for Row {
    fn from(summary: &Summary) -> Self {
        Self {
            label: summary.called_alone(),
            mean: summary.mean.clone(),
            std: summary.std.clone(),
            seconds: mean_over_seeds(summary, |seed| seed.seconds),
            mib_up: mean_over_seeds(summary, |seed| seed.bytes_up as f64 / f64::from(1 << 20)),
            groups: summary.seeds.iter().map(|seed| seed.groups).collect(),
            seeds: summary.seeds.iter().map(|seed| (seed.round, seed.details.clone())).collect(),
        }
    }
}

fn mean_over_seeds(summary: &Summary, value: fn(&SeedSummary) -> f64) -> Option<f64> {
    let values: Vec<f64> = summary.seeds.iter().map(value).collect();
    mean(&values)
}

impl Row {
    fn noted_run(&self) -> NotedRun<'_> {
        NotedRun {
            label: &self.label,
            seeds: self.seeds.iter().map(|(round, details)| (*round, details)).collect(),
        }
    }

    /// Rounds × epochs of training.
    fn budget(&self) -> Option<String> {
        self.noted_run().budget()
    }
}

impl Table {
    /// A table of `rows` under `title`.
    pub fn new(title: impl Into<String>, rows: Vec<Row>) -> Self {
        Self { title: title.into(), rows, cost: false, other_readings: false }
    }

    /// One table per dataset, in order of appearance.
    pub fn by_dataset(runs: &[Summary]) -> Vec<Self> {
        let mut tables: Vec<Self> = Vec::new();
        for (run, label) in runs.iter().zip(crate::name::distinct_labels(runs)) {
            let row = Row { label, ..Row::from(run) };
            match tables.iter_mut().find(|table| table.title == run.dataset) {
                Some(table) => table.rows.push(row),
                None => tables.push(Self::new(&run.dataset, vec![row])),
            }
        }
        tables
    }

    /// The same with or without the columns for time and traffic.
    pub fn with_cost(mut self, cost: bool) -> Self {
        self.cost = cost;
        self
    }

    /// The same runs with the readings that are not the headline, without costs.
    #[must_use]
    pub fn with_other_readings(mut self) -> Self {
        (self.other_readings, self.cost) = (true, false);
        self
    }

    /// The title: the dataset.
    pub fn title(&self) -> &str {
        &self.title
    }

    fn columns(&self) -> impl Iterator<Item = &'static Column> + Clone {
        let cost = self.cost;
        // Summaries of earlier versions have no training budget.
        let budget = self.rows.iter().any(|row| row.budget().is_some());
        let columns: &[Column] = if self.other_readings { &OTHER_READINGS } else { &COLUMNS };
        columns
            .iter()
            .filter(move |column| (cost || !column.is_cost()) && (budget || !column.is_text()))
    }

    /// The table as headings and marked text; `second` marks the second best of each column.
    fn table(&self, second: bool) -> TextTable {
        let marked: Vec<(&Column, Vec<Mark>)> =
            self.columns().map(|column| (column, self.marks(column))).collect();
        let mut rows = Vec::with_capacity(self.rows.len());
        for (at, row) in self.rows.iter().enumerate() {
            let mut cells = Vec::with_capacity(marked.len());
            for (column, marks) in &marked {
                let mark = match marks[at] {
                    Mark::Second if !second => Mark::Plain,
                    mark => mark,
                };
                cells.push(Marked { text: Self::cell(column, row), mark });
            }
            rows.push(Line { label: row.label.clone(), cells: vec![cells] });
        }
        TextTable {
            title: self.title.clone(),
            labels: "Method",
            columns: self
                .columns()
                .map(|column| [column.title.to_owned(), column.unit.to_owned()])
                .collect(),
            rows,
            notes: self.notes(),
        }
    }

    /// The text of a cell, without marks.
    fn cell(column: &Column, row: &Row) -> String {
        match (column.printed(row), column.std(row)) {
            _ if column.is_text() => row.budget().unwrap_or_else(|| "–".to_owned()),
            (None, _) if column.is_cost() => "–".to_owned(),
            (None, _) => "no such node".to_owned(),
            (Some(cost), _) if column.is_cost() => cost,
            (Some(mean), None) => format!("{mean} ± –"),
            (Some(mean), Some(std)) => format!("{mean} ± {std:.1}"),
        }
    }

    /// Per row, whether its value is the best or the second of the column, as printed.
    fn marks(&self, column: &Column) -> Vec<Mark> {
        let sign = if column.is_cost() { -1.0 } else { 1.0 };
        let mut values = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            // A model that predicts one class for every node is not ranked, however good a single
            // metric looks.
            let ranked = column.is_cost() || !row.noted_run().collapsed();
            let printed = column.printed(row).filter(|_| ranked);
            let value = printed.and_then(|text| text.parse::<f64>().ok());
            values.push(value.map(|value| sign * value));
        }
        marks(&values)
    }

    /// `5 seeds`, or `3–5 seeds` if runs differ.
    fn seeds(&self) -> String {
        let counts = self.rows.iter().map(|row| row.groups.len());
        let unit = if counts.clone().max() == Some(1) { "seed" } else { "seeds" };
        format!("{} {unit}", range(counts))
    }

    /// The number of test nodes of each group, in words.
    fn sizes(&self) -> [String; 3] {
        let groups = self.rows.iter().flat_map(|row| &row.groups);
        [
            format!("{} in all", range(groups.clone().map(|group| group.all))),
            format!("{} heterophilous", range(groups.clone().map(|group| group.heterophilous))),
            format!("{} minority and heterophilous", range(groups.map(|group| group.hete_min))),
        ]
    }
}

/// `7`, or `5–7` if values differ, with separators of thousands: `1,083`.
pub(crate) fn range(values: impl Iterator<Item = usize> + Clone) -> String {
    match (values.clone().min(), values.max()) {
        (Some(least), Some(most)) if least < most => {
            format!("{}–{}", thousands(least), thousands(most))
        }
        (least, _) => thousands(least.unwrap_or(0)),
    }
}

fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_separators_of_thousands() {
        assert_eq!([0, 999, 1083, 2_449_029].map(thousands), ["0", "999", "1,083", "2,449,029"]);
        assert_eq!(range([3, 5, 4].into_iter()), "3–5");
        assert_eq!(range(std::iter::empty()), "0");
    }
}
