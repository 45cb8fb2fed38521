//! A finished run that predicts again for the nodes that it was made on.

use super::model::{Which, client_number, models_in, seed_note};
use super::model_file::ModelFile;
use super::new_graph::{argmax, fitted, forward};
use super::prediction::NodePredictions;
use super::saved_state::SavedStates;
use crate::checkpoint::recorded_config;
use crate::clients::ClientsExperiment;
use crate::config::{Checked, Config};
use crate::experiment::Experiment;
use crate::run::trainable::Trainable;
use crate::{Error, Result, fingerprint};
use boostfgl_fed::methods::Layout;
use boostfgl_fed::{Beyond, Reported};
use boostfgl_graph::Graph;
use boostfgl_nn::Params;
use boostfgl_partition::FromFile;
use boostfgl_report::{Fingerprint, Predictions, RunFolder, Summary};
use std::path::Path;

/// The folder of a finished run. Nothing in it is changed.
pub struct FinishedRun {
    folder: RunFolder,
    summary: Summary,
    config: Checked<Config>,
}

impl FinishedRun {
    /// Opens the folder of a run.
    ///
    /// # Errors
    /// If the run is not finished, or its summary or configuration is damaged.
    pub fn open(path: &Path) -> Result<Self> {
        let folder = RunFolder::open(path)?;
        let file = folder.file(RunFolder::SUMMARY);
        if !file.exists() {
            let reason = "expected the folder of a finished run, found no summary.json";
            let advice = "`boostfgl resume RUN` finishes a run that was stopped; a folder with \
                several runs has one folder for each.";
            return Err(Error::usage(path.display().to_string(), reason, advice));
        }
        let summary = folder.summary()?;
        for name in [RunFolder::SUMMARY, RunFolder::CONFIG] {
            folder.check(name)?;
        }
        let config = recorded_config(&folder)?;
        Ok(Self { folder, summary, config })
    }

    /// The dataset of the run, to be read for [`FinishedRun::predict`]; `None` if its clients have
    /// graphs of their own.
    pub fn dataset(&self) -> Option<&str> {
        self.config.client_data.is_empty().then_some(&self.config.dataset)
    }

    /// Predicts for the nodes of the run, to the same bits: every client evaluates what it evaluated
    /// in the reported round. `graph` is the dataset as it was read. For one client, only its nodes.
    ///
    /// # Errors
    /// If the data are not those of the run, files of the run are missing or damaged, there is no
    /// such seed or client, or a client that has its own graph predicts with more than a model.
    pub fn predict(&self, graph: Option<Graph>, which: &Which<'_>) -> Result<NodePredictions> {
        match graph {
            Some(graph) if self.dataset().is_some() => self.simulated(graph, which),
            _ => self.of_client(which),
        }
    }

    /// The file that has the model of a client, or of all, and the client to look for in it.
    ///
    /// # Errors
    /// If there is no such client, or clients have files of their own and none is named.
    pub(super) fn model_file<'c>(
        &self,
        client: Option<&'c str>,
    ) -> Result<(ModelFile, Option<&'c str>)> {
        if self.config.client_data.is_empty() {
            return Ok((models_in(&self.folder, RunFolder::MODEL)?, client));
        }
        let names = self.client_names();
        if let Some(other) = client.filter(|client| !names.iter().any(|name| name == client)) {
            return Err(no_client(&names, &format!("`{other}`")));
        }
        let of_client = |name: &str, file: &str| format!("{}/{name}/{file}", RunFolder::CLIENTS);
        // One model for all clients: which of them matters only for the features.
        let is_global = self.folder.file(RunFolder::MODEL).exists();
        let prepares = names.first().is_some_and(|first| {
            self.folder.file(&of_client(first, RunFolder::PREPARATION)).exists()
        });
        let name = match client {
            Some(name) => name,
            None if is_global && !prepares => {
                return Ok((models_in(&self.folder, RunFolder::MODEL)?, None));
            }
            None => return Err(no_client(&names, "no --client")),
        };
        let own = of_client(name, RunFolder::MODEL);
        let file = models_in(&self.folder, if is_global { RunFolder::MODEL } else { &own })?;
        if !prepares {
            return Ok((file, None));
        }
        let preparations = of_client(name, RunFolder::PREPARATION);
        self.folder.check(&preparations)?;
        Ok((file.with_preparations(self.folder.file(&preparations))?, None))
    }

    /// The clients that have graphs of their own, by name.
    fn client_names(&self) -> Vec<String> {
        let mut names = self.folder.client_names();
        names.sort_unstable();
        names
    }

    /// The predictions of a simulation.
    fn simulated(&self, graph: Graph, which: &Which<'_>) -> Result<NodePredictions> {
        let client = which.client.map(client_number).transpose()?;
        let file = models_in(&self.folder, RunFolder::MODEL)?;
        let seed = file.seed(which.seed)?;
        let experiment = Experiment::new(self.partitioned()?, graph)?;
        self.check_data(experiment.graph().name(), experiment.fingerprint())?;
        let partition = experiment.partition(seed)?;
        let clients = match experiment.config().method()?.layout {
            Layout::Federated => partition.clients(),
            Layout::Whole => 1,
        };
        let models = self.models(&file, seed, clients)?;
        let models: Vec<&Params<f32>> = models.iter().collect();
        let states = self.states(&file, seed)?;
        let reported =
            Reported { round: self.round(seed)?, models: &models, states: states.of(seed) };
        let probabilities = experiment.federation(seed, &partition)?.predict(&reported)?;
        let graph = experiment.graph();
        let mut found = NodePredictions {
            nodes: (0..graph.len()).map(|v| graph.id(v)).collect(),
            classes: graph.labels().names().to_vec(),
            predicted: (0..graph.len()).map(|v| argmax(probabilities.row(v))).collect(),
            probabilities,
            logits: None,
            notes: seed_note(&file.seeds(), which.seed).into_iter().collect(),
        };
        found.notes.extend(self.differences(seed, &found)?);
        let Some(client) = client else { return Ok(found) };
        let own: Vec<u32> = (0..graph.len() as u32)
            .filter(|&v| partition.client_of(v as usize) == client)
            .collect();
        if own.is_empty() {
            let names: Vec<String> = (0..partition.clients()).map(|k| k.to_string()).collect();
            return Err(no_client(&names, &format!("`{client}`")));
        }
        Ok(found.of_nodes(&own))
    }

    /// The configuration with the clients and the split of `partition.csv`.
    fn partitioned(&self) -> Result<Checked<Config>> {
        self.folder.check(RunFolder::PARTITION)?;
        let mut config = self.config.clone().into_inner();
        let file = Some(self.folder.file(RunFolder::PARTITION));
        config.partition = config.partition.with(FromFile { file });
        config.checked()
    }

    /// The model that each client evaluates.
    fn models(&self, file: &ModelFile, seed: u64, clients: usize) -> Result<Vec<Params<f32>>> {
        let model_of = |k| file.model_of(seed, Some(k)).and_then(|name| file.params(name));
        (0..clients).map(model_of).collect()
    }

    /// The states of the clients; a run that predicts with states must have them.
    fn states(&self, file: &ModelFile, seed: u64) -> Result<SavedStates> {
        let path = self.folder.file(RunFolder::STATE);
        if path.exists() {
            self.folder.check(RunFolder::STATE)?;
        }
        let states = SavedStates::read(&self.folder)?;
        let needed = [Beyond::Generated, Beyond::Boosted, Beyond::Modules]
            .into_iter()
            .find(|beyond| file.about().beyond.contains(beyond));
        match needed {
            Some(beyond) if states.of(seed).is_empty() => {
                let reason = format!("expected {} under seed {seed}, found none", beyond.meaning());
                let advice = "Restore the file, or run again: `boostfgl run --config \
                    RUN/config.toml --out NEW`.";
                Err(Error::usage(path.display().to_string(), reason, advice))
            }
            _ => Ok(states),
        }
    }

    /// The reported round of a seed.
    fn round(&self, seed: u64) -> Result<usize> {
        let summary = self.summary.seeds.iter().find(|summary| summary.seed == seed);
        summary.map(|summary| summary.round).ok_or_else(|| {
            let file = self.folder.file(RunFolder::SUMMARY);
            let reason = format!("expected seed {seed}, as model.safetensors has it, found none");
            Error::usage(file.display().to_string(), reason, "Run again: files do not match.")
        })
    }

    /// A note if predictions are not those of `predictions.csv`.
    fn differences(&self, seed: u64, found: &NodePredictions) -> Result<Option<String>> {
        self.folder.check(RunFolder::PREDICTIONS)?;
        let recorded = Predictions::read(self.folder.file(RunFolder::PREDICTIONS))?;
        let Some(recorded) = recorded.seeds.iter().find(|rows| rows.seed == seed) else {
            return Ok(None);
        };
        let again = found.predicted.iter().map(|&class| &found.classes[class as usize]);
        let differ = recorded
            .rows
            .iter()
            .zip(again)
            .filter(|(row, class)| *row.prediction != ***class)
            .count();
        let nodes = found.nodes.len();
        Ok((differ > 0).then(|| {
            format!(
                "{differ} of {nodes} nodes are predicted otherwise than in predictions.csv: another \
                 CPU or version of the program computes other last digits"
            )
        }))
    }

    /// The predictions of a client that has its own graph.
    fn of_client(&self, which: &Which<'_>) -> Result<NodePredictions> {
        let (file, _) = self.model_file(which.client)?;
        let name = which.client.ok_or_else(|| no_client(&self.client_names(), "no --client"))?;
        if let Some(beyond) = file.about().beyond.first() {
            let reason = format!(
                "expected a run whose models predict by themselves, found one that predicts with \
                 {}, which stay with the clients and are not saved",
                beyond.meaning()
            );
            let advice = "The predictions of the run are in clients/NAME/predictions.csv.";
            return Err(Error::usage(self.folder.path().display().to_string(), reason, advice));
        }
        let experiment = ClientsExperiment::new(self.config.clone())?;
        self.check_data(&self.config.dataset, Trainable::fingerprint(&experiment))?;
        let seed = file.seed(which.seed)?;
        let clients = experiment.clients();
        let client = clients.iter().find(|client| client.name() == name);
        let client = client.ok_or_else(|| {
            no_client(&self.client_names(), &format!("`{name}`, whose data are not there"))
        })?;
        let graph = fitted(&file, (seed, None), client.graph().clone())?;
        let mut found = forward(&file, file.model_of(seed, None)?, &graph)?;
        found.notes.extend(seed_note(&file.seeds(), which.seed));
        Ok(found)
    }

    /// Refuses other data than those of the run.
    fn check_data(&self, dataset: &str, found: &Fingerprint) -> Result<()> {
        let file = self.folder.file(RunFolder::SUMMARY).display().to_string();
        let Some(expected) = &self.summary.data else { return Ok(()) };
        fingerprint::check(&file, dataset, expected, found, CHANGED_DATA)
    }
}

/// Advice if the data are not those of the run.
const CHANGED_DATA: &str = "Restore the data of the run, or name the new ones: `boostfgl predict \
    RUN DATA`.";

/// The error for a client that does not exist, or that is not named.
fn no_client(names: &[String], found: &str) -> Error {
    let reason = format!("expected one of the clients {}, found {found}", names.join(", "));
    Error::usage("--client", reason, "Name the client that is to predict.")
}
