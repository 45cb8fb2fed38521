//! From cells to means, differences, p-values and ranks.

use std::collections::BTreeMap;

use boostfgl_fairness::statistics::{
    Certainty, Interval, Limit, MeanRanks, holm, mean_interval, mean_ranks, signed_rank,
};
use boostfgl_fairness::{mean, sample_std};
use serde::{Deserialize, Serialize};

use super::{Cell, CellCost, Outcome};
use crate::table::{COLUMNS, Column};

/// Methods on one dataset, or on all pairs of dataset and seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// The dataset.
    pub name: String,
    /// One row per method.
    pub rows: Vec<BlockRow>,
    /// Mean ranks of the methods, by metric; a block of ranks is one dataset under one seed.
    pub ranks: BTreeMap<String, MeanRanks>,
}

/// One method in a block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockRow {
    /// The method.
    pub label: String,
    /// Its cells, in the order of the seeds.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub cells: Vec<Cell>,
    /// What they come to, by metric.
    pub metrics: BTreeMap<String, MetricSummary>,
    /// What they cost.
    pub cost: CostSummary,
}

/// One metric of one method.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MetricSummary {
    /// The mean over the cells that have a value.
    pub mean: Option<f64>,
    /// The standard deviation with n − 1 over the same.
    pub std: Option<f64>,
    /// The difference to the base; `None` for the base itself, and without a pair.
    pub difference: Option<Difference>,
}

/// A method against the base on pairs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The mean of the paired differences, in points of percent.
    pub mean: f64,
    /// Its 95 % bootstrap interval; `None` for a single pair.
    pub interval: Option<Interval>,
    /// How many pairs there are.
    pub pairs: usize,
    /// The p-value of the signed-rank test; 1 if no pair differs.
    pub p: Option<f64>,
    /// The same, adjusted for the other methods of the family.
    pub p_holm: Option<f64>,
    /// What that allows to say; `None` in files of earlier versions (see
    /// [`Difference::certainty`]).
    #[serde(default)]
    pub verdict: Option<Certainty>,
}

impl Difference {
    /// One difference per entry of `differences`, each being what a method is ahead of the base in
    /// every pair. Together they are a family of tests: p-values are adjusted for each other. No
    /// difference without a pair.
    pub(crate) fn family(differences: &[Vec<f64>]) -> Vec<Option<Self>> {
        let p: Vec<Option<f64>> = differences.iter().map(|d| p_value(d)).collect();
        let of = |((differences, p), p_holm): ((&Vec<f64>, &Option<f64>), Option<f64>)| {
            mean(differences).map(|mean| Self {
                mean,
                interval: mean_interval(differences),
                pairs: differences.len(),
                p: *p,
                p_holm,
                verdict: Some(Certainty::of(differences, p_holm)),
            })
        };
        differences.iter().zip(&p).zip(holm(&p)).map(of).collect()
    }

    /// How sure it is: the rule by which every table and report words it.
    pub fn certainty(&self) -> Certainty {
        self.verdict.unwrap_or_else(|| Certainty::assess(self.pairs, self.interval, self.p_holm))
    }
}

/// What a method costs, as means over the cells that ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CostSummary {
    /// Bytes a client sends per round.
    pub bytes_up: Option<f64>,
    /// Bytes a client receives per round.
    pub bytes_down: Option<f64>,
    /// Processor seconds per seed.
    pub cpu_seconds: Option<f64>,
    /// The largest estimate of the memory of a run, in bytes.
    pub peak_bytes: u64,
    /// The most memory the program held, if every cell ran alone.
    pub peak_rss_mib: Option<f64>,
}

impl Block {
    /// `rows[i]` holds the cells of method i; those at the same position make a pair.
    pub(super) fn new(name: &str, labels: &[&str], base: usize, rows: Vec<Vec<Cell>>) -> Self {
        let mut summaries = vec![BTreeMap::new(); rows.len()];
        for column in metrics() {
            let values: Vec<Vec<Option<f64>>> =
                rows.iter().map(|cells| values(column, cells)).collect();
            for (summary, metric) in summaries.iter_mut().zip(summarise(&values, base)) {
                summary.insert(column.key.to_owned(), metric);
            }
        }
        let row = |((cells, metrics), label): ((Vec<Cell>, _), &&str)| BlockRow {
            label: (*label).to_owned(),
            cost: CostSummary::of(&cells),
            cells,
            metrics,
        };
        let rows: Vec<BlockRow> = rows.into_iter().zip(summaries).zip(labels).map(row).collect();
        let ranks = metrics().map(|column| (column.key.to_owned(), ranks(column, &rows))).collect();
        Self { name: name.to_owned(), rows, ranks }
    }

    /// The most pairs that a difference has, and how many methods are tested: together they bound
    /// every p.
    pub(crate) fn limit(&self) -> Option<Limit> {
        let metrics = self.rows.iter().flat_map(|row| row.metrics.values());
        let pairs = metrics.filter_map(|metric| Some(metric.difference?.pairs)).max()?;
        Some(Limit { pairs, tests: self.rows.len().saturating_sub(1) })
    }

    /// What a pair is: a seed of one dataset, or a dataset under a seed where all are together.
    pub(crate) fn unit(&self) -> &'static str {
        if self.rows.iter().all(|row| row.cells.is_empty()) { "pair" } else { "seed" }
    }

    pub(super) fn without_cells(mut self) -> Self {
        self.rows.iter_mut().for_each(|row| row.cells.clear());
        self
    }
}

/// The metrics that are compared.
pub(crate) fn metrics() -> impl Iterator<Item = &'static Column> {
    COLUMNS.iter().filter(|column| !column.is_cost())
}

pub(super) fn values(column: &Column, cells: &[Cell]) -> Vec<Option<f64>> {
    cells
        .iter()
        .map(|cell| cell.measured().and_then(|measured| column.pick(&measured.scores)))
        .collect()
}

/// Mean ranks on one metric. A collapsed model has no rank: it would push the others down or up by
/// an answer that is no answer.
fn ranks(column: &Column, rows: &[BlockRow]) -> MeanRanks {
    let ranked =
        |row: &BlockRow| if row.is_ranked() { values(column, &row.cells) } else { Vec::new() };
    let values: Vec<Vec<Option<f64>>> = rows.iter().map(ranked).collect();
    let pairs = values.iter().map(Vec::len).max().unwrap_or(0);
    let block = |at: usize| values.iter().map(|row| row.get(at).copied().flatten()).collect();
    mean_ranks(&(0..pairs).map(block).collect::<Vec<_>>())
}

/// One metric of every method.
fn summarise(values: &[Vec<Option<f64>>], base: usize) -> Vec<MetricSummary> {
    let differences: Vec<Vec<f64>> = values
        .iter()
        .enumerate()
        .map(|(at, row)| if at == base { Vec::new() } else { paired(row, &values[base]) })
        .collect();
    let summary = |(row, difference): (&Vec<Option<f64>>, Option<Difference>)| {
        let known: Vec<f64> = row.iter().flatten().copied().collect();
        MetricSummary { mean: mean(&known), std: sample_std(&known), difference }
    };
    values.iter().zip(Difference::family(&differences)).map(summary).collect()
}

/// The p-value of the signed-rank test. Pairs of which none differs say nothing against the
/// hypothesis: then it is 1, and the method still counts in its family.
fn p_value(differences: &[f64]) -> Option<f64> {
    let none_differs = (!differences.is_empty()).then_some(1.0);
    signed_rank(differences).map(|test| test.p).or(none_differs)
}

/// What a method is ahead of the base in every pair that both have.
fn paired(row: &[Option<f64>], base: &[Option<f64>]) -> Vec<f64> {
    let difference = |(a, b): (&Option<f64>, &Option<f64>)| Some(apart((*a)?, (*b)?));
    row.iter().zip(base).filter_map(difference).collect()
}

/// a − b, cut to nine decimals: two differences that come from the same counts of nodes must tie,
/// whatever the last bits of their quotients are.
pub(crate) fn apart(a: f64, b: f64) -> f64 {
    ((a - b) * 1e9).round() / 1e9
}

impl CostSummary {
    fn of(cells: &[Cell]) -> Self {
        let measured: Vec<CellCost> =
            cells.iter().filter_map(Cell::measured).map(|measured| measured.cost).collect();
        let over_cells = |value: fn(&CellCost) -> Option<f64>| {
            let values: Option<Vec<f64>> = measured.iter().map(value).collect();
            values.filter(|values| !values.is_empty())
        };
        let needed = |cell: &Cell| match cell.outcome {
            Outcome::OverBudget { needed, .. } => needed,
            _ => cell.peak_bytes,
        };
        Self {
            bytes_up: over_cells(|c| Some(c.bytes_up as f64 / c.client_rounds.max(1) as f64))
                .and_then(|v| mean(&v)),
            bytes_down: over_cells(|c| Some(c.bytes_down as f64 / c.client_rounds.max(1) as f64))
                .and_then(|v| mean(&v)),
            cpu_seconds: over_cells(|c| Some(c.cpu_seconds)).and_then(|v| mean(&v)),
            peak_bytes: cells.iter().map(needed).max().unwrap_or(0),
            peak_rss_mib: over_cells(|c| c.peak_rss_mib)
                .and_then(|v| v.into_iter().reduce(f64::max)),
        }
    }
}
