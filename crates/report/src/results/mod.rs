//! What an experiment measured: one row per dataset, method, variant and seed, small enough to keep
//! in a repository.

mod comparisons;
mod detail;
mod distil;
mod runs;
mod seal;

pub use detail::{Detail, Hardest, Point};
pub use distil::{BINS, RATIOS};

use crate::{Error, Outcome, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// How the reason of a cell begins that did not run because it would need more memory than it may
/// use.
pub const OVER_BUDGET: &str = "over budget";

/// The reason of a cell that was not asked to run.
pub const NOT_RUN: &str = "not run";

/// The outcome of one experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// The version of this format: [`Results::VERSION`].
    pub version: u32,
    /// The experiment.
    pub name: String,
    /// Where and how it was measured.
    pub origin: Origin,
    /// Datasets that were left out because they were not there.
    pub left_out: Vec<String>,
    /// The names of the numbers in each row.
    pub columns: Vec<String>,
    /// One per dataset, method, variant and seed.
    pub rows: Vec<ResultRow>,
}

/// Where and how results were measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The command that made them.
    pub command: String,
    /// Whether it was a first look.
    pub quick: bool,
    /// The program's version.
    pub program: String,
    /// The commit of the source in whose folder it ran, if it did.
    pub commit: Option<String>,
    /// Processor, cores and memory.
    pub machine: String,
}

/// What became of a cell, and how it came about.
pub type Cause = (Outcome, Option<Box<Detail>>);

/// One cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResultRow {
    /// The sweep; empty without one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sweep: String,
    /// The dataset.
    pub dataset: String,
    /// The method with its boosts, as tables name it.
    pub method: String,
    /// The varied settings.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub varied: BTreeMap<String, String>,
    /// The seed.
    pub seed: u64,
    /// The first digits of the digest of its parameters and predictions; empty if it did not run.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// Why there are no numbers, if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// The numbers, as [`Results::columns`] names them.
    pub values: Vec<Option<f64>>,
    /// Numbers that come in rows, such as one per round.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub series: BTreeMap<String, Vec<Option<f64>>>,
}

impl Results {
    /// The version of the format that this program writes, and the newest it reads. Since version 2
    /// a file ends in a checksum.
    pub const VERSION: u32 = 2;

    /// The number called `column` of a row.
    pub fn value(&self, row: &ResultRow, column: &str) -> Option<f64> {
        let at = self.columns.iter().position(|name| name == column)?;
        row.values.get(at).copied().flatten()
    }

    /// The rows of a method, in order.
    pub fn of_method<'a>(&'a self, method: &'a str) -> impl Iterator<Item = &'a ResultRow> {
        self.rows.iter().filter(move |row| row.method == method)
    }

    /// What occurs in the rows, each once, in order.
    pub fn distinct(&self, key: impl Fn(&ResultRow) -> String) -> Vec<String> {
        let mut found = Vec::new();
        for row in &self.rows {
            let value = key(row);
            if !found.contains(&value) {
                found.push(value);
            }
        }
        found
    }

    /// Puts the numbers of cells into rows: what became of each and how it came about, `None` if it
    /// did not run.
    pub fn fill(&mut self, cells: Vec<(ResultRow, Option<Cause>)>) {
        let mut numbers = Vec::new();
        for (mut row, finished) in cells {
            let found = match finished {
                Some((Outcome::Done(measured), detail)) => {
                    row.digest = measured.digest.chars().take(12).collect();
                    let (values, series) = distil::distil(&self.name, &measured, detail.as_deref());
                    row.series = series;
                    values
                }
                Some((Outcome::Failed { message }, _)) => {
                    row.missing = Some(message);
                    BTreeMap::new()
                }
                Some((Outcome::OverBudget { needed, .. }, _)) => {
                    row.missing = Some(format!(
                        "{OVER_BUDGET} (estimate {:.1} GiB)",
                        needed as f64 / f64::from(1 << 30)
                    ));
                    BTreeMap::new()
                }
                None => {
                    row.missing = Some(NOT_RUN.to_owned());
                    BTreeMap::new()
                }
            };
            numbers.push((row, found));
        }
        let mut columns: Vec<String> =
            numbers.iter().flat_map(|(_, found)| found.keys().cloned()).collect();
        columns.sort_unstable();
        columns.dedup();
        let row = |(mut row, found): (ResultRow, BTreeMap<String, f64>)| {
            row.values = columns.iter().map(|name| found.get(name).copied()).collect();
            row
        };
        self.rows = numbers.into_iter().map(row).collect();
        self.columns = columns;
    }

    /// The file's text: one line per row, so that changes are easy to see, and a checksum of all of
    /// them.
    pub fn to_json(&self) -> String {
        let rows: Vec<String> = self.rows.iter().map(line).collect();
        seal::sealed(&format!(
            "{{\n\"version\": {},\n\"name\": {},\n\"origin\": {},\n\"left_out\": \
             {},\n\"columns\": {},\n\"rows\": [\n{}\n],\n",
            Self::VERSION,
            line(&self.name),
            line(&self.origin),
            line(&self.left_out),
            line(&self.columns),
            rows.join(",\n")
        ))
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, is cut off, was changed, or has a newer version.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|source| Error::io(path, source))?;
        let malformed = |reason: String| Error::malformed(path, reason);
        let results: Self =
            serde_json::from_str(&text).map_err(|error| malformed(error.to_string()))?;
        let width = results.columns.len();
        if results.version > Self::VERSION {
            let (known, found) = (Self::VERSION, u64::from(results.version));
            return Err(Error::Newer { path: path.to_path_buf(), known, found });
        }
        if results.version != 1 {
            seal::check(&text).map_err(malformed)?;
        }
        if let Some(row) = results.rows.iter().find(|row| row.values.len() != width) {
            let reason =
                format!("expected {width} numbers in every row, found {}", row.values.len());
            return Err(Error::malformed(path, reason));
        }
        Ok(results)
    }

    /// One record per row and number: dataset, method, settings, seed, name, place in its series,
    /// value.
    pub fn csv(&self) -> String {
        let mut text = String::from("sweep,dataset,method,varied,seed,name,index,value\n");
        for row in &self.rows {
            let varied: Vec<String> =
                row.varied.iter().map(|(key, value)| format!("{key}={value}")).collect();
            let head = [&row.sweep, &row.dataset, &row.method, &varied.join(" ")]
                .map(|field| quoted(field))
                .join(",");
            for (name, value) in self.columns.iter().zip(&row.values) {
                if let Some(value) = value {
                    text.push_str(&format!("{head},{},{name},,{value}\n", row.seed));
                }
            }
            for (name, values) in &row.series {
                for (index, value) in values.iter().enumerate() {
                    if let Some(value) = value {
                        text.push_str(&format!("{head},{},{name},{index},{value}\n", row.seed));
                    }
                }
            }
        }
        text
    }
}

/// A field that may hold a comma.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

/// Anything as one line of JSON.
fn line(value: &impl Serialize) -> String {
    // Numbers, strings and structures of them.
    serde_json::to_string(value).expect("results are representable as JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results() -> Results {
        let row = ResultRow {
            dataset: "cora".into(),
            method: "fedavg + node,model".into(),
            varied: BTreeMap::from([("lambda_n".into(), "0.5".into())]),
            seed: 3,
            values: vec![Some(81.25), None],
            series: BTreeMap::from([("gsd".into(), vec![Some(1.5), None, Some(1.25)])]),
            ..ResultRow::default()
        };
        Results {
            version: Results::VERSION,
            name: "gsd".into(),
            origin: Origin::default(),
            left_out: vec!["ogbn-arxiv".into()],
            columns: vec!["accuracy".into(), "gsd.last".into()],
            rows: vec![row],
        }
    }

    #[test]
    fn a_file_comes_back_as_it_was_and_a_cut_one_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("gsd.json");
        let text = results().to_json();
        std::fs::write(&path, &text).unwrap();
        assert_eq!(Results::read(&path).unwrap(), results());
        for cut in [0, 1, text.len() / 2, text.len() - 4] {
            std::fs::write(&path, &text[..cut]).unwrap();
            let error = Results::read(&path).unwrap_err().to_string();
            assert!(error.contains("gsd.json"), "{error}");
        }
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Results::read(&path).unwrap_err().to_string()
        };
        let error = read(&text.replace("81.25", "81.26"));
        assert!(error.ends_with("found other: the file was changed"), "{error}");
        let first = text.replace("\"version\": 2", "\"version\": 1");
        let error = read(&first.replace("[81.25,null]", "[81.25]"));
        assert!(error.ends_with("expected 2 numbers in every row, found 1"), "{error}");
        assert!(read(&text.replace("\"version\": 2", "\"version\": 3")).contains("version"));
        // The first version had no checksum.
        std::fs::write(
            &path,
            first.split(",\n\"checksum").next().unwrap_or_default().to_owned() + "\n}\n",
        )
        .unwrap();
        assert_eq!(Results::read(&path).unwrap(), Results { version: 1, ..results() });
    }

    #[test]
    fn every_number_is_a_record() {
        let csv = results().csv();
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines.len(), 1 + 1 + 2);
        assert_eq!(lines[1], ",cora,\"fedavg + node,model\",lambda_n=0.5,3,accuracy,,81.25");
        assert_eq!(lines[3], ",cora,\"fedavg + node,model\",lambda_n=0.5,3,gsd,2,1.25");
    }
}
