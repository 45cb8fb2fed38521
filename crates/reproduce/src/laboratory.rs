//! Running plans.

use crate::{Origin, Plan, Results, Row, Variant};
use boostfgl::grid::{self, CellStore, GridProgress, Resources};
use boostfgl::{Checked, Config, Data, Error, Experiment, Grid, Layers, Result};
use boostfgl_data::catalogue::Lookup;
use boostfgl_report::{Cause, NOT_RUN, OVER_BUDGET};
use std::collections::BTreeMap;

/// Runs plans on the datasets of this machine. Every graph is read once, and every cell runs once.
pub struct Laboratory {
    lookup: Lookup,
    store: CellStore,
    /// What cells may use; `None` if only stored cells are used.
    resources: Option<Resources>,
    /// Per dataset the experiment that variants are made from; `None` if it is not on this machine.
    datasets: BTreeMap<String, Option<Experiment>>,
}

/// One variant on one dataset.
struct Block {
    /// The columns that its rows share.
    row: Row,
    /// The varied settings, as `key = value`.
    label: String,
    experiment: Experiment,
}

/// A row and the cell whose numbers go into it.
type Filling = (Row, Option<Cause>);

/// The result of running a plan.
#[derive(Clone, Debug)]
pub struct Ran {
    /// What was measured.
    pub results: Results,
    /// Cells in all.
    pub cells: usize,
    /// Cells that were in the store.
    pub reused: usize,
    /// Cells that failed, if any: how many, and dataset, method and reason of the first.
    pub failed: Option<(usize, String)>,
}

impl Laboratory {
    /// Finds data with `lookup` and stores cells in `store`. Without resources nothing runs, and
    /// only stored cells are used.
    pub fn new(lookup: Lookup, store: CellStore, resources: Option<Resources>) -> Self {
        Self { lookup, store, resources, datasets: BTreeMap::new() }
    }

    /// Runs a plan. Datasets that are not on this machine are left out and listed in the results.
    ///
    /// # Errors
    /// If a setting is wrong, no dataset is on this machine, or cells cannot be stored.
    pub fn run(
        &mut self,
        name: &str,
        plan: &Plan,
        origin: Origin,
        progress: &mut dyn GridProgress,
    ) -> Result<Ran> {
        let variants = plan.variants();
        let left_out = self.left_out(&variants, progress)?;
        let blocks = self.blocks(plan, &variants)?;
        if blocks.is_empty() {
            let reason = format!(
                "expected at least one of its datasets on this machine, found none ({})",
                left_out.join(", ")
            );
            let advice = "Point BOOSTFGL_DATA at them, or fetch one: boostfgl data fetch cora.";
            return Err(Error::usage(name, reason, advice));
        }
        let (cells, reused) = self.cells(plan, &blocks, progress)?;
        let (number, columns, rows) = (cells.len(), Vec::new(), Vec::new());
        let mut results = Results {
            version: Results::VERSION,
            name: name.to_owned(),
            origin,
            left_out,
            columns,
            rows,
        };
        results.fill(cells);
        Ok(Ran { failed: first_failure(&results), results, cells: number, reused })
    }

    /// The datasets that are not on this machine.
    fn left_out(
        &mut self,
        variants: &[Variant],
        progress: &mut dyn GridProgress,
    ) -> Result<Vec<String>> {
        let mut left_out = Vec::new();
        for dataset in variants.iter().flat_map(|variant| &variant.datasets) {
            if self.dataset(dataset)?.is_none() && !left_out.contains(dataset) {
                let how = format!("boostfgl data fetch {dataset}");
                progress.note(&format!("{dataset} is left out: it is not on this machine ({how})"));
                left_out.push(dataset.clone());
            }
        }
        Ok(left_out)
    }

    /// All variants on the datasets that are on this machine.
    fn blocks(&mut self, plan: &Plan, variants: &[Variant]) -> Result<Vec<Block>> {
        let mut blocks = Vec::new();
        for variant in variants {
            for dataset in &variant.datasets {
                let Some(base) = self.dataset(dataset)? else { continue };
                let config = configuration(dataset, &variant.settings, plan.seeds)?;
                let (sweep, varied) = (variant.sweep.clone(), variant.varied.clone());
                let row = Row { sweep, dataset: dataset.clone(), varied, ..Row::default() };
                let label: Vec<String> =
                    variant.varied.iter().map(|(key, value)| format!("{key} = {value}")).collect();
                blocks.push(Block {
                    row,
                    label: label.join(", "),
                    experiment: base.with_config(config)?,
                });
            }
        }
        Ok(blocks)
    }

    /// The cells of a plan with the rows that they fill, and how many of them were in the store.
    fn cells(
        &self,
        plan: &Plan,
        blocks: &[Block],
        progress: &mut dyn GridProgress,
    ) -> Result<(Vec<Filling>, usize)> {
        let stacked = grid::contenders(&plan.methods.join(","), None)?;
        let labels: Vec<String> = stacked.iter().map(grid::Stacked::label).collect();
        let experiments: Vec<Experiment> =
            blocks.iter().map(|block| block.experiment.clone()).collect();
        let variants = blocks.iter().map(|block| block.label.clone()).collect();
        let mut grid = Grid::of_variants(&experiments, variants, stacked)?;
        if let Some(diagnostics) = plan.examined()? {
            grid = grid.examined(&diagnostics);
        }
        let found = match self.resources {
            Some(resources) => grid.cells(resources, &self.store, progress)?,
            None => grid.finished(&self.store, progress)?,
        };
        // In the order of the grid: by variant, method and seed.
        let rows = blocks.iter().flat_map(|block| {
            labels.iter().flat_map(move |method| {
                let seeds = block.experiment.config().seeds.iter();
                seeds.map(move |&seed| Row { method: method.clone(), seed, ..block.row.clone() })
            })
        });
        let cells =
            found.cells.into_iter().map(|cell| cell.map(|cell| (cell.outcome, cell.detail)));
        Ok((rows.zip(cells).collect(), found.reused))
    }

    /// The dataset of that name under the defaults of its protocol; `None` if it is not on this
    /// machine.
    ///
    /// # Errors
    /// If it is on this machine and cannot be read or trained on.
    fn dataset(&mut self, name: &str) -> Result<Option<&Experiment>> {
        if !self.datasets.contains_key(name) {
            let experiment = match Data::named(name)?.load(&self.lookup, None, &mut |_, _| {}) {
                Ok(graph) => {
                    Some(Experiment::new(configuration(name, &BTreeMap::new(), 1)?, graph)?)
                }
                Err(Error::Graph(boostfgl_graph::Error::NotFound { .. })) => None,
                Err(error) => return Err(error),
            };
            experiment.iter().try_for_each(Experiment::check_inputs)?;
            self.datasets.insert(name.to_owned(), experiment);
        }
        Ok(self.datasets[name].as_ref())
    }
}

/// The protocol of a dataset with some settings and the first seeds.
fn configuration(
    dataset: &str,
    settings: &BTreeMap<String, toml::Value>,
    seeds: usize,
) -> Result<Checked<Config>> {
    let mut layers = Layers::new();
    layers.set("dataset", dataset, "the plan")?;
    layers.set("seeds", (0..seeds as i64).collect::<Vec<i64>>(), "the plan")?;
    for (key, value) in settings {
        layers.set(key, value.clone(), "the plan")?;
    }
    Ok(layers.resolve()?.0)
}

/// How many cells failed, and the first of them.
fn first_failure(results: &Results) -> Option<(usize, String)> {
    let failed: Vec<(&Row, &str)> =
        results.rows.iter().filter_map(|row| Some((row, failure(row)?))).collect();
    let (first, reason) = failed.first()?;
    let text = format!("{} on {}, seed {}: {reason}", first.method, first.dataset, first.seed);
    Some((failed.len(), text))
}

/// Why a cell failed; `None` if it did not. Cells over the memory budget and cells that were not
/// run are not failures.
fn failure(row: &Row) -> Option<&str> {
    let reason = row.missing.as_deref()?;
    (!reason.starts_with(OVER_BUDGET) && reason != NOT_RUN).then_some(reason)
}
