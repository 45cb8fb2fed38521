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
        Self::create_scored(path, &[])
    }

    /// Starts a file with the probability of the predicted class and of each of these classes, in
    /// the columns `probability` and `p:CLASS`; without classes it has none of them.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn create_scored(path: impl Into<PathBuf>, classes: &[String]) -> Result<Self> {
        let path = path.into();
        let mut writer = Self { rows: csv::Writer::from_writer(AtomicFile::create(&path)?), path };
        let probability = classes.first().map(|_| "probability".to_owned());
        let further = probability.into_iter().chain(classes.iter().map(|name| format!("p:{name}")));
        writer.record(HEADER, further)?;
        Ok(writer)
    }

    /// Appends one row.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn write(&mut self, row: &Prediction<'_>) -> Result<()> {
        self.write_scored(row, &[])
    }

    /// Appends one row with the probability of every class, in a file that has columns for them.
    ///
    /// # Errors
    /// If the system refuses, or there are not as many as columns.
    pub fn write_scored(&mut self, row: &Prediction<'_>, probabilities: &[f32]) -> Result<()> {
        let (seed, client) = (row.seed.to_string(), row.client.to_string());
        let fields = [
            seed.as_str(),
            row.node,
            client.as_str(),
            row.split.name(),
            row.label.unwrap_or_default(),
            row.prediction,
            row.minority.map_or("", flag),
            row.heterophilous.map_or("", flag),
        ];
        // The predicted class is the most probable one.
        let largest = probabilities.iter().copied().reduce(f32::max);
        self.record(fields, largest.into_iter().chain(probabilities.iter().copied()).map(number))
    }

    /// Completes the file and renames it to its final name.
    ///
    /// # Errors
    /// If the system refuses; then there is no file.
    pub fn finish(self) -> Result<()> {
        let Self { path, rows } = self;
        let file = rows.into_inner().map_err(|error| Error::io(path, error.into_error()))?;
        Ok(file.finish()?)
    }

    fn record(&mut self, fields: [&str; 8], further: impl Iterator<Item = String>) -> Result<()> {
        let Self { path, rows } = self;
        let mut written = fields.iter().try_for_each(|field| rows.write_field(field));
        for field in further {
            written = written.and_then(|()| rows.write_field(field));
        }
        // Ends the record.
        let written = written.and_then(|()| rows.write_record(None::<&[u8]>));
        written.map_err(|error| Error::io(path, error.into()))
    }
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
        let mut predictions = PredictionsWriter::create_scored(&path, &classes).unwrap();
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
        predictions.write_scored(&row, &[0.25, 0.75]).unwrap();
        assert!(predictions.write_scored(&row, &[0.5]).is_err());
        let mut predictions = PredictionsWriter::create_scored(&path, &classes).unwrap();
        predictions.write_scored(&row, &[0.25, 0.75]).unwrap();
        predictions.finish().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let header = format!("{},probability,p:x,\"p:y,z\"\n", HEADER.join(","));
        assert_eq!(text, header + "4,a,0,none,,\"y,z\",,,0.75,0.25,0.75\n");
        let read = Predictions::read(&path).unwrap();
        assert_eq!(&*read.seeds[0].rows[0].prediction, "y,z");
    }
}
