//! `boostfgl compare`.

use crate::args::{PrintFlags, ProtocolFlags, ResourceFlags};
use crate::progress::Cells;
use crate::{comparison_folder, output};
use anyhow::Result;
use boostfgl::grid::{self, Axes, Blocks, BudgetKind, CellStore, GridOutcome, Probing, Resources};
use boostfgl::report::{RunFolder, Varied};
use boostfgl::sources::Sources;
use boostfgl::{Checked, Config, Error, Experiment, Grid};
use clap::{Args, ValueEnum};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Compare methods on the same seeds, clients and splits, with intervals and tests
///
/// Runs every method on every dataset with every seed. All methods share one partition and one
/// split per dataset and seed, so they are compared in pairs. Prints mean and spread, the
/// difference to a base with a 95 % bootstrap interval, Wilcoxon's signed-rank test after Holm's
/// adjustment, mean ranks, and the cost of each method. Five seeds on one dataset cannot make a
/// difference significant at 5 % (the smallest possible p is 0.0625); several datasets together,
/// or at least eight seeds, can.
///
/// METHODS is a list of names (`boostfgl methods`); + stacks boosts on one of them.
///
/// Finished runs are cached in the folder. The same command, or one with more methods, datasets
/// or seeds, reuses them and runs only what is missing.
///
/// Examples:
///   boostfgl compare cora --methods fedavg,boostfgl           two methods, five seeds
///   boostfgl compare cora citeseer --methods all --seeds 10   every method on two datasets
///   boostfgl compare cora --methods fedavg,fedavg+node,fedavg+all --base fedavg
///                                                             what each boost adds
///   boostfgl compare cora --methods fedavg,moon --vary lr=0.005,0.01,0.02
///                                                             a curve over learning rates
///   boostfgl compare cora --methods fedavg --vary hidden=16,64 --vary backbone=gcn,sage
///                                                             a heat map of two keys
///   boostfgl compare cora --methods fedavg,scaffold --budget bytes
///                                                             the same traffic for both
///   boostfgl compare cora --format latex > table.tex          a table for a paper
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    mut_arg("json", |json| json.help("Short for --format json").conflicts_with("format"))
)]
pub(crate) struct Compare {
    /// Datasets: catalogue names (`boostfgl data list`), paths to your own files, or
    /// generate:PRESET [default: demo]
    #[arg(value_name = "DATA")]
    data: Vec<String>,

    /// Methods to compare, such as fedavg,boostfgl,fedavg+node+topology, or all
    ///
    /// The default includes isolated (every client alone) and central (all data in one place),
    /// which show what federated training gains and what is left to gain.
    #[arg(long, short, value_name = "METHODS", default_value = "fedavg,boostfgl,isolated,central")]
    methods: String,

    /// Vary a key: every value, and with several --vary every combination, is a row
    ///
    /// KEY is any key of `boostfgl config show`, also by its last part (lr is learning_rate). One
    /// key gives a curve per method with a band over seeds, two give a heat map per method, in
    /// report.html and comparison-varied.csv. Keys of partition, split and groups make blocks of
    /// their own, since runs with other values of them are no pairs.
    #[arg(long, value_name = "KEY=VALUE,VALUE")]
    vary: Vec<String>,

    /// Give every method the same rounds, bytes or cpu as --base has with its configured rounds
    ///
    /// Methods differ in rounds of their own, in what they send and in what they compute. rounds
    /// counts those that a method adds; bytes follows from the exact payload of each method, in
    /// both directions; cpu is measured once, and calibration.toml in the folder keeps the result,
    /// so that the same command gives the same digits. The table says how many rounds each got.
    #[arg(long, value_name = "rounds|bytes|cpu")]
    budget: Option<String>,

    /// The method that the others are compared with [default: the first]
    #[arg(long, value_name = "METHOD")]
    base: Option<String>,

    #[command(flatten)]
    protocol: ProtocolFlags,

    #[command(flatten)]
    resources: ResourceFlags,

    /// Folder of the comparison; an earlier one is continued [default: runs/compare-DATA]
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Form to print; the folder gets all of them
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,

    #[command(flatten)]
    printing: PrintFlags,
}

/// Forms of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Tables for the terminal
    Table,
    /// Tables for a document
    Markdown,
    /// One record per dataset, method, metric and seed
    Csv,
    /// Tables for a paper (booktabs)
    Latex,
    /// Everything, for other programs
    Json,
}

/// What a comparison runs.
struct Plan {
    grid: Grid,
    /// The row that the others are compared with.
    base: usize,
    datasets: Vec<Experiment>,
    /// Known flaws of the datasets.
    flaws: Vec<&'static str>,
    varied: Varied,
}

impl Compare {
    pub(crate) fn execute(&self) -> Result<()> {
        let memory = self.resources.budget()?;
        // Checks the number of threads; cells then run in pools of their own.
        let pool = self.resources.pool()?;
        let budget = self.budget.as_deref().map(BudgetKind::parse).transpose()?;
        let Plan { mut grid, base, datasets, flaws, varied } = self.plan(&pool)?;
        let names: Vec<String> = datasets.iter().map(|d| d.graph().name().to_owned()).collect();
        let folder = comparison_folder::prepare(self.out.as_deref(), "compare", &names)?;
        comparison_folder::write_configs(&folder, &datasets)?;
        let store = CellStore::open(&folder).map_err(Error::from)?;
        let threads = NonZeroUsize::new(pool.current_num_threads()).unwrap_or(NonZeroUsize::MIN);
        drop(pool);
        crate::signals::quit_with_note(
            "finished cells are saved; the same command continues with the rest",
        );
        let mut progress = Cells::new(self.printing.quiet);
        let resources = Resources { threads, memory };
        let mut equal = None;
        if let Some(kind) = budget {
            let probing = Probing { folder: &folder, store: &store, resources };
            let (limited, budget) = grid.with_budget(kind, base, &probing, &mut progress)?;
            (grid, equal) = (limited, Some(budget));
        }
        let mut outcome = grid.run(base, resources, &store, &mut progress)?;
        drop(progress);
        outcome.comparison.budget = equal;
        outcome.comparison.varied = varied;
        comparison_folder::write_all(&folder, &outcome.comparison, &[])?;
        let report =
            Sources::find(std::slice::from_ref(&folder), boostfgl_reproduce::NAMES)?.report();
        comparison_folder::write_report(&folder, &report.html())?;
        self.print(&outcome, &folder, &flaws)?;
        comparison_folder::complete(&outcome.comparison, outcome.cells)
    }

    /// Reads the data, and decides what runs on them.
    fn plan(&self, pool: &rayon::ThreadPool) -> Result<Plan> {
        let configs = self.configs()?;
        let axes = Axes::parse(&self.vary)?;
        axes.check(&configs[0])?;
        let keys = axes.keys();
        let (of_pairs, of_blocks) = axes.divided();
        let boosts = configs[0].boosts.clone();
        let boosts = boosts.as_deref();
        let stacked = grid::contenders(&self.methods, boosts)?;
        let stacked = grid::under(&stacked, &of_pairs.combinations())?;
        let base = self.base.as_deref().map_or(Ok(0), |base| grid::find(base, boosts, &stacked))?;
        let (datasets, flaws) = self.load(configs, pool)?;
        let Blocks { experiments, variants, settings } =
            pool.install(|| Blocks::new(&datasets, &of_blocks))?;
        // `examined` stores the curves of each cell, which the report shows.
        let grid = pool.install(|| Grid::of_blocks(&experiments, variants, stacked))?.examined(&[]);
        let blocks = if keys.is_empty() { Vec::new() } else { settings };
        Ok(Plan { grid, base, datasets, flaws, varied: Varied { keys, blocks } })
    }

    /// The configuration of each dataset; they differ only in what the dataset's protocol sets.
    fn configs(&self) -> Result<Vec<Checked<Config>>> {
        self.check_usage()?;
        if self.data.is_empty() {
            return Ok(vec![self.config_for(None)?]);
        }
        self.data.iter().map(|data| self.config_for(Some(data))).collect()
    }

    /// Refuses flags and arguments that have no meaning in a comparison.
    fn check_usage(&self) -> Result<(), Error> {
        if self.protocol.sets("dataset") {
            return Err(Error::usage(
                "--set dataset",
                "expected datasets as arguments",
                "Name them: boostfgl compare cora citeseer.",
            ));
        }
        if self.protocol.sets("method") {
            let reason = "expected methods in --methods";
            return Err(Error::usage("--set method", reason, "Use --methods a,b,c."));
        }
        if self.protocol.partition.is_some() && self.data.len() > 1 {
            let reason = format!(
                "expected one dataset, since a partition belongs to one graph, found {}",
                self.data.len()
            );
            let advice = "Compare on one dataset at a time, or leave --partition out.";
            return Err(Error::usage("--partition", reason, advice));
        }
        for (at, name) in self.data.iter().enumerate() {
            if self.data[..at].contains(name) {
                let reason = format!("expected every dataset once, found `{name}` twice");
                return Err(Error::usage("DATA", reason, "Leave one of them out."));
            }
        }
        Ok(())
    }

    /// The configuration of one dataset, by default the demo graph.
    fn config_for(&self, data: Option<&str>) -> Result<Checked<Config>> {
        let layers = self.protocol.layers(data, None)?;
        let (config, _) = layers.resolve()?;
        let methods = self.methods.split(',').filter_map(|stacked| stacked.split('+').next());
        methods.map(str::trim).try_for_each(|method| layers.check_shortened(method))?;
        // A comparison labels runs by their methods.
        Ok(config.without_name())
    }

    /// Reads the datasets and their known flaws.
    fn load(
        &self,
        configs: Vec<Checked<Config>>,
        pool: &rayon::ThreadPool,
    ) -> Result<(Vec<Experiment>, Vec<&'static str>)> {
        let (mut datasets, mut flaws) = (Vec::new(), Vec::new());
        for config in configs {
            let (data, graph) = self.protocol.data_flags.load(&config, self.printing.quiet)?;
            datasets.push(pool.install(|| Experiment::new(config, graph))?);
            flaws.extend(Some(data.flaws()).filter(|flaws| !flaws.is_empty()));
        }
        Ok((datasets, flaws))
    }

    fn print(&self, outcome: &GridOutcome, folder: &Path, flaws: &[&str]) -> Result<()> {
        let comparison = &outcome.comparison;
        let text = match if self.printing.json { Format::Json } else { self.format } {
            Format::Markdown => comparison.markdown(),
            Format::Csv => comparison.csv(),
            Format::Latex => comparison.latex(),
            Format::Json => comparison.to_json(),
            Format::Table => {
                let mut text = comparison.text(output::style());
                flaws.iter().for_each(|flaw| text.push_str(&format!("Note: {flaw}\n")));
                let GridOutcome { cells, reused, .. } = outcome;
                text.push_str(&format!(
                    "\n{reused} of {cells} cells reused; all in {}\n",
                    folder.display()
                ));
                text.push_str(&format!("report: {}\n", folder.join(RunFolder::REPORT).display()));
                text
            }
        };
        output::print(&text)
    }
}
