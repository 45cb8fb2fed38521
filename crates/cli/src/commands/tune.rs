//! `boostfgl tune`.

use crate::args::{PrintFlags, ProtocolFlags, ResourceFlags};
use crate::progress::Cells;
use crate::{comparison_folder, output};
use anyhow::Result;
use boostfgl::grid::{self, Axes, BudgetKind, CellStore, Probing, Resources, Stacked};
use boostfgl::report::{RunFolder, name, trials_csv, write_atomic};
use boostfgl::sources::Sources;
use boostfgl::tune::{Criterion, Search, Searched, trials};
use boostfgl::{Checked, Config, Error, Experiment, Grid};
use clap::Args;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Search for the best settings of each method, on validation nodes alone
///
/// Every method runs under the same settings and seeds, so that none is tuned harder than another.
/// Per dataset and method the setting with the best mean of --metric on validation nodes is chosen.
/// Then the chosen settings are compared on test nodes, as `compare` does, with what was chosen in
/// the table. Test scores of other settings are not shown.
///
/// Finished runs are cached in the folder. The same command, or one with more methods, values or
/// seeds, runs only what is missing. best/DATASET/METHOD.toml is the chosen configuration, which
/// `boostfgl run --config` accepts.
///
/// Examples:
///   boostfgl tune cora --methods fedavg,moon --vary lr=0.005,0.01,0.02
///                                                   every value, the same for both methods
///   boostfgl tune cora --vary lr=0.005,0.01,0.02 --vary hidden=16,64 --trials 4
///                                                   four of six combinations, drawn at random
///   boostfgl tune cora --methods fedavg --vary lr=0.01,0.1 --metric val_macro_f1
///                                                   chosen by macro-F1 on validation nodes
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Tune {
    /// Datasets: catalogue names (`boostfgl data list`), paths to your own files, or
    /// generate:PRESET [default: demo]
    #[arg(value_name = "DATA")]
    data: Vec<String>,

    /// Methods to tune, such as fedavg,boostfgl,fedavg+node
    #[arg(long, short, value_name = "METHODS", default_value = "fedavg,boostfgl")]
    methods: String,

    /// A key with the values to try; several --vary make a grid
    ///
    /// KEY is any key of training in `boostfgl config show`, also by its last part (lr is
    /// learning_rate).
    #[arg(long, value_name = "KEY=VALUE,VALUE", required = true)]
    vary: Vec<String>,

    /// Try N settings of the grid, drawn at random, the same for every method [default: all]
    #[arg(long, value_name = "N")]
    trials: Option<usize>,

    /// Seed of the random choice of settings; it has no effect on training
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    search_seed: u64,

    /// What to choose by: val_accuracy or val_macro_f1, on the validation nodes of the round that
    /// is reported
    #[arg(long, value_name = "METRIC", default_value = "val_accuracy")]
    metric: String,

    /// Give every setting of every method the same rounds, bytes or cpu as the first setting of
    /// --base (see `boostfgl compare --help`)
    #[arg(long, value_name = "rounds|bytes|cpu")]
    budget: Option<String>,

    /// The method that the others are compared with [default: the first]
    #[arg(long, value_name = "METHOD")]
    base: Option<String>,

    #[command(flatten)]
    protocol: ProtocolFlags,

    #[command(flatten)]
    resources: ResourceFlags,

    /// Folder of the search; an earlier one is continued [default: runs/tune-DATA]
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,

    #[command(flatten)]
    printing: PrintFlags,
}

/// The file of all trials.
const TRIALS: &str = "trials.csv";

/// The folder of the chosen configurations.
const BEST: &str = "best";

/// What a search runs.
struct Plan {
    grid: Grid,
    methods: Vec<Stacked>,
    /// The method that the others are compared with, and its first row.
    base: [usize; 2],
    datasets: Vec<Experiment>,
    keys: Vec<String>,
    trials: usize,
}

impl Tune {
    pub(crate) fn execute(&self) -> Result<()> {
        let memory = self.resources.budget()?;
        let pool = self.resources.pool()?;
        let criterion = Criterion::parse(&self.metric)?;
        let budget = self.budget.as_deref().map(BudgetKind::parse).transpose()?;
        let Plan { mut grid, methods, base: [base, first], datasets, keys, trials } =
            self.plan(&pool)?;
        let names: Vec<String> = datasets.iter().map(|d| d.graph().name().to_owned()).collect();
        let folder = comparison_folder::prepare(self.out.as_deref(), "tune", &names)?;
        comparison_folder::write_configs(&folder, &datasets)?;
        let store = CellStore::open(&folder).map_err(Error::from)?;
        let threads = NonZeroUsize::new(pool.current_num_threads()).unwrap_or(NonZeroUsize::MIN);
        drop(pool);
        crate::signals::quit_with_note(
            "finished cells are saved; the same command continues with the rest",
        );
        let mut progress = Cells::new(self.printing.quiet);
        let resources = Resources { threads, memory };
        if let Some(kind) = budget {
            let probing = Probing { folder: &folder, store: &store, resources };
            (grid, _) = grid.with_budget(kind, first, &probing, &mut progress)?;
        }
        let search = Search { grid: &grid, methods, criterion, trials, keys };
        let found = search.run(base, resources, &store, &mut progress)?;
        drop(progress);
        found.failures.iter().for_each(|failure| output::note(failure));
        write_results(&folder, &search.keys, &found)?;
        self.print(&found, &folder)
    }

    /// Reads the data, and decides what runs on them.
    fn plan(&self, pool: &rayon::ThreadPool) -> Result<Plan> {
        let axes = Axes::parse(&self.vary)?;
        axes.check_of_pairs()?;
        let settings = trials(&axes, self.trials, self.search_seed)?;
        let configs = self.configs()?;
        axes.check(&configs[0])?;
        let boosts = configs[0].boosts.clone();
        let boosts = boosts.as_deref();
        let methods = grid::contenders(&self.methods, boosts)?;
        let base = self.base.as_deref().map_or(Ok(0), |base| grid::find(base, boosts, &methods))?;
        let stacked = grid::under(&methods, &settings)?;
        let is_first = |row: &Stacked| row.under(&[]).label() == methods[base].label();
        let first = stacked.iter().position(is_first).unwrap_or(0);
        let datasets = self.load(configs, pool)?;
        let grid = pool.install(|| Grid::new(&datasets, stacked))?.examined(&[]);
        let (keys, trials) = (axes.keys(), settings.len());
        Ok(Plan { grid, methods, base: [base, first], datasets, keys, trials })
    }

    /// The configuration of each dataset.
    fn configs(&self) -> Result<Vec<Checked<Config>>> {
        for key in ["dataset", "method"] {
            if self.protocol.sets(key) {
                let reason = "expected datasets as arguments and methods in --methods";
                let advice = "For example boostfgl tune cora --methods fedavg --vary lr=0.01,0.1.";
                return Err(Error::usage(format!("--set {key}"), reason, advice).into());
            }
        }
        if self.data.is_empty() {
            return Ok(vec![self.config_for(None)?]);
        }
        self.data.iter().map(|data| self.config_for(Some(data))).collect()
    }

    fn config_for(&self, data: Option<&str>) -> Result<Checked<Config>> {
        let layers = self.protocol.layers(data, None)?;
        let (config, _) = layers.resolve()?;
        let methods = self.methods.split(',').filter_map(|stacked| stacked.split('+').next());
        methods.map(str::trim).try_for_each(|method| layers.check_shortened(method))?;
        Ok(config.without_name())
    }

    /// Reads the datasets.
    fn load(
        &self,
        configs: Vec<Checked<Config>>,
        pool: &rayon::ThreadPool,
    ) -> Result<Vec<Experiment>> {
        let mut datasets = Vec::new();
        for config in configs {
            let (_, graph) = self.protocol.data_flags.load(&config, self.printing.quiet)?;
            datasets.push(pool.install(|| Experiment::new(config, graph))?);
        }
        Ok(datasets)
    }

    fn print(&self, found: &Searched, folder: &Path) -> Result<()> {
        if self.printing.json {
            return output::print(&found.comparison.to_json());
        }
        let mut text = found.comparison.text(output::style());
        let [cells, reused] = found.cells;
        text.push_str(&format!(
            "\n{reused} of {cells} cells reused; all in {}\n",
            folder.display()
        ));
        let places = [
            ("chosen", folder.join(BEST)),
            ("trials", folder.join(TRIALS)),
            ("report", folder.join(RunFolder::REPORT)),
        ];
        for (what, path) in places {
            text.push_str(&format!("{what}: {}\n", path.display()));
        }
        output::print(&text)
    }
}

/// Writes the comparison of the choices, all trials, the chosen configurations and the report.
fn write_results(folder: &Path, keys: &[String], found: &Searched) -> Result<()> {
    let further = [(TRIALS, trials_csv(keys, &found.trials))];
    comparison_folder::write_all(folder, &found.comparison, &further)?;
    for (dataset, method, config) in &found.best {
        let place = folder.join(BEST).join(name::folder(dataset));
        boostfgl::disk::create_dir_all(&place).map_err(Error::from)?;
        let path = place.join(format!("{}.toml", name::folder(method)));
        write_atomic(path, config.to_toml().as_bytes()).map_err(Error::from)?;
    }
    let report = Sources::find(&[folder.to_path_buf()], boostfgl_reproduce::NAMES)?.report();
    comparison_folder::write_report(folder, &report.html())
}
