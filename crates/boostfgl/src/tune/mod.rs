//! Search over settings: the same trials for every method, chosen on validation nodes alone.
//!
//! Every method runs under every setting and seed. The setting with the best mean of a
//! [`Criterion`] over the seeds is chosen, per dataset and method. Test scores are read after the
//! choice, and for the chosen settings only.

mod criterion;
mod trials;

pub use criterion::Criterion;
pub use trials::trials;

use crate::grid::{Grid, GridProgress, Resources, Stacked};
use crate::{Checked, Config, Error, Result};
use boostfgl_fairness::{mean, sample_std};
use boostfgl_report::{Block, Cell, CellStore, Chosen, Comparison, Trial, Tuning};

/// A search over the rows of a grid, which are methods under settings.
pub struct Search<'a> {
    /// The grid.
    pub grid: &'a Grid,
    /// The methods without settings, in the order of tables.
    pub methods: Vec<Stacked>,
    /// What is chosen by.
    pub criterion: Criterion,
    /// How many settings are tried for each method.
    pub trials: usize,
    /// The keys that are varied.
    pub keys: Vec<String>,
}

/// The result of a search.
#[derive(Debug)]
pub struct Searched {
    /// The chosen setting of every method, side by side on test nodes.
    pub comparison: Comparison,
    /// Every trial with its scores on validation nodes.
    pub trials: Vec<Trial>,
    /// Dataset, method and configuration of every choice.
    pub best: Vec<(String, String, Checked<Config>)>,
    /// The number of cells of the grid, and of those that were in the store.
    pub cells: [usize; 2],
    /// Trials that failed, in a sentence each. They are not chosen.
    pub failures: Vec<String>,
}

impl Search<'_> {
    /// Runs the cells that are not in the store, chooses, and compares with method number `base`.
    ///
    /// # Errors
    /// If the store cannot be written, or no setting of a method has a score to choose by.
    pub fn run(
        &self,
        base: usize,
        resources: Resources,
        store: &CellStore,
        progress: &mut dyn GridProgress,
    ) -> Result<Searched> {
        let outcome = self.grid.run(0, resources, store, progress)?;
        let all = &outcome.comparison;
        let (mut blocks, mut chosen, mut best, mut trials) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (at, block) in all.datasets.iter().enumerate() {
            let mut rows = Vec::new();
            for method in &self.methods {
                let (row, choice) = self.choose(block, method)?;
                rows.push(block.rows[row].cells.clone());
                chosen.push(choice);
                let config = self.grid.config(at, row).clone();
                best.push((block.name.clone(), method.label(), config));
                trials.extend(self.trials(block, method, row));
            }
            blocks.push((block.name.clone(), rows));
        }
        let methods = self.methods.iter().map(Stacked::contender).collect();
        let (metric, keys) = (self.criterion.name().to_owned(), self.keys.clone());
        let tuning = Tuning { metric, trials: self.trials, keys, chosen };
        let comparison = Comparison::new(base, methods, all.seeds.clone(), blocks);
        Ok(Searched {
            comparison: comparison.with_tuning(tuning),
            trials,
            best,
            cells: [outcome.cells, outcome.reused],
            failures: failures(all),
        })
    }

    /// The rows of a method in a block, with their settings.
    fn rows<'a>(&'a self, method: &'a Stacked) -> impl Iterator<Item = (usize, &'a Stacked)> {
        let rows = self.grid.stacked().iter().enumerate();
        rows.filter(move |(_, row)| row.under(&[]).same(method))
    }

    /// The row of the best setting of a method, the first of equals.
    fn choose(&self, block: &Block, method: &Stacked) -> Result<(usize, Chosen)> {
        let mut best: Option<(usize, Vec<f64>, f64)> = None;
        for (at, _) in self.rows(method) {
            let Some(scores) = self.scores(&block.rows[at].cells) else { continue };
            let Some(mean) = mean(&scores) else { continue };
            if best.as_ref().is_none_or(|(_, _, found)| mean > *found) {
                best = Some((at, scores, mean));
            }
        }
        let Some((row, scores, mean)) = best else {
            return Err(self.no_choice(block, method));
        };
        let settings = self.grid.stacked()[row].contender().settings;
        let choice = Chosen {
            dataset: block.name.clone(),
            method: method.label(),
            settings,
            different: self.rows(method).count(),
            mean,
            std: sample_std(&scores),
        };
        Ok((row, choice))
    }

    /// The scores of a setting under every seed; `None` if one of them failed or has none, since a
    /// mean over fewer seeds is not comparable.
    fn scores(&self, cells: &[Cell]) -> Option<Vec<f64>> {
        cells.iter().map(|cell| self.criterion.of(cell.measured()?)).collect()
    }

    /// The error if no setting of a method can be chosen.
    fn no_choice(&self, block: &Block, method: &Stacked) -> Error {
        let place = format!("{} on {}", method.label(), block.name);
        let cells: Vec<&Cell> =
            self.rows(method).flat_map(|(at, _)| &block.rows[at].cells).collect();
        let failed = cells.iter().filter(|cell| cell.measured().is_none()).count();
        let reason = format!(
            "expected a setting with {} under every seed, found none ({failed} of {} cells did \
             not end)",
            self.criterion.name(),
            cells.len()
        );
        let advice = "Give the data validation nodes (split.val), vary smaller values, or allow \
            more --memory.";
        Error::usage(place, reason, advice)
    }

    /// The trials of a method, of which row `chosen` was chosen.
    fn trials(&self, block: &Block, method: &Stacked, chosen: usize) -> Vec<Trial> {
        let mut trials = Vec::new();
        for (at, row) in self.rows(method) {
            for cell in &block.rows[at].cells {
                let scores =
                    Criterion::ALL.map(|criterion| cell.measured().and_then(|m| criterion.of(m)));
                trials.push(Trial {
                    dataset: block.name.clone(),
                    method: method.label(),
                    settings: row.contender().settings,
                    seed: cell.seed,
                    state: cell.outcome.word(),
                    validation: scores,
                    chosen: at == chosen,
                });
            }
        }
        trials
    }
}

/// Every trial that failed, in a sentence.
fn failures(all: &Comparison) -> Vec<String> {
    let failures = all.failures().into_iter();
    failures
        .map(|(dataset, label, seed, message)| {
            format!("{label} on {dataset}, seed {seed}, failed and is not chosen: {message}")
        })
        .collect()
}
