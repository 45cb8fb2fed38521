//! Writing the run folder while a run is under way (see the table in the README).

use crate::Result;
use crate::config::Config;
use boostfgl_fairness::Evaluation;
use boostfgl_fed::{Refusal, RoundRecord};
use boostfgl_report::page::Report;
use boostfgl_report::{
    Depth, Round, RoundRefusal, RoundsWriter, RunFolder, RunView, Streams, Summary,
};

/// Writes the results of a run into its folder. `summary.json` comes last: a folder that has one is
/// complete.
pub(crate) struct Recorder<'a> {
    folder: &'a RunFolder,
    rounds: RoundsWriter,
    /// The same rounds in other formats, if that is switched on for the folder.
    streams: Streams,
}

impl<'a> Recorder<'a> {
    pub(crate) fn start(folder: &'a RunFolder, config: &Config) -> Result<Self> {
        folder.write_atomic(RunFolder::CONFIG, config.to_toml().as_bytes())?;
        let rounds = folder.rounds()?;
        Ok(Self { folder, rounds, streams: Streams::start(folder)? })
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &'a RunFolder {
        self.folder
    }

    /// Continues a folder from the first `lines` lines of `rounds.jsonl`; later lines are removed.
    pub(crate) fn resume(folder: &'a RunFolder, lines: usize) -> Result<Self> {
        let path = folder.file(RunFolder::ROUNDS);
        let rounds =
            if path.exists() { RoundsWriter::resume(path, lines)? } else { folder.rounds()? };
        Ok(Self { folder, rounds, streams: Streams::start(folder)? })
    }

    /// The number of lines of `rounds.jsonl`.
    pub(crate) fn lines(&self) -> usize {
        self.rounds.lines()
    }

    /// BLAKE3 of these lines.
    pub(crate) fn digest(&self) -> String {
        self.rounds.digest()
    }

    /// Whether no round was recorded.
    pub(crate) fn is_empty(&self) -> bool {
        self.rounds.lines() == 0
    }

    /// Fsyncs the rounds so far.
    pub(crate) fn sync(&self) -> Result<()> {
        Ok(self.rounds.sync()?)
    }

    /// Appends a round to `rounds.jsonl`.
    pub(crate) fn write_round(
        &mut self,
        seed: u64,
        record: &RoundRecord<'_>,
        evaluation: Option<&Evaluation>,
    ) -> Result<()> {
        let round = Round {
            seed,
            round: record.round,
            loss: record.loss,
            val_accuracy: record.val_accuracy.map(|a| 100.0 * a),
            metrics: evaluation.cloned().map(Evaluation::percent),
            clients: record.clients.to_vec(),
            refused: record.refused.iter().map(refusal).collect(),
            bytes_up: record.clients.iter().map(|c| c.bytes_up).sum(),
            bytes_down: record.clients.iter().map(|c| c.bytes_down).sum(),
            seconds: record.seconds,
        };
        self.rounds.write(&round)?;
        Ok(self.streams.round(&round)?)
    }

    /// Removes the folder of a run that failed before its first round.
    pub(crate) fn abandon(self) {
        let Self { folder, rounds, streams } = self;
        drop((rounds, streams));
        let _ = boostfgl_disk::remove_dir_all(folder.file(RunFolder::STREAM));
        // An error of the removal is ignored: the error that ended the run is the one to report.
        for name in [RunFolder::ROUNDS, RunFolder::CONFIG] {
            let _ = boostfgl_disk::remove_file(folder.file(name));
        }
        folder.remove_client_folders();
        let _ = boostfgl_disk::remove_dir(folder.path());
    }

    /// Writes what is left: the report before the checksums, which cover it, and the summary last.
    /// The run is complete without a report; if there is none, a note with the reason is returned.
    pub(crate) fn finish(self, summary: &Summary) -> Result<Option<String>> {
        self.rounds.finish()?;
        let report =
            report(self.folder, Some(summary)).and_then(|html| self.folder.write_report(&html));
        let note = report.err().map(|error| {
            // The report of an earlier attempt would show an earlier state.
            let _ = boostfgl_disk::remove_file(self.folder.file(RunFolder::REPORT));
            format!("no {} was written: {error}", RunFolder::REPORT)
        });
        self.folder.write_summary(summary)?;
        Ok(note)
    }
}

/// A refused update in its file format.
pub(crate) fn refusal(refused: &Refusal) -> RoundRefusal {
    RoundRefusal {
        client: refused.client,
        name: refused.name.clone(),
        reason: refused.reason.kind().to_owned(),
        text: refused.reason.to_string(),
    }
}

/// Larger files are not read for a report: that would take more memory than the run.
const MOST_READ: u64 = 256 << 20;

/// Writes the report of a finished run with its checksum. It has no groups of nodes if the file of
/// predictions is too large to read.
///
/// # Errors
/// If the run cannot be read, or the report cannot be written.
pub fn write_report(folder: &RunFolder) -> boostfgl_report::Result<()> {
    folder.write_report(&report(folder, None)?)
}

/// The report of a run, whose summary may not be on disk yet.
fn report(folder: &RunFolder, summary: Option<&Summary>) -> boostfgl_report::Result<String> {
    let depth =
        match (is_large(folder, RunFolder::ROUNDS), is_large(folder, RunFolder::PREDICTIONS)) {
            (true, _) => Depth::Glance,
            (false, true) => Depth::Rounds,
            (false, false) => Depth::Whole,
        };
    let mut view = RunView::read(folder.path(), depth)?;
    view.forget_report();
    view.summary = view.summary.or_else(|| summary.cloned());
    Ok(Report::new(vec![view]).html())
}

/// Whether a file is too large to be read for a report.
fn is_large(folder: &RunFolder, name: &str) -> bool {
    std::fs::metadata(folder.file(name)).is_ok_and(|file| file.len() > MOST_READ)
}
