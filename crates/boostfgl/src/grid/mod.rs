//! Grids: several methods on several datasets over several seeds, run in parallel.
//!
//! A [`Grid`] is datasets × methods (with their boosts) × seeds; one of its cells is one method on
//! one dataset under one seed. All cells of a dataset and seed share one partition and split, so
//! that methods can be compared in pairs.
//!
//! Every cell has a digest of everything that its results depend on ([`identity`]). A finished cell
//! is stored under its digest ([`CellStore`]) and reused: a grid that was interrupted, or that gets
//! another method, runs only the cells that are missing. Cells do not depend on each other, so
//! results are the same for any number of threads.

mod axes;
mod blocks;
mod budget;
mod contender;
mod detail;
pub mod identity;
mod schedule;

pub use axes::{Axes, Axis, under};
pub use blocks::Blocks;
pub use boostfgl_report::{CellRecord, CellStore, StoredCell};
pub use budget::{BudgetKind, CALIBRATION, Probing};
pub use contender::{contenders, find};

use crate::config::{Assignment, Checked, Config};
use crate::{Error, Experiment, Result, memory};
use boostfgl_fairness::diagnostics::DiagnosticKind;
use boostfgl_fed::boost::Boost;
use boostfgl_fed::methods::MethodInfo;
use boostfgl_report::{Cell, Comparison, Detail, Outcome};
use identity::CellInputs;
use std::num::NonZeroUsize;

/// A method with the boosts that are stacked on it.
#[derive(Clone, Debug)]
pub struct Stacked {
    /// The method.
    pub method: &'static MethodInfo,
    /// The boosts that are on, in order, each once.
    pub boosts: Vec<Boost>,
    /// The keys that are varied, with their values; none of them without an effect on the method.
    pub settings: Vec<Assignment>,
}

/// Datasets × methods × seeds.
pub struct Grid {
    /// By dataset, or by dataset and variant of its configuration, and by method.
    experiments: Vec<Vec<Experiment>>,
    /// The name of each variant, shown after its dataset; empty where there is only one.
    variants: Vec<String>,
    stacked: Vec<Stacked>,
    seeds: Vec<u64>,
    /// Whether cells store their curves and diagnostics.
    examined: bool,
}

/// A cell that ran, or that was in the store.
#[derive(Clone, Debug)]
pub struct FinishedCell {
    /// Its result, or the error.
    pub outcome: Outcome,
    /// Its curves and diagnostics, if requested.
    pub detail: Option<Box<Detail>>,
}

/// All cells of a grid.
#[derive(Clone, Debug)]
pub struct Cells {
    /// By variant, method and seed; `None` for a cell that neither was stored nor ran.
    pub cells: Vec<Option<FinishedCell>>,
    /// The number of cells that were in the store.
    pub reused: usize,
    /// The number of cells that ran.
    pub ran: usize,
}

/// The resources of a grid.
#[derive(Clone, Copy, Debug)]
pub struct Resources {
    /// Threads in all.
    pub threads: NonZeroUsize,
    /// The most memory that the cells that run at a time may use together, in bytes, by estimate. A
    /// cell that alone needs more is not run.
    pub memory: Option<u64>,
}

/// Reports the progress of a grid.
pub trait GridProgress {
    /// The store was searched: `reused` of `cells` are in it.
    fn begin(&mut self, _cells: usize, _reused: usize) {}
    /// A message for the user, such as that a cell file cannot be used.
    fn note(&mut self, _text: &str) {}
    /// A round of some cell has ended; `share` of the work to do is done.
    fn round(&mut self, _share: f64) {}
    /// A cell has ended: number `done` of the `total` that run.
    fn cell(&mut self, _dataset: &str, _label: &str, _cell: &Cell, _done: usize, _total: usize) {}
}

impl GridProgress for () {}

/// The result of a grid.
#[derive(Clone, Debug)]
pub struct GridOutcome {
    /// The comparison.
    pub comparison: Comparison,
    /// The number of cells.
    pub cells: usize,
    /// The number of cells in the store.
    pub reused: usize,
}

impl Grid {
    /// Every method of `stacked` on each of `datasets`, over the seeds of the first.
    ///
    /// # Errors
    /// If a list is empty, two datasets have the same name, their seeds differ, a method's
    /// configuration is out of range, or a dataset cannot be trained on.
    pub fn new(datasets: &[Experiment], stacked: Vec<Stacked>) -> Result<Self> {
        Self::of_blocks(datasets, vec![String::new(); datasets.len()], stacked)
    }

    /// Like [`Grid::new`] with datasets of which some are variants, each with a name: the same data
    /// under other partitions or splits.
    ///
    /// # Errors
    /// As [`Grid::new`].
    pub fn of_blocks(
        datasets: &[Experiment],
        variants: Vec<String>,
        stacked: Vec<Stacked>,
    ) -> Result<Self> {
        let Some(first) = datasets.first().filter(|_| !stacked.is_empty()) else {
            return Err(Error::usage(
                "compare",
                "expected a dataset and a method, found none",
                "Name at least one of each.",
            ));
        };
        let seeds = first.config().seeds.clone();
        for (at, dataset) in datasets.iter().enumerate() {
            let name = dataset.graph().name();
            let twice = |other: usize| {
                datasets[other].graph().name() == name && variants[other] == variants[at]
            };
            if (0..at).any(twice) {
                let reason = format!("expected every dataset once, found two called `{name}`");
                return Err(Error::usage("DATA", reason, "Leave one out, or rename its file."));
            }
            if dataset.config().seeds != seeds {
                return Err(Error::usage(
                    name,
                    "expected the seeds of the other datasets, found others",
                    "Use the same seeds.",
                ));
            }
            dataset.check_inputs()?;
        }
        Self::of_variants(datasets, variants, stacked)
    }

    /// Like [`Grid::new`] with experiments that may be several variants of one dataset, each with a
    /// name.
    ///
    /// # Errors
    /// If a method's configuration is out of range.
    pub fn of_variants(
        experiments: &[Experiment],
        variants: Vec<String>,
        stacked: Vec<Stacked>,
    ) -> Result<Self> {
        let seeds =
            experiments.first().map(|first| first.config().seeds.clone()).unwrap_or_default();
        let experiments =
            experiments.iter().map(|base| with_methods(base, &stacked)).collect::<Result<_>>()?;
        Ok(Self { experiments, variants, stacked, seeds, examined: false })
    }

    /// The same grid, whose cells store their curves and run these diagnostics.
    #[must_use]
    pub fn examined(mut self, diagnostics: &[DiagnosticKind]) -> Self {
        self.examined = true;
        for methods in &mut self.experiments {
            *methods = std::mem::take(methods)
                .into_iter()
                .map(|experiment| experiment.with_diagnostics(diagnostics.to_vec()))
                .collect();
        }
        self
    }

    /// Runs the cells that are not in the store, and compares all with method number `base`.
    ///
    /// A cell that fails is part of the outcome and does not stop the others; it runs again next
    /// time.
    ///
    /// # Errors
    /// If the store cannot be written, or a partition file cannot be read.
    ///
    /// # Panics
    /// If `base` is not the number of a method.
    pub fn run(
        &self,
        base: usize,
        resources: Resources,
        store: &CellStore,
        progress: &mut dyn GridProgress,
    ) -> Result<GridOutcome> {
        let Cells { cells, reused, ran } = self.cells(resources, store, progress)?;
        let threads =
            schedule::threads_per_cell(ran, resources.threads.get()).first().copied().unwrap_or(1);
        let outcomes = cells.into_iter().map(|cell| cell.map(|cell| cell.outcome)).collect();
        Ok(GridOutcome {
            comparison: self.comparison(base, outcomes, threads),
            cells: self.len(),
            reused,
        })
    }

    /// Runs the cells that are not in the store. Returns all cells by variant, method and seed.
    ///
    /// # Errors
    /// If the store cannot be written, or a partition file cannot be read.
    pub fn cells(
        &self,
        resources: Resources,
        store: &CellStore,
        progress: &mut dyn GridProgress,
    ) -> Result<Cells> {
        let (mut cells, jobs) = self.search(store, progress)?;
        progress.begin(cells.len(), cells.len() - jobs.len());
        schedule::run(self, &jobs, resources, store, progress, &mut cells)?;
        Ok(Cells { reused: cells.len() - jobs.len(), ran: jobs.len(), cells })
    }

    /// The cells that are in the store; nothing is run.
    ///
    /// # Errors
    /// If a partition file cannot be read.
    pub fn finished(&self, store: &CellStore, progress: &mut dyn GridProgress) -> Result<Cells> {
        let (cells, jobs) = self.search(store, progress)?;
        Ok(Cells { reused: cells.len() - jobs.len(), ran: 0, cells })
    }

    /// The cells that are in the store, and those that are left to run.
    fn search(
        &self,
        store: &CellStore,
        progress: &mut dyn GridProgress,
    ) -> Result<(Vec<Option<FinishedCell>>, Vec<Job>)> {
        let mut jobs = self.jobs()?;
        let mut cells = vec![None; jobs.len()];
        for job in &mut jobs {
            match store.find(&job.digest) {
                StoredCell::Cell(record) if self.suffices(job, &record) => {
                    let CellRecord { measured, detail, .. } = *record;
                    cells[job.at] =
                        Some(FinishedCell { outcome: Outcome::Done(Box::new(measured)), detail });
                }
                // It runs again with its earlier diagnostics and the new ones: its file is
                // replaced, and another experiment may need the earlier findings.
                StoredCell::Cell(record) => job.add_diagnostics(&record),
                StoredCell::Nothing => {}
                StoredCell::Unusable(reason) => {
                    progress.note(&format!("{reason}; this cell runs again"));
                }
            }
        }
        jobs.retain(|job| cells[job.at].is_none());
        Ok((cells, jobs))
    }

    /// Whether a stored cell has everything requested.
    fn suffices(&self, job: &Job, record: &CellRecord) -> bool {
        let wanted = self.experiments[job.dataset][job.method].diagnostics();
        !self.examined || record.detail.as_ref().is_some_and(|detail| detail.covers(wanted))
    }

    /// The dataset of a block, and its variant if there are several.
    pub fn block_name(&self, block: usize) -> String {
        let name =
            self.experiments[block].first().map_or("", |experiment| experiment.graph().name());
        match self.variants[block].as_str() {
            "" => name.to_owned(),
            variant => format!("{name} ({variant})"),
        }
    }

    /// The rows: methods under settings.
    pub fn stacked(&self) -> &[Stacked] {
        &self.stacked
    }

    /// The configuration of a block and row.
    ///
    /// # Panics
    /// If there is no such block or row.
    pub fn config(&self, block: usize, row: usize) -> &Checked<Config> {
        self.experiments[block][row].config()
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.experiments.len() * self.stacked.len() * self.seeds.len()
    }

    /// Never true for a grid made by [`Grid::new`].
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The cells with their digests, by dataset, seed and method: cells that share a partition are
    /// neighbours.
    fn jobs(&self) -> Result<Vec<Job>> {
        let mut jobs = Vec::with_capacity(self.len());
        for (dataset, methods) in self.experiments.iter().enumerate() {
            // All methods of a dataset have the same graph and the same partition file.
            let Some(inputs) = methods.first().map(CellInputs::of).transpose()? else { continue };
            for (seed_at, &seed) in self.seeds.iter().enumerate() {
                for (method, experiment) in methods.iter().enumerate() {
                    let at = (dataset * self.stacked.len() + method) * self.seeds.len() + seed_at;
                    let digest = identity::of_cell(experiment.config(), seed, &inputs);
                    // Stored apart: the time of diagnostics is no cost of the method.
                    let digest = if self.examined { format!("{digest}-examined") } else { digest };
                    let diagnostics = experiment.diagnostics().to_vec();
                    jobs.push(Job { at, dataset, method, seed, seed_at, digest, diagnostics });
                }
            }
        }
        Ok(jobs)
    }

    /// The cells of one method on one dataset, one per seed, from the next outcomes.
    fn row(
        &self,
        experiment: &Experiment,
        threads: usize,
        outcomes: &mut impl Iterator<Item = Option<Outcome>>,
    ) -> Vec<Cell> {
        let peak_bytes = memory::estimate(experiment.graph(), experiment.config(), threads);
        let mut cells = Vec::with_capacity(self.seeds.len());
        for &seed in &self.seeds {
            let outcome = outcomes.next().flatten();
            let outcome =
                outcome.unwrap_or_else(|| Outcome::Failed { message: "it did not run".to_owned() });
            cells.push(Cell { seed, outcome, peak_bytes });
        }
        cells
    }

    fn comparison(
        &self,
        base: usize,
        outcomes: Vec<Option<Outcome>>,
        threads: usize,
    ) -> Comparison {
        let mut outcomes = outcomes.into_iter();
        let mut datasets = Vec::with_capacity(self.experiments.len());
        for (block, methods) in self.experiments.iter().enumerate() {
            let rows = methods.iter().map(|method| self.row(method, threads, &mut outcomes));
            datasets.push((self.block_name(block), rows.collect()));
        }
        Comparison::new(
            base,
            self.stacked.iter().map(Stacked::contender).collect(),
            self.seeds.clone(),
            datasets,
        )
    }
}

/// Every method of `stacked` on the data of `base`.
fn with_methods(base: &Experiment, stacked: &[Stacked]) -> Result<Vec<Experiment>> {
    let methods = stacked.iter();
    methods
        .map(|one| {
            let experiment = base.with_method(one.method.name, Some(one.boosts.clone()))?;
            match one.settings.as_slice() {
                [] => Ok(experiment),
                settings => experiment.with_settings(settings),
            }
        })
        .collect()
}

/// A cell to run.
struct Job {
    /// Its place among the outcomes.
    at: usize,
    dataset: usize,
    method: usize,
    seed: u64,
    seed_at: usize,
    digest: String,
    /// Its diagnostics.
    diagnostics: Vec<DiagnosticKind>,
}

impl Job {
    /// Adds the diagnostics of an earlier run of the cell.
    fn add_diagnostics(&mut self, record: &CellRecord) {
        let earlier = record.detail.iter().flat_map(|detail| &detail.diagnostics);
        let earlier = earlier
            .filter_map(|name| DiagnosticKind::ALL.into_iter().find(|which| which.name() == name));
        self.diagnostics.extend(earlier);
        self.diagnostics.sort_unstable();
        self.diagnostics.dedup();
    }
}
