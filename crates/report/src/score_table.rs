//! What a model predicts for nodes: a row each, with the probability of every class.

use crate::export::scores;
use crate::{AtomicFile, Error, Result};
use std::io;
use std::path::Path;

/// Predictions with the probability of every class, as the columns `node`, `prediction`,
/// `probability` (of the predicted class), then `p:CLASS` for every class and, with logits,
/// `logit:CLASS`.
///
/// ```
/// use boostfgl_report::ScoreTable;
///
/// let (nodes, classes) = (["anna".to_owned()], ["no".to_owned(), "yes".to_owned()]);
/// let probabilities = vec![0.25, 0.75];
/// let table = ScoreTable { nodes: &nodes, classes: &classes, predicted: &[1], probabilities, logits: None };
/// let mut text = Vec::new();
/// table.write_csv(&mut text)?;
/// assert_eq!(text, b"node,prediction,probability,p:no,p:yes\nanna,yes,0.75,0.25,0.75\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreTable<'a> {
    /// The names of the nodes.
    pub nodes: &'a [String],
    /// The names of the classes.
    pub classes: &'a [String],
    /// The number of the predicted class of each node.
    pub predicted: &'a [u32],
    /// The probability of every class, node by node.
    pub probabilities: Vec<f32>,
    /// The outputs of the network, node by node, if they are wanted.
    pub logits: Option<Vec<f32>>,
}

/// The format of a file of predictions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoreFormat {
    /// Comma-separated values. Numbers are the shortest that give the same bits.
    Csv,
    /// Typed columns; needs the feature `parquet`.
    Parquet,
}

impl ScoreFormat {
    /// The format of that name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "csv" => Some(Self::Csv),
            "parquet" => Some(Self::Parquet),
            _ => None,
        }
    }

    /// The format that the ending of a file asks for.
    pub fn of_file(path: &Path) -> Self {
        match path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("parquet")) {
            true => Self::Parquet,
            false => Self::Csv,
        }
    }
}

impl ScoreTable<'_> {
    /// The probability of the predicted class of a node.
    pub(crate) fn probability(&self, v: usize) -> f32 {
        self.probabilities[v * self.classes.len() + self.predicted[v] as usize]
    }

    /// Writes the table as CSV.
    ///
    /// # Errors
    /// If `to` refuses.
    pub fn write_csv(&self, to: impl io::Write) -> io::Result<()> {
        self.rows(to).map_err(|error| match error.into_kind() {
            csv::ErrorKind::Io(source) => source,
            other => io::Error::other(format!("{other:?}")),
        })
    }

    fn rows(&self, to: impl io::Write) -> csv::Result<()> {
        let mut rows = csv::Writer::from_writer(to);
        let mut header: Vec<String> = ["node", "prediction", "probability"].map(Into::into).into();
        header.extend(self.classes.iter().map(|class| format!("p:{class}")));
        if self.logits.is_some() {
            header.extend(self.classes.iter().map(|class| format!("logit:{class}")));
        }
        rows.write_record(&header)?;
        let count = self.classes.len();
        for (v, node) in self.nodes.iter().enumerate() {
            rows.write_field(node)?;
            rows.write_field(&self.classes[self.predicted[v] as usize])?;
            rows.write_field(number(self.probability(v)))?;
            for values in [Some(&self.probabilities), self.logits.as_ref()].into_iter().flatten() {
                for &value in &values[v * count..(v + 1) * count] {
                    rows.write_field(number(value))?;
                }
            }
            rows.write_record(None::<&[u8]>)?;
        }
        Ok(rows.flush()?)
    }

    /// Writes the table to a file, which appears under its name when it is complete.
    ///
    /// # Errors
    /// If the file cannot be written, or the program was built without the format.
    pub fn write(&self, path: &Path, format: ScoreFormat) -> Result<()> {
        match format {
            ScoreFormat::Csv => {
                let mut file = AtomicFile::create(path)?;
                self.write_csv(&mut file).map_err(|source| Error::io(path, source))?;
                Ok(file.finish()?)
            }
            ScoreFormat::Parquet => scores::write_parquet(self, path),
        }
    }
}

/// The shortest text that gives the same number, with an exponent where it is very small.
pub(crate) fn number(x: f32) -> String {
    format!("{x:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn numbers_in_text_give_the_same_bits() {
        for x in [0.1f32, 1.0 / 3.0, 1e-30, f32::MIN_POSITIVE / 8.0, 1.0, 0.0] {
            assert_eq!(number(x).parse::<f32>().unwrap().to_bits(), x.to_bits());
            assert!(number(x).len() < 16, "{}", number(x));
        }
    }

    #[test]
    fn logits_come_last_and_odd_names_are_quoted() {
        let (nodes, classes) = (names(&["a,b", "c"]), names(&["x", "\"y\""]));
        let table = ScoreTable {
            nodes: &nodes,
            classes: &classes,
            predicted: &[0, 1],
            probabilities: vec![0.5, 0.5, 0.25, 0.75],
            logits: Some(vec![1.0, 1.0, -2.5, 3.0]),
        };
        let mut text = Vec::new();
        table.write_csv(&mut text).unwrap();
        let expected = "node,prediction,probability,p:x,\"p:\"\"y\"\"\",logit:x,\"logit:\"\"y\"\"\"\n\
            \"a,b\",x,0.5,0.5,0.5,1.0,1.0\nc,\"\"\"y\"\"\",0.75,0.25,0.75,-2.5,3.0\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
