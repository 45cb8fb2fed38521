//! Writing the run folder while a run is under way (see the table in the README).

use crate::experiment::{Experiment, SeedRun};
use crate::{Result, diagnose};
use boostfgl_fairness::Evaluation;
use boostfgl_fed::{Refusal, RoundRecord};
use boostfgl_nn::safetensors_io;
use boostfgl_partition::{Description, Partition};
use boostfgl_report::page::Report;
use boostfgl_report::{
    Depth, PartitionStats, Prediction, PredictionsWriter, Round, RoundRefusal, RoundsWriter,
    RunFolder, RunView, SeedPartitionStats, Summary,
};
use std::collections::HashMap;

/// Writes the results of a run into its folder. `summary.json` comes last: a folder that has one is
/// complete.
pub(crate) struct Recorder<'a> {
    folder: &'a RunFolder,
    rounds: RoundsWriter,
    predictions: PredictionsWriter,
    names: Vec<String>,
}

impl<'a> Recorder<'a> {
    pub(crate) fn start(folder: &'a RunFolder, experiment: &Experiment) -> Result<Self> {
        folder.write_atomic(RunFolder::CONFIG, experiment.config().to_toml().as_bytes())?;
        Ok(Self {
            folder,
            rounds: folder.rounds()?,
            predictions: folder.predictions()?,
            names: experiment.graph().labels().names().to_vec(),
        })
    }

    /// Continues a folder from the first `lines` lines of `rounds.jsonl`; later lines are removed.
    pub(crate) fn resume(
        folder: &'a RunFolder,
        experiment: &Experiment,
        lines: usize,
    ) -> Result<Self> {
        let path = folder.file(RunFolder::ROUNDS);
        let rounds =
            if path.exists() { RoundsWriter::resume(path, lines)? } else { folder.rounds()? };
        let names = experiment.graph().labels().names().to_vec();
        Ok(Self { folder, rounds, predictions: folder.predictions()?, names })
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
        self.rounds.write(&Round {
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
        })?;
        Ok(())
    }

    /// Appends the predictions of a seed to `predictions.csv`.
    pub(crate) fn write_predictions(
        &mut self,
        experiment: &Experiment,
        run: &SeedRun,
    ) -> Result<()> {
        let graph = experiment.graph();
        for v in 0..graph.len() {
            let label = graph.labels().get(v);
            self.predictions.write(&Prediction {
                seed: run.seed,
                node: &graph.id(v),
                client: run.partition.client_of(v) as u32,
                split: run.partition.split().role(v),
                label: label.map(|y| self.names[y as usize].as_str()),
                prediction: &self.names[run.outcome.predictions[v] as usize],
                minority: run.groups.minority[v],
                heterophilous: (!run.groups.homophily_unknown[v])
                    .then_some(run.groups.heterophilous[v]),
            })?;
        }
        Ok(())
    }

    /// Writes statistics of the partitions: a report shows them without the graph.
    pub(crate) fn write_partition(&self, experiment: &Experiment, runs: &[SeedRun]) -> Result<()> {
        let graph = experiment.graph();
        let seeds = runs.iter().map(|run| {
            let mut minority_classes: Vec<usize> = (0..graph.len())
                .filter(|v| run.groups.minority[*v] == Some(true))
                .filter_map(|v| graph.labels().get(v).map(|class| class as usize))
                .collect();
            minority_classes.sort_unstable();
            minority_classes.dedup();
            SeedPartitionStats {
                seed: run.seed,
                description: Description::new(graph, &run.partition),
                minority_classes,
            }
        });
        let file = PartitionStats::new(seeds.collect());
        self.folder.write_atomic(RunFolder::PARTITION_STATS, file.to_json().as_bytes())?;
        Ok(())
    }

    /// Writes the partitions and the models of all seeds.
    pub(crate) fn write_models(&self, experiment: &Experiment, runs: &[SeedRun]) -> Result<()> {
        let partitions: Vec<(u64, &Partition)> =
            runs.iter().map(|r| (r.seed, &*r.partition)).collect();
        boostfgl_partition::file::write(
            &self.folder.file(RunFolder::PARTITION),
            experiment.graph(),
            &partitions,
        )?;
        let model = &experiment.config().model;
        let about = [
            ("program", concat!("boostfgl ", env!("CARGO_PKG_VERSION")).to_owned()),
            ("method", experiment.config().method.clone()),
            ("dataset", experiment.graph().name().to_owned()),
            ("backbone", model.backbone.clone()),
            ("inputs", experiment.graph().features().columns().to_string()),
            ("hidden", model.hidden.to_string()),
            ("layers", model.layers.to_string()),
            ("classes", self.names.join("\n")),
        ];
        let metadata: HashMap<String, String> =
            about.into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
        let models = runs.iter().flat_map(|run| {
            let personal = run.outcome.models.len() > 1;
            run.outcome.models.iter().enumerate().map(move |(k, params)| {
                let client = if personal { format!(".client{k}") } else { String::new() };
                (format!("seed{}{client}", run.seed), params)
            })
        });
        let bytes = safetensors_io::to_bytes(&models.collect::<Vec<_>>(), metadata)?;
        self.folder.write_atomic(RunFolder::MODEL, &bytes)?;
        Ok(())
    }

    /// Writes the results of the diagnostics, if there were any.
    pub(crate) fn write_diagnostics(&self, runs: &[SeedRun]) -> Result<()> {
        let Some(found) = diagnose::diagnostics_file(runs) else { return Ok(()) };
        self.folder.write_atomic(RunFolder::DIAGNOSTICS, found.to_json().as_bytes())?;
        Ok(())
    }

    /// Removes the folder of a run that failed before its first round.
    pub(crate) fn abandon(self) {
        let Self { folder, rounds, predictions, .. } = self;
        drop((rounds, predictions));
        // An error of the removal is ignored: the error that ended the run is the one to report.
        for name in [RunFolder::ROUNDS, RunFolder::CONFIG] {
            let _ = boostfgl_disk::remove_file(folder.file(name));
        }
        let _ = boostfgl_disk::remove_dir(folder.path());
    }

    /// Writes what is left: the report before the checksums, which cover it, and the summary last.
    /// The run is complete without a report; if there is none, a note with the reason is returned.
    pub(crate) fn finish(self, summary: &Summary) -> Result<Option<String>> {
        self.rounds.finish()?;
        self.predictions.finish()?;
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
