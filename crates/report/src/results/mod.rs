//! The results of an experiment: one row per dataset, method, variant and seed, small enough for a
//! repository.

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

/// The start of [`ResultRow::missing`] for a cell whose memory estimate exceeds the budget.
pub const OVER_BUDGET: &str = "over budget";

/// [`ResultRow::missing`] of a cell that was not requested.
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
    /// Datasets that were left out because they were not available.
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
    /// Whether it was a quick run with fewer rounds and seeds.
    pub quick: bool,
    /// The program's version.
    pub program: String,
    /// The commit of the source tree, if it ran in one.
    pub commit: Option<String>,
    /// Processor, cores and memory.
    pub machine: String,
}

/// The outcome of a cell, with its curve and diagnostics.
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
    /// Series of numbers, such as one per round.
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

    /// The distinct values of `key` over the rows, in order of appearance.
    pub fn distinct(&self, key: impl Fn(&ResultRow) -> String) -> Vec<String> {
        let mut values = Vec::new();
        for row in &self.rows {
            let value = key(row);
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    }

    /// Replaces the rows by those of `cells`, each with its outcome, `None` if it did not run.
    pub fn fill(&mut self, cells: Vec<(ResultRow, Option<Cause>)>) {
        let mut rows = Vec::new();
        let mut numbers = Vec::new();
        for (mut row, cause) in cells {
            numbers.push(row.set_outcome(&self.name, cause));
            rows.push(row);
        }
        // Cells may lack some numbers, so the columns are the union over all cells.
        let mut columns: Vec<String> =
            numbers.iter().flat_map(|values| values.keys().cloned()).collect();
        columns.sort_unstable();
        columns.dedup();
        for (row, values) in rows.iter_mut().zip(&numbers) {
            row.values = columns.iter().map(|name| values.get(name).copied()).collect();
        }
        self.rows = rows;
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
        let results: Self = serde_json::from_str(&text)
            .map_err(|error| Error::malformed(path, error.to_string()))?;
        let width = results.columns.len();
        if results.version > Self::VERSION {
            let (known, found) = (Self::VERSION, u64::from(results.version));
            return Err(Error::Newer { path: path.to_path_buf(), known, found });
        }
        if results.version != 1 {
            seal::check(&text).map_err(|reason| Error::malformed(path, reason))?;
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
                let known =
                    values.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?)));
                for (index, value) in known {
                    text.push_str(&format!("{head},{},{name},{index},{value}\n", row.seed));
                }
            }
        }
        text
    }
}

impl ResultRow {
    /// Sets digest, series and the reason of a missing cell from its outcome, and returns its
    /// numbers by name.
    fn set_outcome(&mut self, experiment: &str, cause: Option<Cause>) -> BTreeMap<String, f64> {
        let missing = match cause {
            Some((Outcome::Done(measured), detail)) => {
                self.digest = measured.digest.chars().take(12).collect();
                let (values, series) = distil::distil(experiment, &measured, detail.as_deref());
                self.series = series;
                return values;
            }
            Some((Outcome::Failed { message }, _)) => message,
            Some((Outcome::OverBudget { needed, .. }, _)) => {
                let gib = needed as f64 / f64::from(1 << 30);
                format!("{OVER_BUDGET} (estimate {gib:.1} GiB)")
            }
            None => NOT_RUN.to_owned(),
        };
        self.missing = Some(missing);
        BTreeMap::new()
    }
}

/// A field of CSV, in quotes if necessary.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

/// A value as one line of JSON.
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
    fn a_file_is_read_back_and_a_truncated_one_is_refused() {
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
