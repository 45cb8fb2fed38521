//! The files of a simulation, which sees all nodes and all models.

use super::fitted;
use super::models::Trained;
use super::prediction_columns::FurtherColumns;
use crate::experiment::{Experiment, SeedRun};
use crate::predict::{ModelName, Owner, SavedStates};
use crate::{Result, diagnose};
use boostfgl_fed::Beyond;
use boostfgl_fed::methods::Layout;
use boostfgl_nn::Params;
use boostfgl_partition::{Description, Partition};
use boostfgl_report::{
    PartitionStats, Prediction, PredictionsWriter, RunFolder, SeedPartitionStats,
};

/// `predictions.csv`: every node of the graph under every seed.
/// A column `group:NAME` has the value of each protected attribute.
pub(crate) struct SimulationPredictions(PredictionsWriter);

impl SimulationPredictions {
    pub(super) fn start(experiment: &Experiment, folder: &RunFolder) -> Result<Self> {
        let columns = FurtherColumns::of(experiment.config(), experiment.graph().labels().names());
        Ok(Self(folder.predictions(&columns.headings(experiment.graph()))?))
    }

    /// Appends the predictions of a seed.
    pub(super) fn write(&mut self, experiment: &Experiment, run: &SeedRun) -> Result<()> {
        let graph = experiment.graph();
        let names = graph.labels().names();
        for v in 0..graph.len() {
            let label = graph.labels().get(v);
            let row = Prediction {
                seed: run.seed,
                node: &graph.id(v),
                client: run.partition.client_of(v) as u32,
                split: run.partition.split().role(v),
                label: label.map(|y| names[y as usize].as_str()),
                prediction: &names[run.outcome.predictions[v] as usize],
                minority: run.groups.minority[v],
                heterophilous: (!run.groups.homophily_unknown[v])
                    .then_some(run.groups.heterophilous[v]),
            };
            let probabilities = run.outcome.probabilities.as_ref().map(|all| all.row(v));
            let columns = FurtherColumns::of(experiment.config(), names);
            self.0.write_with(&row, &columns.fields(graph, v, probabilities))?;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<()> {
        Ok(self.0.finish()?)
    }
}

/// Writes statistics of the partitions: a report shows them without the graph.
pub(super) fn write_partition(
    folder: &RunFolder,
    experiment: &Experiment,
    runs: &[SeedRun],
) -> Result<()> {
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
    folder.write_atomic(RunFolder::PARTITION_STATS, file.to_json().as_bytes())?;
    Ok(())
}

/// Writes the partitions and the models of all seeds.
pub(super) fn write_models(
    folder: &RunFolder,
    experiment: &Experiment,
    runs: &[SeedRun],
) -> Result<()> {
    let partitions: Vec<(u64, &Partition)> = runs.iter().map(|r| (r.seed, &*r.partition)).collect();
    boostfgl_partition::file::write(
        &folder.file(RunFolder::PARTITION),
        experiment.graph(),
        &partitions,
    )?;
    let graph = experiment.graph();
    let personal = runs.iter().any(|run| run.outcome.models.len() > 1);
    let beyond = runs.iter().flat_map(|run| run.outcome.predictors.beyond.iter().copied());
    let about = Trained {
        config: experiment.config(),
        dataset: graph.name(),
        inputs: graph.width(),
        feature_names: graph.feature_names(),
        indicators: fitted::indicators(graph),
        classes: graph.labels().names(),
        owner: if personal { Owner::Personal } else { Owner::Global },
        beyond: Beyond::distinct(beyond),
    };
    let prepared: Vec<(String, Params<f32>)> =
        runs.iter().flat_map(|run| preparations_of(experiment, run)).collect();
    let further = prepared.iter().map(|(name, numbers)| (name.clone(), numbers));
    let models: Vec<(String, &Params<f32>)> =
        runs.iter().flat_map(models_of).chain(further).collect();
    folder.write_atomic(RunFolder::MODEL, &about.safetensors(&models)?)?;
    let states = runs.iter().map(|run| (run.seed, &run.outcome.predictors.states[..]));
    SavedStates::new(states).write(folder)
}

/// How the features of a seed were prepared, each with the name of the models that it belongs to.
fn preparations_of(experiment: &Experiment, run: &SeedRun) -> Vec<(String, Params<f32>)> {
    let graph = experiment.graph();
    if graph.preparation().is_none() {
        return Vec::new();
    }
    let is_whole = experiment.config().method().is_ok_and(|method| method.layout == Layout::Whole);
    let found = match is_whole {
        true => {
            fitted::alone(&run.partition.whole(graph)).map(|one| (None, one)).into_iter().collect()
        }
        false => {
            let clients = run.partition.client_graphs(graph);
            fitted::fitted(&clients, experiment.config().data.moments)
        }
    };
    let named = found.into_iter().map(|(client, fitted)| {
        let name = ModelName { seed: run.seed, client, is_deployed: false };
        (name.prefix(), fitted::tensors(&fitted))
    });
    named.collect()
}

/// The reported models of a seed and those that clients put in their place, each with its name.
fn models_of(run: &SeedRun) -> impl Iterator<Item = (String, &Params<f32>)> {
    let personal = run.outcome.models.len() > 1;
    let reported = run.outcome.models.iter().enumerate().map(move |(k, params)| {
        let client = personal.then_some(k);
        (ModelName { seed: run.seed, client, is_deployed: false }, params)
    });
    let deployed = run.outcome.predictors.deployed.iter().enumerate().filter_map(|(k, params)| {
        let name = ModelName { seed: run.seed, client: Some(k), is_deployed: true };
        Some((name, params.as_ref()?))
    });
    reported.chain(deployed).map(|(name, params)| (name.prefix(), params))
}

/// Writes the results of the diagnostics, if there were any.
pub(super) fn write_diagnostics(folder: &RunFolder, runs: &[SeedRun]) -> Result<()> {
    let Some(found) = diagnose::diagnostics_file(runs) else { return Ok(()) };
    folder.write_atomic(RunFolder::DIAGNOSTICS, found.to_json().as_bytes())?;
    Ok(())
}
