//! The results of diagnostics as tables: one file per diagnostic, numbers as mean ± standard
//! deviation over seeds.

mod attribution;
mod cost;
mod dilution;
mod epr;
mod gsd;
mod hardness;
mod khop;
mod number;
mod trust;

use boostfgl_fairness::diagnostics::{Diagnosis, DiagnosticKind};

use crate::text_table::{Line, Marked, TextTable, plain};
use crate::{DiagnosticsFile, Style, Summary};

/// The headline numbers of diagnostics over seeds, each table with a line on how to read it. The last
/// table has the time they took.
///
/// A missing value is a dash: a client without a minority node has no GSD.
///
/// ```
/// use boostfgl_fairness::diagnostics::{Cost, Diagnosis, attribution::attribute};
/// use boostfgl_report::{DiagnosticsFile, DiagnosisReport, SeedDiagnosis, Style};
///
/// let attribution = Some(attribute(&[2.0, 1.0, 1.0], &[1.5, 0.5, 0.0], &[true, false, false]));
/// let cost = vec![Cost { name: "attribution".into(), seconds: 0.5 }];
/// let found = Diagnosis { attribution, cost, ..Diagnosis::default() };
/// let diagnostics = DiagnosticsFile::new(vec![SeedDiagnosis { seed: 0, found }]);
/// let text = DiagnosisReport::new("demo, fedavg", &diagnostics).text(Style::Plain);
/// assert!(text.starts_with("demo, fedavg: whose loss did training reduce? (attribution)\n"));
/// ```
#[derive(Clone, Debug)]
pub struct DiagnosisReport<'a> {
    title: String,
    diagnostics: &'a DiagnosticsFile,
    shown: Vec<DiagnosticKind>,
    run: Option<&'a Summary>,
}

impl<'a> DiagnosisReport<'a> {
    /// Everything that was recorded; `title` names data and method.
    pub fn new(title: impl Into<String>, diagnostics: &'a DiagnosticsFile) -> Self {
        Self { title: title.into(), diagnostics, shown: diagnostics.recorded(), run: None }
    }

    /// Only these, where they were recorded.
    #[must_use]
    pub fn only(mut self, wanted: &[DiagnosticKind]) -> Self {
        self.shown.retain(|kind| wanted.contains(kind));
        self
    }

    /// With the seconds of the run next to those of the diagnostics.
    #[must_use]
    pub fn with_run(mut self, run: &'a Summary) -> Self {
        self.run = Some(run);
        self
    }

    /// As text for a terminal, ending in a newline; empty if nothing is shown.
    pub fn text(&self, style: Style) -> String {
        self.tables().iter().map(|table| table.text(style)).collect::<Vec<_>>().join("\n")
    }

    /// In Markdown, a section per table, ending in a newline; empty if nothing is shown.
    pub fn markdown(&self) -> String {
        self.tables().iter().map(section).collect::<Vec<_>>().join("\n")
    }

    fn tables(&self) -> Vec<TextTable> {
        let mut tables: Vec<TextTable> =
            self.shown.iter().flat_map(|&kind| self.tables_of(kind)).collect();
        if !self.shown.is_empty() {
            tables.push(cost::table(self));
        }
        for table in &mut tables {
            table.title = format!("{}: {}", self.title, table.title);
        }
        tables
    }

    fn tables_of(&self, kind: DiagnosticKind) -> Vec<TextTable> {
        match kind {
            DiagnosticKind::Gsd => gsd::tables(&self.found(|found| found.gsd.as_ref())),
            DiagnosticKind::Epr => epr::tables(&self.found(|found| found.epr.as_ref())),
            DiagnosticKind::Khop => khop::tables(&self.found(|found| found.khop.as_ref())),
            DiagnosticKind::Dilution => {
                dilution::tables(&self.found(|found| found.dilution.as_ref()))
            }
            DiagnosticKind::Attribution => {
                attribution::tables(&self.found(|found| found.attribution.as_ref()))
            }
            DiagnosticKind::Hardness => {
                hardness::tables(&self.found(|found| found.hardness.as_ref()))
            }
            DiagnosticKind::Trust => trust::tables(&self.found(|found| found.trust.as_ref())),
        }
    }

    /// The results of one diagnostic, seed by seed.
    fn found<T>(&self, pick: impl Fn(&'a Diagnosis) -> Option<&'a T>) -> Vec<&'a T> {
        self.diagnostics.seeds.iter().filter_map(|seed| pick(&seed.found)).collect()
    }
}

/// A table in Markdown with its title as a heading and its notes below.
fn section(table: &TextTable) -> String {
    format!(
        "### {}\n\n{}\n{}\n",
        plain(&table.title),
        table.markdown(),
        plain(&table.notes.join(" "))
    )
}

/// The title of the first table of a diagnostic.
fn question(kind: DiagnosticKind) -> String {
    format!("{} ({})", kind.question(), kind.name())
}

/// One number of every seed; `None` for seeds without the entry, such as a client.
fn per_seed<T>(seeds: &[Option<&T>], pick: impl Fn(&T) -> Option<f64>) -> Vec<Option<f64>> {
    seeds.iter().map(|entry| pick((*entry)?)).collect()
}

/// A row of unmarked cells.
fn line(label: impl Into<String>, cells: Vec<String>) -> Line {
    Line { label: label.into(), cells: vec![cells.into_iter().map(Marked::plain).collect()] }
}

fn headings(titles: &[[&str; 2]]) -> Vec<[String; 2]> {
    titles.iter().map(|title| title.map(str::to_owned)).collect()
}

fn notes(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}
