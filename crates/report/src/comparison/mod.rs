//! Methods side by side over datasets and seeds, with the certainty of each difference and the
//! cost of each method.
//!
//! * [`Comparison::new`] takes the cells of a grid and computes everything that is shown.
//! * [`Comparison::text`], [`Comparison::markdown`], [`Comparison::latex`] — for people.
//! * [`Comparison::csv`], [`Comparison::summary_csv`], [`Comparison::to_json`] — for programs.
//!
//! Methods are compared with one of them, the base, on pairs: the same dataset, seed, partition and
//! split. A family of tests, for Holm's adjustment, is all methods against the base on one metric
//! of one dataset (or of all of them).

mod analysis;
mod budget;
mod cell;
mod cells;
mod csv;
mod documents;
mod equal;
mod from_results;
mod grid;
mod tables;
mod tuned;
mod varied;
mod view;

pub use analysis::{Block, BlockRow, CostSummary, Difference, MetricSummary};
pub(crate) use analysis::{apart, metrics};
pub use cell::{Cell, CellCost, Measured, Outcome};
pub use cells::{CellRecord, CellStore, StoredCell};
pub use equal::EqualBudget;
pub use grid::Metrics;
pub use tuned::{Chosen, Trial, Tuning, trials_csv};
pub(crate) use varied::Spot;
pub use varied::{Varied, VariedSettings};
pub use view::{ComparisonView, Courses};

use crate::Result;
use boostfgl_disk::Checksums;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// One of the methods that are compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contender {
    /// How tables name it: `fedavg`, `fedgta + all`.
    pub label: String,
    /// The federated method.
    pub method: String,
    /// The boosts that are on.
    pub boost: Vec<String>,
    /// Which model is evaluated, in a word: global, personal, central.
    pub evaluated: String,
    /// The values of the keys that were varied and have an effect on it; left out without any.
    #[serde(default, skip_serializing_if = "VariedSettings::is_empty")]
    pub settings: VariedSettings,
}

/// Methods side by side.
///
/// Metrics are in percent. Measured time and memory are under keys called `cost`; everything else
/// is identical on every repetition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The version of this format: [`Comparison::VERSION`].
    pub version: u32,
    /// The version of the program that wrote it.
    pub program: String,
    /// The label of the method that the others are compared with.
    pub base: String,
    /// The seeds; every method ran under each.
    pub seeds: Vec<u64>,
    /// The methods, in the order of the rows.
    pub methods: Vec<Contender>,
    /// One block per dataset.
    pub datasets: Vec<Block>,
    /// What was varied; left out where nothing was.
    #[serde(default, skip_serializing_if = "Varied::is_none")]
    pub varied: Varied,
    /// The search that chose the settings; left out without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuning: Option<Tuning>,
    /// The budget that all methods have the same of; left out where rounds are as configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<EqualBudget>,
    /// All pairs of dataset and seed together, if there are several datasets.
    pub pooled: Option<Block>,
}

impl Comparison {
    /// The version of the format.
    pub const VERSION: u32 = 1;

    /// Its file in the folder of a comparison.
    pub const FILE: &str = "comparison.json";

    /// The other files in the folder: the same comparison in other formats.
    pub const FORMS: [&str; 6] = [
        "comparison.txt",
        "comparison.md",
        "comparison.csv",
        "comparison-summary.csv",
        "comparison.tex",
        "comparison-varied.csv",
    ];

    /// Computes a comparison with method number `base`. `datasets` holds, for each dataset, one
    /// list of cells per method, with one cell per seed.
    ///
    /// # Panics
    /// If `base` is not the number of a method.
    pub fn new(
        base: usize,
        methods: Vec<Contender>,
        seeds: Vec<u64>,
        datasets: Vec<(String, Vec<Vec<Cell>>)>,
    ) -> Self {
        let labels: Vec<&str> = methods.iter().map(|method| method.label.as_str()).collect();
        let pooled = (datasets.len() > 1).then(|| {
            let rows = (0..methods.len())
                .map(|at| datasets.iter().flat_map(|(_, rows)| rows[at].clone()).collect());
            Block::new("all datasets", &labels, base, rows.collect())
        });
        let blocks = datasets
            .into_iter()
            .map(|(name, rows)| Block::new(&name, &labels, base, rows))
            .collect();
        Self {
            version: Self::VERSION,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            base: methods[base].label.clone(),
            seeds,
            datasets: blocks,
            varied: Varied::default(),
            tuning: None,
            budget: None,
            // The cells are stored with their datasets already.
            pooled: pooled.map(Block::without_cells),
            methods,
        }
    }

    /// The document as JSON, ending in a newline.
    pub fn to_json(&self) -> String {
        // Every field is a number, a string, a list or a structure of them.
        let mut json =
            serde_json::to_string_pretty(self).expect("a comparison is representable as JSON");
        json.push('\n');
        json
    }

    /// Reads `comparison.json`.
    ///
    /// # Errors
    /// If it cannot be read, is not a comparison, has a newer version, or differs from its checksum.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        Checksums::check_file(path.as_ref())?;
        crate::version::read(path.as_ref(), Self::VERSION)
    }

    /// The number of cells that ran, and of all cells.
    pub fn progress(&self) -> (usize, usize) {
        let ran = self.cells().filter(|cell| cell.measured().is_some()).count();
        (ran, self.cells().count())
    }

    fn cells(&self) -> impl Iterator<Item = &Cell> {
        self.datasets.iter().flat_map(|block| &block.rows).flat_map(|row| &row.cells)
    }

    /// Every cell that failed: dataset, method, seed and the message.
    pub fn failures(&self) -> Vec<(&str, &str, u64, &str)> {
        let mut all = Vec::new();
        for block in &self.datasets {
            for row in &block.rows {
                for cell in &row.cells {
                    if let Outcome::Failed { message } = &cell.outcome {
                        all.push((
                            block.name.as_str(),
                            row.label.as_str(),
                            cell.seed,
                            message.as_str(),
                        ));
                    }
                }
            }
        }
        all
    }
}
