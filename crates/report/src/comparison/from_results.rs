//! A comparison of the methods of an experiment, from its result file alone.

use super::{Cell, CellCost, Comparison, Contender, Measured, Outcome, VariedSettings};
use crate::{OVER_BUDGET, ResultRow, Results};
use boostfgl_fairness::{GroupSizes, Percent, Readings, Scores};

impl Comparison {
    /// Methods side by side from the rows of an experiment that varies nothing else; the first
    /// method is the base. `None` for fewer than two methods, or if settings vary.
    pub fn of_results(results: &Results) -> Option<Self> {
        if results.rows.iter().any(|row| !row.varied.is_empty()) {
            return None;
        }
        let methods = results.distinct(|row| row.method.clone());
        let datasets = results.distinct(|row| row.dataset.clone());
        let mut seeds: Vec<u64> = results.rows.iter().map(|row| row.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        if methods.len() < 2 {
            return None;
        }
        let mut blocks = Vec::with_capacity(datasets.len());
        for dataset in datasets {
            let rows =
                methods.iter().map(|method| cells(results, &dataset, method, &seeds)).collect();
            blocks.push((dataset, rows));
        }
        let contenders = methods.into_iter().map(contender).collect();
        Some(Self::new(0, contenders, seeds, blocks))
    }
}

/// A method of which results have only the label.
fn contender(label: String) -> Contender {
    Contender {
        method: label.clone(),
        label,
        boost: Vec::new(),
        evaluated: String::new(),
        settings: VariedSettings::new(),
    }
}

/// The cells of a method on a dataset, one per seed.
fn cells(results: &Results, dataset: &str, method: &str, seeds: &[u64]) -> Vec<Cell> {
    let mut cells = Vec::with_capacity(seeds.len());
    for &seed in seeds {
        let mut rows = results.rows.iter();
        let row =
            rows.find(|row| row.dataset == dataset && row.method == method && row.seed == seed);
        cells.push(cell(results, row, seed));
    }
    cells
}

/// A row as a cell; one that did not run has the reason.
fn cell(results: &Results, row: Option<&ResultRow>, seed: u64) -> Cell {
    let outcome = match row {
        Some(row) if row.missing.is_none() => Outcome::Done(Box::new(measured(results, row))),
        Some(row)
            if row.missing.as_deref().is_some_and(|reason| reason.starts_with(OVER_BUDGET)) =>
        {
            Outcome::OverBudget { needed: 0, budget: 0 }
        }
        row => Outcome::Failed {
            message: row.and_then(|row| row.missing.clone()).unwrap_or_else(|| "not run".into()),
        },
    };
    Cell { seed, outcome, peak_bytes: 0 }
}

fn measured(results: &Results, row: &ResultRow) -> Measured {
    let scores = Scores::from_fn(|headline| Readings {
        pooled: results.value(row, headline.key),
        present: results.value(row, &format!("{}.present", headline.key)),
        client: results.value(row, &format!("{}.client", headline.key)),
    });
    // Results hold bytes per client and round, so the divisor here is 1.
    let cost = CellCost {
        cpu_seconds: results.value(row, "cpu_seconds").unwrap_or(0.0),
        bytes_up: results.value(row, "bytes_up").map_or(0, |bytes| bytes as u64),
        bytes_down: results.value(row, "bytes_down").map_or(0, |bytes| bytes as u64),
        client_rounds: 1,
        peak_rss_mib: results.value(row, "peak_rss_mib"),
        ..CellCost::default()
    };
    let groups = GroupSizes::default();
    Measured {
        scores: Percent(scores),
        groups,
        round: 0,
        details: Default::default(),
        digest: row.digest.clone(),
        cost,
    }
}
