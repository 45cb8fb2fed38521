//! A comparison of the methods of an experiment, from its results alone.

use super::{Cell, CellCost, Comparison, Contender, Measured, Outcome};
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
        let cells = |dataset: &String, method: &String| -> Vec<Cell> {
            let find = |seed: &u64| {
                let here = |row: &&ResultRow| {
                    row.dataset == *dataset && row.method == *method && row.seed == *seed
                };
                cell(results, results.rows.iter().find(here), *seed)
            };
            seeds.iter().map(find).collect()
        };
        let block = |dataset: &String| {
            (dataset.clone(), methods.iter().map(|method| cells(dataset, method)).collect())
        };
        let contender = |label: &String| {
            let (method, boost, evaluated) = (label.clone(), Vec::new(), String::new());
            Contender { label: label.clone(), method, boost, evaluated }
        };
        let contenders: Vec<Contender> = methods.iter().map(contender).collect();
        (methods.len() > 1).then(|| {
            Self::new(0, contenders, seeds.clone(), datasets.iter().map(block).collect::<Vec<_>>())
        })
    }
}

/// A row as a cell; what did not run has its reason.
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
    let value = |column: &str| results.value(row, column);
    let scores = Scores::from_fn(|headline| Readings {
        pooled: value(headline.key),
        present: value(&format!("{}.present", headline.key)),
        client: value(&format!("{}.client", headline.key)),
    });
    // Results hold bytes per client and round.
    let bytes = |column: &str| value(column).map_or(0, |bytes| bytes as u64);
    let cost = CellCost {
        cpu_seconds: value("cpu_seconds").unwrap_or(0.0),
        bytes_up: bytes("bytes_up"),
        bytes_down: bytes("bytes_down"),
        client_rounds: 1,
        peak_rss_mib: value("peak_rss_mib"),
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
