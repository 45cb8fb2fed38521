//! Diagnosing where unfairness arises, in a new run or in a recorded one.
//!
//! An [`Inquiry`] lists what to compute: diagnostics, frames (a metric by groups of nodes), frames of
//! every round. [`train`] runs an experiment for it. A [`RecordedRun`] reads the answer from its
//! folder, or trains again to the same digits if the folder does not have it.

mod recorded;
mod round_frames;

pub use recorded::RecordedRun;

use crate::checkpoint::CheckpointOptions;
use crate::experiment::{Experiment, Progress, Run, SeedRun};
use crate::{Data, Error, Result};
use boostfgl_data::readers;
use boostfgl_fairness::diagnostics::DiagnosticKind;
use boostfgl_fairness::frame::{FrameOptions, MIN_GROUP, SeedFrame, SeedFrames};
use boostfgl_fairness::{Facts, FrameMetric, Grouping, MetricFrame};
use boostfgl_graph::groups::Groups;
use boostfgl_graph::{Graph, Role};
use boostfgl_partition::Partition;
use boostfgl_report::{DiagnosticsFile, GroupCurves, RunFolder, SeedDiagnosis, Summary};
use round_frames::RoundFrameProgress;
use std::path::Path;

/// The metrics, groups and diagnostics to compute for a run.
#[derive(Clone, Debug)]
pub struct Inquiry {
    /// The diagnostics.
    pub diagnostics: Vec<DiagnosticKind>,
    /// The groupings of nodes.
    pub groupings: Vec<Grouping>,
    /// The metrics, each on every grouping.
    pub metrics: Vec<FrameMetric>,
    /// Groups with fewer counted cases are shown, but not ranked.
    pub min_group: usize,
    /// Whether groups are also measured after every evaluated round.
    pub per_round: bool,
}

impl Default for Inquiry {
    fn default() -> Self {
        let (diagnostics, groupings, metrics) = (Vec::new(), Vec::new(), Vec::new());
        Self { diagnostics, groupings, metrics, min_group: MIN_GROUP, per_round: false }
    }
}

/// The answer to an [`Inquiry`].
#[derive(Clone, Debug)]
pub struct Answer {
    /// The run.
    pub summary: Summary,
    /// Results of the diagnostics, if there were any, with those that they depend on.
    pub diagnostics: Option<DiagnosticsFile>,
    /// Every metric on every grouping, grouping by grouping.
    pub frames: Vec<SeedFrames>,
    /// The same for every evaluated round, if requested; without a bootstrap.
    pub courses: Vec<GroupCurves>,
}

impl Inquiry {
    /// Checks before training what would otherwise fail after it: group columns and classes that the
    /// data do not have, and groupings with too many groups.
    ///
    /// # Errors
    /// Names what is missing.
    pub fn check(&self, graph: &Graph, clients: usize) -> Result<()> {
        let n = graph.len();
        let facts = Facts {
            truth: graph.labels(),
            prediction: &vec![0; n],
            nodes: &[],
            // All nodes belong to the last client, so that the number of clients is right.
            client: &vec![clients.saturating_sub(1) as u32; n],
            minority: &vec![None; n],
            heterophilous: &vec![false; n],
            homophily_unknown: &vec![false; n],
            degree: &degrees(graph),
            columns: graph.group_columns(),
        };
        self.measure(&facts, self.without_draws()).map(|_| ())
    }

    /// Every metric on every grouping, grouping by grouping.
    fn measure(&self, facts: &Facts<'_>, options: FrameOptions) -> Result<Vec<MetricFrame>> {
        let mut frames = Vec::new();
        for grouping in &self.groupings {
            frames.extend(MetricFrame::measure(facts, grouping, &self.metrics, options)?);
        }
        Ok(frames)
    }

    /// The options for measuring groups of a finished run.
    fn options(&self) -> FrameOptions {
        FrameOptions { min_group: self.min_group, ..FrameOptions::default() }
    }

    /// The same without a bootstrap, which would take too long in every round.
    fn without_draws(&self) -> FrameOptions {
        FrameOptions { draws: 0, ..self.options() }
    }
}

/// Runs an experiment to answer an inquiry, reports to `progress`, and writes the run folder with
/// checkpoints if one is given. Results are those of [`Experiment::run`].
///
/// # Errors
/// As [`Inquiry::check`] before training, as [`Experiment::run_with_checkpoints`] with a folder and
/// [`Experiment::run`] without.
pub fn train(
    experiment: &Experiment,
    inquiry: &Inquiry,
    progress: &mut dyn Progress,
    output: Option<(&RunFolder, CheckpointOptions<'_>)>,
) -> Result<Answer> {
    let graph = experiment.graph();
    inquiry.check(graph, experiment.config().partition.clients)?;
    let experiment = experiment.clone().with_diagnostics(inquiry.diagnostics.clone());
    let degree = degrees(graph);
    let mut watch = RoundFrameProgress::new(progress, graph, &degree, inquiry);
    let run = match output {
        Some((folder, options)) => experiment.run_with_checkpoints(&mut watch, folder, options),
        None => experiment.run_watched(&mut watch, None),
    }?;
    let curves = watch.curves()?;
    let frames = frames(&run, graph, &degree, inquiry)?;
    Ok(Answer {
        diagnostics: diagnostics_file(&run.seeds),
        summary: run.summary,
        frames,
        courses: curves,
    })
}

/// The results of the diagnostics of all seeds; `None` without diagnostics.
pub fn diagnostics_file(seeds: &[SeedRun]) -> Option<DiagnosticsFile> {
    let found: Vec<SeedDiagnosis> = seeds
        .iter()
        .filter_map(|run| Some(SeedDiagnosis { seed: run.seed, found: run.diagnosis.clone()? }))
        .collect();
    (!found.is_empty()).then(|| DiagnosticsFile::new(found))
}

/// The dataset of that name, where the folder of a run is accepted as well.
///
/// # Errors
/// If it is neither; the nearest dataset is suggested.
pub fn dataset(name: &str) -> Result<Data> {
    let found = Data::named(name).and_then(|data| match &data {
        Data::Path(path) => Ok(readers::detect(path).map(|_| data)?),
        _ => Ok(data),
    });
    found.map_err(|error| {
        let wanted = "the folder of a run (with config.toml and summary.json) or a dataset";
        let advice = "`boostfgl data list` lists the datasets; runs are in runs/ unless --out \
            named another folder.";
        Error::usage(name, format!("expected {wanted}, found neither: {error}"), advice)
    })
}

fn frames(
    run: &Run,
    graph: &Graph,
    degree: &[usize],
    inquiry: &Inquiry,
) -> Result<Vec<SeedFrames>> {
    let mut frames = Vec::with_capacity(run.seeds.len());
    for seed in &run.seeds {
        let nodes = EvaluatedNodes {
            partition: &seed.partition,
            groups: &seed.groups,
            nodes: &test_nodes(&seed.partition),
        };
        let facts = nodes.facts(graph, degree, &seed.outcome.predictions);
        frames.push((seed.seed, inquiry.measure(&facts, inquiry.options())?));
    }
    join(frames)
}

/// The evaluated nodes, and the partition and groups of all.
struct EvaluatedNodes<'a> {
    partition: &'a Partition,
    groups: &'a Groups,
    nodes: &'a [u32],
}

impl<'a> EvaluatedNodes<'a> {
    fn facts(&self, graph: &'a Graph, degree: &'a [usize], prediction: &'a [u32]) -> Facts<'a> {
        Facts {
            truth: graph.labels(),
            prediction,
            nodes: self.nodes,
            client: self.partition.assignment(),
            minority: &self.groups.minority,
            heterophilous: &self.groups.heterophilous,
            homophily_unknown: &self.groups.homophily_unknown,
            degree,
            columns: graph.group_columns(),
        }
    }
}

fn test_nodes(partition: &Partition) -> Vec<u32> {
    partition.split().nodes(Role::Test).map(|v| v as u32).collect()
}

fn degrees(graph: &Graph) -> Vec<usize> {
    (0..graph.len()).map(|v| graph.adjacency().degree(v)).collect()
}

/// Transposes the frames of each seed, which have the same order, into frames over seeds.
fn join(seeds: Vec<(u64, Vec<MetricFrame>)>) -> Result<Vec<SeedFrames>> {
    let mut over_seeds: Vec<Vec<SeedFrame>> = Vec::new();
    for (seed, frames) in seeds {
        over_seeds.resize_with(frames.len(), Vec::new);
        over_seeds
            .iter_mut()
            .zip(frames)
            .for_each(|(slot, frame)| slot.push(SeedFrame { seed, frame }));
    }
    Ok(over_seeds.into_iter().map(SeedFrames::new).collect::<Result<_, _>>()?)
}

/// Whether a path is the folder of a run, finished or not.
pub fn is_run(path: &Path) -> bool {
    path.join(RunFolder::SUMMARY).is_file()
        || (path.join(RunFolder::CONFIG).is_file() && path.join(RunFolder::ROUNDS).is_file())
}
