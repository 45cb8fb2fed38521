//! `predictions.csv`: the prediction for every node.

mod reader;

pub use reader::{Predictions, SavedPrediction, SeedPredictions};

use std::path::PathBuf;

use boostfgl_graph::Role;

use crate::score_table::number;
use crate::{AtomicFile, Error, Result};

/// Streams one row per seed and node; the file gets its name when [`PredictionsWriter::finish`] is
/// called.
///
/// ```
/// use boostfgl_graph::Role;
/// use boostfgl_report::{Prediction, PredictionsWriter};
///
/// let place = tempfile::tempdir()?;
/// let path = place.path().join("predictions.csv");
/// let mut predictions = PredictionsWriter::create(&path)?;
/// predictions.write(&Prediction {
///     seed: 0,
///     node: "paper-17",
///     client: 3,
///     split: Role::Test,
///     label: Some("theory"),
///     prediction: "neural nets",
///     minority: Some(true),
///     heterophilous: Some(false),
/// })?;
/// predictions.finish()?;
/// assert_eq!(
///     std::fs::read_to_string(&path)?,
///     "seed,node,client,split,label,prediction,minority,heterophilous\n0,paper-17,3,test,theory,neural nets,1,0\n"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PredictionsWriter {
    path: PathBuf,
    /// The number of columns after the usual ones.
    more: usize,
    rows: csv::Writer<AtomicFile>,
}

/// One row.
#[derive(Clone, Copy, Debug)]
pub struct Prediction<'a> {
    /// The seed of the run.
    pub seed: u64,
    /// The name of the node in its source.
    pub node: &'a str,
    /// The client that owns it.
    pub client: u32,
    /// The part of the split it is in.
    pub split: Role,
    /// The name of its class, if known; an empty field otherwise.
    pub label: Option<&'a str>,
    /// The name of the predicted class.
    pub prediction: &'a str,
    /// Whether its class is a minority class; an empty field if it is in neither group.
    pub minority: Option<bool>,
    /// Whether it is heterophilous; `None` if no neighbour has a label, an empty field.
    pub heterophilous: Option<bool>,
}

impl PredictionsWriter {
    /// Starts the file and writes the header.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self> {
        Self::with_columns(path, &[])
    }

    /// The same with more columns after the usual ones, such as `group:region`.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn with_columns(path: impl Into<PathBuf>, more: &[String]) -> Result<Self> {
        let path = path.into();
        let rows = csv::Writer::from_writer(AtomicFile::create(&path)?);
        let mut writer = Self { rows, path, more: more.len() };
        writer.record(HEADER.into_iter().chain(more.iter().map(String::as_str)))?;
        Ok(writer)
    }

    /// Appends one row; columns that were added stay empty.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn write(&mut self, row: &Prediction<'_>) -> Result<()> {
        self.write_with(row, &vec![""; self.more])
    }

    /// Appends one row with the fields of the columns that were added.
    ///
    /// # Errors
    /// If there are not as many fields as columns, or the system refuses.
    pub fn write_with(&mut self, row: &Prediction<'_>, more: &[impl AsRef<str>]) -> Result<()> {
        if more.len() != self.more {
            let (expected, found) = (self.more, more.len());
            let reason = format!("expected {expected} fields after the usual ones, found {found}");
            return Err(Error::malformed(&self.path, reason));
        }
        let (seed, client) = (row.seed.to_string(), row.client.to_string());
        let usual = [
            seed.as_str(),
            row.node,
            client.as_str(),
            row.split.name(),
            row.label.unwrap_or_default(),
            row.prediction,
            row.minority.map_or("", flag),
            row.heterophilous.map_or("", flag),
        ];
        self.record(usual.into_iter().chain(more.iter().map(AsRef::as_ref)))
    }

    /// Completes the file and renames it to its final name.
    ///
    /// # Errors
    /// If the system refuses; then there is no file.
    pub fn finish(self) -> Result<()> {
        let Self { path, rows, .. } = self;
        let file = rows.into_inner().map_err(|error| Error::io(path, error.into_error()))?;
        Ok(file.finish()?)
    }

    fn record<'f>(&mut self, fields: impl Iterator<Item = &'f str>) -> Result<()> {
        self.rows.write_record(fields).map_err(|error| Error::io(&self.path, error.into()))
    }
}

/// The headings of the columns with the probability of the predicted class and of each class.
pub fn score_headings(classes: &[String]) -> Vec<String> {
    let each = classes.iter().map(|name| format!("p:{name}"));
    std::iter::once("probability".to_owned()).chain(each).collect()
}

/// The fields of these columns.
pub fn score_fields(probabilities: &[f32]) -> Vec<String> {
    // The predicted class is the most probable one.
    let largest = probabilities.iter().copied().reduce(f32::max);
    largest.into_iter().chain(probabilities.iter().copied()).map(number).collect()
}

fn flag(set: bool) -> &'static str {
    if set { "1" } else { "0" }
}

const HEADER: [&str; 8] =
    ["seed", "node", "client", "split", "label", "prediction", "minority", "heterophilous"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_columns_stand_after_the_usual_ones() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("predictions.csv");
        let columns = ["group:region".to_owned()];
        let mut predictions = PredictionsWriter::with_columns(&path, &columns).unwrap();
        let row = Prediction {
            seed: 0,
            node: "a",
            client: 0,
            split: Role::Test,
            label: Some("x"),
            prediction: "x",
            minority: None,
            heterophilous: None,
        };
        predictions.write_with(&row, &["north, west"]).unwrap();
        predictions.write(&row).unwrap();
        assert!(predictions.write_with(&row, &["a", "b"]).is_err(), "one field too many");
        predictions.finish().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].ends_with(",minority,heterophilous,group:region"));
        assert_eq!(lines[1..], ["0,a,0,test,x,x,,,\"north, west\"", "0,a,0,test,x,x,,,"]);
        assert_eq!(Predictions::read(&path).unwrap().seeds[0].rows.len(), 2);
        // The last field is a text: whether it is whole is known by the newline alone.
        std::fs::write(&path, &text[..text.len() - 1]).unwrap();
        let error = Predictions::read(&path).unwrap_err().to_string();
        assert!(
            error.ends_with(
                "expected a newline at the end, found none: the file may have been cut off"
            ),
            "{error}"
        );
    }

    #[test]
    fn no_file_until_finished_and_odd_names_are_quoted() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("predictions.csv");
        let mut predictions = PredictionsWriter::create(&path).unwrap();
        let row = Prediction {
            seed: 4,
            node: "a,\"b\"\nc",
            client: 0,
            split: Role::None,
            label: None,
            prediction: "x",
            minority: None,
            heterophilous: Some(true),
        };
        predictions.write(&row).unwrap();
        assert!(!path.exists());
        predictions.finish().unwrap();

        let mut reader = csv::Reader::from_path(&path).unwrap();
        assert_eq!(reader.headers().unwrap(), HEADER.as_slice());
        let rows: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().unwrap();
        assert_eq!(rows, [vec!["4", "a,\"b\"\nc", "0", "none", "", "x", "", "1"]]);
    }

    #[test]
    fn probabilities_are_further_columns_that_readers_accept() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("predictions.csv");
        let classes = ["x".to_owned(), "y,z".to_owned()];
        let mut predictions =
            PredictionsWriter::with_columns(&path, &score_headings(&classes)).unwrap();
        let row = Prediction {
            seed: 4,
            node: "a",
            client: 0,
            split: Role::None,
            label: None,
            prediction: "y,z",
            minority: None,
            heterophilous: None,
        };
        predictions.write_with(&row, &score_fields(&[0.25, 0.75])).unwrap();
        assert!(predictions.write_with(&row, &score_fields(&[0.5])).is_err());
        let mut predictions =
            PredictionsWriter::with_columns(&path, &score_headings(&classes)).unwrap();
        predictions.write_with(&row, &score_fields(&[0.25, 0.75])).unwrap();
        predictions.finish().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let header = format!("{},probability,p:x,\"p:y,z\"\n", HEADER.join(","));
        assert_eq!(text, header + "4,a,0,none,,\"y,z\",,,0.75,0.25,0.75\n");
        let read = Predictions::read(&path).unwrap();
        assert_eq!(&*read.seeds[0].rows[0].prediction, "y,z");
    }
}
