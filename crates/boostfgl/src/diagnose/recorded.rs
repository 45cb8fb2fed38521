//! A run that was recorded.

use super::{Answer, Inquiry, train};
use crate::checkpoint::recorded_config;
use crate::config::Config;
use crate::experiment::{Experiment, Progress};
use crate::{Error, Result, fingerprint};
use boostfgl_fairness::diagnostics::DiagnosticKind;
use boostfgl_fairness::frame::SeedFrames;
use boostfgl_graph::Graph;
use boostfgl_report::{Diagnoses, Fingerprint, RunFolder, Summary};
use std::path::Path;

/// A finished run in its folder. Nothing in the folder is ever changed.
#[derive(Clone, Debug)]
pub struct RecordedRun {
    folder: RunFolder,
    summary: Summary,
}

impl RecordedRun {
    /// Opens the folder of a finished run.
    ///
    /// # Errors
    /// If `summary.json` is missing (the run did not finish) or damaged.
    pub fn open(path: &Path) -> Result<Self> {
        let folder = RunFolder::open(path).map_err(readable)?;
        let file = folder.file(RunFolder::SUMMARY);
        if !file.exists() {
            let reason = "expected a finished run, found no summary.json";
            return Err(Error::usage(
                path.display().to_string(),
                reason,
                "`boostfgl resume RUN` finishes a run that was stopped.",
            ));
        }
        let summary = Summary::read(file).map_err(readable)?;
        folder.check(RunFolder::SUMMARY).map_err(readable)?;
        Ok(Self { summary, folder })
    }

    /// How it came out.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Its folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Its configuration, with the clients and the split of its `partition.csv`: running it gives
    /// the same digits.
    ///
    /// # Errors
    /// If `config.toml` is missing or damaged, or names data that are not there.
    pub fn config(&self) -> Result<Config> {
        let mut config = recorded_config(&self.folder)?;
        self.folder.check(RunFolder::CONFIG)?;
        config.partition.partitioner = "file".to_owned();
        config.partition.file = Some(self.folder.file(RunFolder::PARTITION));
        Ok(config)
    }

    /// What the diagnostics that are `wanted` found; everything that was recorded if `None`.
    ///
    /// # Errors
    /// If nothing was recorded, or not all of it; if `diagnostics.json` is damaged. The message
    /// says how to get it.
    pub fn diagnoses(&self, wanted: Option<&[DiagnosticKind]>) -> Result<Diagnoses> {
        let file = self.folder.file(RunFolder::DIAGNOSTICS);
        let found = if file.exists() {
            let found = Diagnoses::read(&file).map_err(readable)?;
            self.folder.check(RunFolder::DIAGNOSTICS).map_err(readable)?;
            found
        } else {
            Diagnoses::new(Vec::new())
        };
        let recorded = found.recorded();
        let missing: Vec<DiagnosticKind> = match wanted {
            Some(wanted) => {
                wanted.iter().copied().filter(|which| !recorded.contains(which)).collect()
            }
            None if recorded.is_empty() => DiagnosticKind::ALL.to_vec(),
            None => Vec::new(),
        };
        if missing.is_empty() {
            return Ok(found);
        }
        let place = file.display().to_string();
        let found = if !file.exists() {
            "no such file".to_owned()
        } else if recorded.is_empty() {
            "none".to_owned()
        } else {
            names(&recorded)
        };
        let missing = names(&missing);
        let reason = format!(
            "expected findings of {missing}, found {found}; `boostfgl run … --diagnostics \
             {missing}` records them"
        );
        Err(Error::usage(place, reason, REPLAY))
    }

    /// Every metric on every grouping of its test nodes, from `predictions.csv`.
    ///
    /// # Errors
    /// If the data are not those of the run; if `predictions.csv` is missing, damaged or about
    /// another graph; if what is asked for is not in the data.
    pub fn frames(&self, graph: &Graph, inquiry: &Inquiry) -> Result<Vec<SeedFrames>> {
        if inquiry.groupings.is_empty() {
            return Ok(Vec::new());
        }
        self.check_data(graph.name(), &fingerprint::of(graph))?;
        let file = self.folder.file(RunFolder::PREDICTIONS).display().to_string();
        let frames = crate::frame::frames(
            &self.folder,
            graph,
            &inquiry.groupings,
            &inquiry.metrics,
            inquiry.options(),
        );
        frames.map_err(|error| match error {
            Error::Report(error) => readable(error),
            // Rows that are missing or of other nodes: the file was cut off between rows, or the
            // data are others.
            Error::Usage { place, reason, .. } if place == file => {
                Error::usage(place, reason, OTHER_DATA)
            }
            other => other,
        })
    }

    /// Compares the data at hand with those that the run was made on. What is returned says why
    /// they cannot be compared, if they cannot.
    ///
    /// # Errors
    /// Names both fingerprints if the data have changed since.
    pub fn check_data(&self, dataset: &str, found: &Fingerprint) -> Result<Option<String>> {
        let file = self.folder.file(RunFolder::SUMMARY).display().to_string();
        let Some(expected) = &self.summary.data else {
            return Ok(Some(format!(
                "{file} has no fingerprint of the data, as an earlier version wrote it: whether \
                 they have changed is not known"
            )));
        };
        fingerprint::check(&file, dataset, expected, found, CHANGED_DATA).map(|()| None)
    }

    /// The files of the run that were changed since, or of which that is not known, one sentence
    /// each.
    pub fn changes(&self) -> Vec<String> {
        self.folder.changes()
    }

    /// Trains again to answer an inquiry, in memory. `experiment` is that of
    /// [`RecordedRun::config`].
    ///
    /// # Errors
    /// If the data are not those of the run, before anything is trained; [`Error::Differs`] if the
    /// digest is another than that of the run; as [`train`].
    pub fn replay(
        &self,
        experiment: &Experiment,
        inquiry: &Inquiry,
        progress: &mut dyn Progress,
    ) -> Result<Answer> {
        if let Some(note) = self.check_data(experiment.graph().name(), experiment.fingerprint())? {
            progress.note(&note);
        }
        let mut answer = train(experiment, inquiry, progress, None)?;
        if answer.summary.digest == self.summary.digest {
            // It trained from partition.csv; where the split came from at first is what the run
            // says.
            let seeds = answer.summary.seeds.iter_mut().zip(&self.summary.seeds);
            seeds.for_each(|(again, first)| again.details.split.clone_from(&first.details.split));
            return Ok(answer);
        }
        let (expected, found) = (self.summary.digest.clone(), answer.summary.digest);
        Err(Error::Differs { path: self.path().to_path_buf(), expected, found })
    }
}

/// What to do if a folder does not hold what is asked for.
const REPLAY: &str = "Add --replay: it trains again from config.toml and partition.csv to the \
    same digits and leaves the folder as it is.";

/// What to do if the data are not those of the run.
const CHANGED_DATA: &str = "Put the data back as they were, or repeat the run on these: `boostfgl \
    run --config RUN/config.toml --out NEW`.";

/// What to do if predictions are not of the data at hand.
const OTHER_DATA: &str = "Restore the data that the run was made on; if the file was cut off, add \
    --replay to train again, or repeat the run.";

/// A file of a run that cannot be read is the input's fault, and training again helps.
fn readable(error: boostfgl_report::Error) -> Error {
    let advice =
        "Add --replay to train again from config.toml and partition.csv, or repeat the run.";
    match error {
        boostfgl_report::Error::Io { path, source } => Error::usage(
            path.display().to_string(),
            format!("expected a readable file, found: {source}"),
            advice,
        ),
        boostfgl_report::Error::Malformed { path, reason } => {
            Error::usage(path.display().to_string(), reason, advice)
        }
        other => other.into(),
    }
}

fn names(which: &[DiagnosticKind]) -> String {
    which.iter().map(|which| which.name()).collect::<Vec<_>>().join(",")
}
