//! Writing a run folder while a run goes on (see the table in the README).

use crate::experiment::{Experiment, SeedRun};
use crate::{Result, diagnose};
use boostfgl_fairness::Evaluation;
use boostfgl_fed::RoundRecord;
use boostfgl_nn::safetensors_io;
use boostfgl_partition::Partition;
use boostfgl_report::{Prediction, PredictionsWriter, RoundsWriter, RunFolder, Summary};
use serde::Serialize;
use std::collections::HashMap;

/// Writes what happens into a run folder. `summary.json` comes last: a folder that has one is whole.
pub(crate) struct Recorder<'a> {
    folder: &'a RunFolder,
    rounds: RoundsWriter,
    predictions: PredictionsWriter,
    names: Vec<String>,
}

/// One line of `rounds.jsonl`. Metrics are in percent.
#[derive(Serialize)]
struct Line<'a> {
    seed: u64,
    round: usize,
    loss: f64,
    val_accuracy: Option<f64>,
    metrics: Option<boostfgl_fairness::Percent<Evaluation>>,
    clients: Vec<ClientLine<'a>>,
    bytes_up: u64,
    bytes_down: u64,
    seconds: f64,
}

#[derive(Serialize)]
struct ClientLine<'a> {
    client: &'a usize,
    loss: f64,
    update_norm: f64,
    weight: Option<f64>,
    trust: Option<f64>,
    gap: Option<f64>,
    bytes_up: u64,
    bytes_down: u64,
    seconds: f64,
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

    pub(crate) fn round(&mut self, seed: u64, record: &RoundRecord<'_>, evaluation: Option<&Evaluation>) -> Result<()> {
        let clients = record.clients.iter().map(|c| ClientLine {
            client: &c.client,
            loss: c.loss,
            update_norm: c.update_norm,
            weight: c.weight,
            trust: c.trust,
            gap: c.gap,
            bytes_up: c.bytes_up,
            bytes_down: c.bytes_down,
            seconds: c.seconds,
        });
        self.rounds.write(&Line {
            seed,
            round: record.round,
            loss: record.loss,
            val_accuracy: record.val_accuracy.map(|a| 100.0 * a),
            metrics: evaluation.cloned().map(Evaluation::percent),
            clients: clients.collect(),
            bytes_up: record.clients.iter().map(|c| c.bytes_up).sum(),
            bytes_down: record.clients.iter().map(|c| c.bytes_down).sum(),
            seconds: record.seconds,
        })?;
        Ok(())
    }

    pub(crate) fn seed(&mut self, experiment: &Experiment, run: &SeedRun) -> Result<()> {
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
                heterophilous: run.groups.heterophilous[v],
            })?;
        }
        Ok(())
    }

    pub(crate) fn models(&self, experiment: &Experiment, runs: &[SeedRun]) -> Result<()> {
        let partitions: Vec<(u64, &Partition)> = runs.iter().map(|r| (r.seed, &*r.partition)).collect();
        boostfgl_partition::file::write(&self.folder.file(RunFolder::PARTITION), experiment.graph(), &partitions)?;
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
        let metadata: HashMap<String, String> = about.into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
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

    /// Writes what diagnostics found, if any watched.
    pub(crate) fn diagnoses(&self, runs: &[SeedRun]) -> Result<()> {
        let Some(found) = diagnose::diagnoses(runs) else { return Ok(()) };
        self.folder.write_atomic(RunFolder::DIAGNOSTICS, found.to_json().as_bytes())?;
        Ok(())
    }

    /// Takes back what was begun if not even one round was recorded: a folder with nothing in it helps nobody.
    pub(crate) fn abandon(self) {
        let Self { folder, rounds, predictions, .. } = self;
        drop(predictions);
        if rounds.lines() > 0 {
            return;
        }
        drop(rounds);
        // The error that led here is what the user must see, not one of cleaning up.
        for name in [RunFolder::ROUNDS, RunFolder::CONFIG] {
            let _ = std::fs::remove_file(folder.file(name));
        }
        let _ = std::fs::remove_dir(folder.path());
    }

    pub(crate) fn finish(self, summary: &Summary) -> Result<()> {
        self.rounds.finish()?;
        self.predictions.finish()?;
        self.folder.write_summary(summary)?;
        Ok(())
    }
}
