//! The files of a simulation, which sees all nodes and all models.

use super::models::Architecture;
use crate::experiment::{Experiment, SeedRun};
use crate::{Result, diagnose};
use boostfgl_graph::Graph;
use boostfgl_partition::{Description, Partition};
use boostfgl_report::{
    PartitionStats, Prediction, PredictionsWriter, RunFolder, SeedPartitionStats,
};

/// `predictions.csv`: every node of the graph under every seed.
/// A column `group:NAME` has the value of each protected attribute.
pub(crate) struct SimulationPredictions(PredictionsWriter);

impl SimulationPredictions {
    pub(super) fn start(experiment: &Experiment, folder: &RunFolder) -> Result<Self> {
        Ok(Self(folder.predictions_with(&group_headings(experiment.graph()))?))
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
            self.0.write_with(&row, &group_fields(graph, v))?;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<()> {
        Ok(self.0.finish()?)
    }
}

/// The headings of the group columns of a graph.
pub(crate) fn group_headings(graph: &Graph) -> Vec<String> {
    graph.group_columns().iter().map(|column| format!("group:{}", column.name)).collect()
}

/// The values of node v in them; empty where it has none.
pub(crate) fn group_fields(graph: &Graph, v: usize) -> Vec<&str> {
    let columns = graph.group_columns().iter();
    let value = columns.map(|column| (column, column.of_node[v]));
    value.map(|(column, value)| value.map_or("", |at| &column.values[at as usize])).collect()
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
    let models = runs.iter().flat_map(|run| {
        let personal = run.outcome.models.len() > 1;
        run.outcome.models.iter().enumerate().map(move |(k, params)| {
            let client = if personal { format!(".client{k}") } else { String::new() };
            (format!("seed{}{client}", run.seed), params)
        })
    });
    let graph = experiment.graph();
    let about = Architecture {
        config: experiment.config(),
        dataset: graph.name(),
        inputs: graph.width(),
        classes: graph.labels().names(),
    };
    let bytes = about.safetensors(&models.collect::<Vec<_>>())?;
    folder.write_atomic(RunFolder::MODEL, &bytes)?;
    Ok(())
}

/// Writes the results of the diagnostics, if there were any.
pub(super) fn write_diagnostics(folder: &RunFolder, runs: &[SeedRun]) -> Result<()> {
    let Some(found) = diagnose::diagnostics_file(runs) else { return Ok(()) };
    folder.write_atomic(RunFolder::DIAGNOSTICS, found.to_json().as_bytes())?;
    Ok(())
}
