//! Diagnosing a finished run from its folder.

use super::{Answer, Inquiry, train};
use crate::checkpoint::recorded_config;
use crate::config::{Checked, Config};
use crate::experiment::{Experiment, Progress};
use crate::{Error, Result, fingerprint};
use boostfgl_fairness::diagnostics::DiagnosticKind;
use boostfgl_fairness::frame::SeedFrames;
use boostfgl_graph::Graph;
use boostfgl_partition::FromFile;
use boostfgl_report::{DiagnosticsFile, Fingerprint, RunFolder, Summary};
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
        let folder = RunFolder::open(path).map_err(unreadable)?;
        let file = folder.file(RunFolder::SUMMARY);
        if !file.exists() {
            let reason = "expected a finished run, found no summary.json";
            return Err(Error::usage(
                path.display().to_string(),
                reason,
                "`boostfgl resume RUN` finishes a run that was stopped.",
            ));
        }
        let summary = Summary::read(file).map_err(unreadable)?;
        folder.check(RunFolder::SUMMARY).map_err(unreadable)?;
        Ok(Self { summary, folder })
    }

    /// Its results.
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
    pub fn config(&self) -> Result<Checked<Config>> {
        let mut config = recorded_config(&self.folder)?.into_inner();
        self.folder.check(RunFolder::CONFIG)?;
        let file = Some(self.folder.file(RunFolder::PARTITION));
        config.partition = config.partition.with(FromFile { file });
        config.checked()
    }

    /// The recorded results of the diagnostics in `wanted`; of all if `None`.
    ///
    /// # Errors
    /// If nothing was recorded, or not all of it; if `diagnostics.json` is damaged. The message
    /// names the command that records it.
    pub fn diagnostics(&self, wanted: Option<&[DiagnosticKind]>) -> Result<DiagnosticsFile> {
        let file = self.folder.file(RunFolder::DIAGNOSTICS);
        let found = if file.exists() {
            let found = DiagnosticsFile::read(&file).map_err(unreadable)?;
            self.folder.check(RunFolder::DIAGNOSTICS).map_err(unreadable)?;
            found
        } else {
            DiagnosticsFile::new(Vec::new())
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
    /// another graph; if the data lack a group column or class of the inquiry.
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
            Error::Report(error) => unreadable(error),
            // Rows are missing or belong to other nodes: the file is truncated between rows, or the
            // data are different.
            Error::Usage { place, reason, .. } if place == file => {
                Error::usage(place, reason, OTHER_DATA)
            }
            other => other,
        })
    }

    /// Compares data with those of the run. Returns a note if the run has no fingerprint to compare
    /// with.
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

    /// The files of the run that were changed since, or that have no checksum, one sentence each.
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
            // The replay reads the split from partition.csv. The origin to report is that of the
            // recorded run.
            let seeds = answer.summary.seeds.iter_mut().zip(&self.summary.seeds);
            seeds.for_each(|(again, first)| again.details.split.clone_from(&first.details.split));
            return Ok(answer);
        }
        let (expected, found) = (self.summary.digest.clone(), answer.summary.digest);
        Err(Error::Differs { path: self.path().to_path_buf(), expected, found })
    }
}

/// Advice if a folder does not have what is requested.
const REPLAY: &str = "Add --replay: it trains again from config.toml and partition.csv to the \
    same digits and leaves the folder as it is.";

/// Advice if the data are not those of the run.
const CHANGED_DATA: &str = "Restore the data, or repeat the run on these: `boostfgl run --config \
    RUN/config.toml --out NEW`.";

/// Advice if the predictions belong to other data.
const OTHER_DATA: &str = "Restore the data that the run was made on; if the file is truncated, add \
    --replay to train again, or repeat the run.";

/// Turns an error about a file of a run into an error about the input, with the advice to train
/// again.
fn unreadable(error: boostfgl_report::Error) -> Error {
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
