//! Means, differences, p-values and ranks, computed from cells.

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
    /// The statistics over its cells, by metric.
    pub metrics: BTreeMap<String, MetricSummary>,
    /// The cost of its cells.
    pub cost: CostSummary,
}

/// One metric of one method.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MetricSummary {
    /// The mean over the cells that have a value.
    pub mean: Option<f64>,
    /// The sample standard deviation (n − 1) over the same cells.
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
    /// The conclusion from interval and test; `None` in files of earlier versions (see
    /// [`Difference::certainty`]).
    #[serde(default)]
    pub verdict: Option<Certainty>,
}

impl Difference {
    /// One difference per method, from its paired differences to the base. Together they are one
    /// family of tests, so the p-values are adjusted for each other. A method without a pair has
    /// no difference.
    pub(crate) fn family(differences: &[Vec<f64>]) -> Vec<Option<Self>> {
        let p: Vec<Option<f64>> = differences.iter().map(|d| p_value(d)).collect();
        let adjusted = holm(&p);
        let tested = differences.iter().zip(p).zip(adjusted);
        tested.map(|((differences, p), p_holm)| Self::of_pairs(differences, p, p_holm)).collect()
    }

    /// The difference of one method; `None` without a pair.
    fn of_pairs(differences: &[f64], p: Option<f64>, p_holm: Option<f64>) -> Option<Self> {
        Some(Self {
            mean: mean(differences)?,
            interval: mean_interval(differences),
            pairs: differences.len(),
            p,
            p_holm,
            verdict: Some(Certainty::of(differences, p_holm)),
        })
    }

    /// The conclusion from interval and test, which every table and report puts into words.
    pub fn certainty(&self) -> Certainty {
        self.verdict.unwrap_or_else(|| Certainty::assess(self.pairs, self.interval, self.p_holm))
    }
}

/// The cost of a method, as means over the cells that ran.
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
    /// The largest resident memory of the program, if every cell ran alone.
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
        let rows: Vec<BlockRow> = rows
            .into_iter()
            .zip(summaries)
            .zip(labels)
            .map(|((cells, metrics), label)| BlockRow {
                label: (*label).to_owned(),
                cost: CostSummary::of(&cells),
                cells,
                metrics,
            })
            .collect();
        let ranks = metrics().map(|column| (column.key.to_owned(), ranks(column, &rows))).collect();
        Self { name: name.to_owned(), rows, ranks }
    }

    /// The largest number of pairs of a difference, and the number of tested methods: together
    /// they bound every p-value from below.
    pub(crate) fn limit(&self) -> Option<Limit> {
        let metrics = self.rows.iter().flat_map(|row| row.metrics.values());
        let pairs = metrics.filter_map(|metric| Some(metric.difference?.pairs)).max()?;
        Some(Limit { pairs, tests: self.rows.len().saturating_sub(1) })
    }

    /// The word for a pair: `seed` within one dataset, `pair` (dataset and seed) over all.
    pub(crate) fn unit(&self) -> &'static str {
        if self.rows.iter().all(|row| row.cells.is_empty()) { "pair" } else { "seed" }
    }

    pub(super) fn without_cells(mut self) -> Self {
        self.rows.iter_mut().for_each(|row| row.cells.clear());
        self
    }
}

impl BlockRow {
    /// The statistics of one metric; empty in files that do not have it.
    pub(super) fn metric(&self, column: &Column) -> MetricSummary {
        self.metrics.get(column.key).cloned().unwrap_or_default()
    }

    /// The mean of one metric, if the method is ranked.
    pub(super) fn ranked_mean(&self, column: &Column) -> Option<f64> {
        self.metric(column).mean.filter(|_| self.is_ranked())
    }
}

/// The metrics that are compared.
pub(crate) fn metrics() -> impl Iterator<Item = &'static Column> {
    COLUMNS.iter().filter(|column| !column.is_cost())
}

/// The value of a metric in every cell.
pub(super) fn values(column: &Column, cells: &[Cell]) -> Vec<Option<f64>> {
    cells
        .iter()
        .map(|cell| cell.measured().and_then(|measured| column.pick(&measured.scores)))
        .collect()
}

/// Mean ranks on one metric. A collapsed model has no rank: its constant prediction would shift
/// the ranks of the others.
fn ranks(column: &Column, rows: &[BlockRow]) -> MeanRanks {
    let values: Vec<Vec<Option<f64>>> = rows
        .iter()
        .map(|row| if row.is_ranked() { values(column, &row.cells) } else { Vec::new() })
        .collect();
    let pairs = values.iter().map(Vec::len).max().unwrap_or(0);
    let blocks: Vec<Vec<Option<f64>>> = (0..pairs)
        .map(|at| values.iter().map(|row| row.get(at).copied().flatten()).collect())
        .collect();
    mean_ranks(&blocks)
}

/// One metric of every method.
fn summarise(values: &[Vec<Option<f64>>], base: usize) -> Vec<MetricSummary> {
    let differences: Vec<Vec<f64>> = values
        .iter()
        .enumerate()
        .map(|(at, row)| if at == base { Vec::new() } else { paired(row, &values[base]) })
        .collect();
    values
        .iter()
        .zip(Difference::family(&differences))
        .map(|(row, difference)| MetricSummary::new(row, difference))
        .collect()
}

impl MetricSummary {
    fn new(values: &[Option<f64>], difference: Option<Difference>) -> Self {
        let known: Vec<f64> = values.iter().flatten().copied().collect();
        Self { mean: mean(&known), std: sample_std(&known), difference }
    }
}

/// The p-value of the signed-rank test. If no pair differs, nothing speaks against the null
/// hypothesis: p is 1, and the method still counts in its family.
fn p_value(differences: &[f64]) -> Option<f64> {
    let none_differs = (!differences.is_empty()).then_some(1.0);
    signed_rank(differences).map(|test| test.p).or(none_differs)
}

/// The differences to the base in every pair for which both have a value.
fn paired(row: &[Option<f64>], base: &[Option<f64>]) -> Vec<f64> {
    row.iter().zip(base).filter_map(|(a, b)| Some(apart((*a)?, (*b)?))).collect()
}

/// a − b, rounded to nine decimals: two differences that come from the same counts of nodes must
/// tie in the signed-rank test, whatever the last bits of their quotients are.
pub(crate) fn apart(a: f64, b: f64) -> f64 {
    ((a - b) * 1e9).round() / 1e9
}

impl CostSummary {
    fn of(cells: &[Cell]) -> Self {
        let costs: Vec<CellCost> =
            cells.iter().filter_map(Cell::measured).map(|measured| measured.cost).collect();
        Self {
            bytes_up: over_cells(&costs, |cost| Some(per_client_round(cost, cost.bytes_up)))
                .and_then(|values| mean(&values)),
            bytes_down: over_cells(&costs, |cost| Some(per_client_round(cost, cost.bytes_down)))
                .and_then(|values| mean(&values)),
            cpu_seconds: over_cells(&costs, |cost| Some(cost.cpu_seconds))
                .and_then(|values| mean(&values)),
            peak_bytes: cells.iter().map(needed_bytes).max().unwrap_or(0),
            peak_rss_mib: over_cells(&costs, |cost| cost.peak_rss_mib)
                .and_then(|values| values.into_iter().reduce(f64::max)),
        }
    }
}

/// One number of every cell; `None` if a cell does not have it, or there is no cell.
fn over_cells(costs: &[CellCost], value: fn(&CellCost) -> Option<f64>) -> Option<Vec<f64>> {
    let values: Option<Vec<f64>> = costs.iter().map(value).collect();
    values.filter(|values| !values.is_empty())
}

fn per_client_round(cost: &CellCost, bytes: u64) -> f64 {
    bytes as f64 / cost.client_rounds.max(1) as f64
}

/// The estimated memory of a cell, whether it ran or not.
fn needed_bytes(cell: &Cell) -> u64 {
    match cell.outcome {
        Outcome::OverBudget { needed, .. } => needed,
        _ => cell.peak_bytes,
    }
}
