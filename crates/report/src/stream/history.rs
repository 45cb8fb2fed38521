//! A history of scalars as JSON lines, in the names that trackers of experiments use.

use crate::export::tensorboard::scalars;
use crate::{Result, Round};
use boostfgl_disk::AppendFile;
use serde_json::{Map, Value};
use std::path::Path;

/// One JSON object per round: `_step` counts the rounds of the run from 0, `_timestamp` is the end
/// of the round in seconds since 1970 and `_runtime` the seconds of all rounds so far; the scalars
/// have the names that they have in TensorBoard.
#[derive(Debug)]
pub(super) struct History {
    file: AppendFile,
    step: u64,
    runtime: f64,
}

impl History {
    /// Starts a new file.
    pub(super) fn create(path: &Path) -> Result<Self> {
        Ok(Self { file: AppendFile::create(path)?, step: 0, runtime: 0.0 })
    }

    /// Appends a round that ended at `time`.
    pub(super) fn round(&mut self, round: &Round, time: f64) -> Result<()> {
        self.runtime += round.seconds;
        let mut line = Map::new();
        line.insert("_step".to_owned(), self.step.into());
        line.insert("_timestamp".to_owned(), time.into());
        line.insert("_runtime".to_owned(), self.runtime.into());
        line.insert("seed".to_owned(), round.seed.into());
        line.insert("round".to_owned(), round.round.into());
        // A value that is not finite, such as the loss of a run that diverges, becomes null.
        line.extend(scalars(round).into_iter().map(|(tag, value)| (tag, Value::from(value))));
        let mut text = Value::Object(line).to_string();
        text.push('\n');
        self.step += 1;
        Ok(self.file.append(text.as_bytes())?)
    }
}
