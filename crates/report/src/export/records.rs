//! Typed columns, from which CSV, JSON and Parquet are written.

use super::runs::Run;
use boostfgl_fairness::{HEADLINES, Headline, Reading};
use std::borrow::Cow;

/// Columns of the same length.
#[derive(Debug)]
pub(super) struct Records<'a> {
    pub(super) columns: Vec<Column<'a>>,
}

/// One column.
#[derive(Debug)]
pub(super) struct Column<'a> {
    pub(super) name: String,
    /// Whether every row has a value, as in columns that identify the row.
    #[cfg_attr(
        not(feature = "parquet"),
        expect(dead_code, reason = "only Parquet says so in the file")
    )]
    pub(super) required: bool,
    pub(super) cells: Cells<'a>,
}

/// The values of a column; `None` where a value is missing.
#[derive(Debug)]
pub(super) enum Cells<'a> {
    /// Names.
    Text(Vec<Option<Cow<'a, str>>>),
    /// Seeds: unsigned numbers of 64 bits.
    Seed(Vec<Option<u64>>),
    /// Counts.
    Count(Vec<Option<u64>>),
    /// Measured values.
    Number(Vec<Option<f64>>),
    /// Truth values.
    Flag(Vec<Option<bool>>),
}

impl Records<'_> {
    /// The number of rows.
    pub(super) fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| match &column.cells {
            Cells::Text(cells) => cells.len(),
            Cells::Seed(cells) | Cells::Count(cells) => cells.len(),
            Cells::Number(cells) => cells.len(),
            Cells::Flag(cells) => cells.len(),
        })
    }
}

impl<'a> Column<'a> {
    fn new(name: impl Into<String>, cells: Cells<'a>) -> Self {
        Self { name: name.into(), required: false, cells }
    }

    pub(super) fn text(name: &str, cells: impl Iterator<Item = Option<&'a str>>) -> Self {
        Self::new(name, Cells::Text(cells.map(|cell| cell.map(Cow::Borrowed)).collect()))
    }

    pub(super) fn owned(name: &str, cells: impl Iterator<Item = Option<String>>) -> Self {
        Self::new(name, Cells::Text(cells.map(|cell| cell.map(Cow::Owned)).collect()))
    }

    pub(super) fn seed(name: &str, cells: impl Iterator<Item = Option<u64>>) -> Self {
        Self::new(name, Cells::Seed(cells.collect()))
    }

    pub(super) fn count(name: &str, cells: impl Iterator<Item = Option<u64>>) -> Self {
        Self::new(name, Cells::Count(cells.collect()))
    }

    pub(super) fn number(
        name: impl Into<String>,
        cells: impl Iterator<Item = Option<f64>>,
    ) -> Self {
        Self::new(name, Cells::Number(cells.collect()))
    }

    pub(super) fn flag(name: &str, cells: impl Iterator<Item = Option<bool>>) -> Self {
        Self::new(name, Cells::Flag(cells.collect()))
    }

    /// Marks that every row has a value.
    pub(super) fn required(self) -> Self {
        Self { required: true, ..self }
    }
}

/// The columns with which every table begins.
pub(super) fn keys<'a>(runs: impl Iterator<Item = &'a Run<'a>> + Clone) -> Vec<Column<'a>> {
    vec![
        Column::text("run", runs.clone().map(|run| Some(&run.name[..]))).required(),
        Column::text("dataset", runs.clone().map(|run| run.dataset)),
        Column::text("method", runs.map(|run| Some(&run.method[..]))).required(),
    ]
}

/// Every headline metric in every reading.
pub(super) fn readings() -> impl Iterator<Item = (&'static Headline, Reading)> {
    HEADLINES.iter().flat_map(|headline| Reading::ALL.map(|reading| (headline, reading)))
}

/// The name of a column in these tables, for example `hete_f1_pooled`.
pub(super) fn column(headline: &Headline, reading: Reading) -> String {
    format!("{}_{}", headline.key, reading.name())
}
