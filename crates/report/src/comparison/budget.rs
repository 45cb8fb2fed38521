//! Training budget, reported round and traffic of the methods, and whether federating helped.

use boostfgl_fairness::statistics::Certainty;
use boostfgl_fairness::{mean, sample_std};

use super::analysis::metrics;
use super::tables::headings;
use super::{Block, BlockRow, Cell, Comparison, Difference, Measured};
use crate::notes::{NotedRun, ShownRound};
use crate::table::Column;
use crate::text_table::{Line, Marked, TextTable, marks};
use crate::{RoundScores, SeedDetails};

impl BlockRow {
    fn measured(&self) -> impl Iterator<Item = &Measured> + Clone {
        self.cells.iter().filter_map(Cell::measured)
    }

    pub(crate) fn noted_run(&self) -> NotedRun<'_> {
        NotedRun {
            label: &self.label,
            seeds: self.measured().map(|cell| (cell.round, &cell.details)).collect(),
        }
    }

    /// Whether its metrics are ranked. Those of a collapsed model, which predicts the same class
    /// for every node, are not.
    pub(crate) fn is_ranked(&self) -> bool {
        !self.noted_run().collapsed()
    }

    fn is_isolated(&self) -> bool {
        self.label == "isolated"
    }

    /// Per column, the value of every seed at one of the two recorded rounds.
    fn values_at(
        &self,
        round: fn(&SeedDetails) -> Option<&RoundScores>,
        columns: &[&Column],
    ) -> Vec<Vec<f64>> {
        columns
            .iter()
            .map(|column| {
                self.measured()
                    .filter_map(|cell| column.pick(&round(&cell.details)?.scores))
                    .collect()
            })
            .collect()
    }

    /// Bytes in both directions per seed.
    pub(crate) fn traffic(&self) -> Option<f64> {
        let bytes: Vec<f64> = self
            .measured()
            .map(|cell| (cell.cost.bytes_up + cell.cost.bytes_down) as f64)
            .collect();
        mean(&bytes)
    }
}

impl Block {
    pub(crate) fn noted_runs(&self) -> Vec<NotedRun<'_>> {
        self.rows.iter().map(BlockRow::noted_run).collect()
    }

    /// Where isolated clients are better than a federated method: one sentence per method, worded
    /// by its certainty.
    pub(crate) fn cost_of_federating(&self) -> Vec<String> {
        let Some(isolated) = self.rows.iter().find(|row| row.is_isolated()) else {
            return Vec::new();
        };
        let others: Vec<&BlockRow> = self
            .rows
            .iter()
            .filter(|row| !row.is_isolated() && !row.label.starts_with("central"))
            .collect();
        let pairs: Vec<Vec<f64>> =
            others.iter().map(|row| paired_accuracies(isolated, row)).collect();
        others
            .iter()
            .zip(Difference::family(&pairs))
            .filter_map(|(row, difference)| self.federating_costs(&row.label, &difference?))
            .collect()
    }

    /// The sentence about one method; `None` if federating does not seem to cost accuracy.
    fn federating_costs(&self, label: &str, difference: &Difference) -> Option<String> {
        let words = match difference.certainty() {
            Certainty::Ahead => "federating costs",
            Certainty::LeansAhead => "federating leans to cost",
            Certainty::TooFew if difference.mean >= 0.05 => {
                "too few seeds to be sure, but federating may cost"
            }
            _ => return None,
        };
        Some(format!(
            "{}: clients alone (isolated) have {:.1} points more accuracy than {label}: {words} \
             {:.1} points here.",
            self.name, difference.mean, difference.mean
        ))
    }
}

/// The accuracy of `a` minus that of `b`, seed by seed.
fn paired_accuracies(a: &BlockRow, b: &BlockRow) -> Vec<f64> {
    let pairs = a.cells.iter().zip(&b.cells);
    pairs.filter_map(|(a, b)| Some(super::apart(accuracy(a)?, accuracy(b)?))).collect()
}

/// The pooled accuracy of a cell.
fn accuracy(cell: &Cell) -> Option<f64> {
    cell.measured()?.scores.0.accuracy.pooled
}

impl Comparison {
    /// The same metrics at the other of the two rounds that papers report; `None` if it was not
    /// recorded.
    pub(super) fn other_round(&self, block: &Block) -> Option<TextTable> {
        let last = !block.noted_runs().iter().any(|run| run.shown() == Some(ShownRound::BestVal));
        let other_round = if last { best_val_round } else { last_round };
        let columns: Vec<&Column> = metrics().collect();
        let values: Vec<Vec<Vec<f64>>> =
            block.rows.iter().map(|row| row.values_at(other_round, &columns)).collect();
        if values.iter().flatten().all(Vec::is_empty) {
            return None;
        }
        let mut rows: Vec<Line> = block
            .rows
            .iter()
            .map(|row| Line { label: row.label.clone(), cells: vec![Vec::new()] })
            .collect();
        for c in 0..columns.len() {
            let ranked: Vec<Option<f64>> = values
                .iter()
                .zip(&block.rows)
                .map(|(values, row)| mean(&values[c]).filter(|_| row.is_ranked()))
                .collect();
            for ((line, values), mark) in rows.iter_mut().zip(&values).zip(marks(&ranked)) {
                line.cells[0].push(Marked { text: spread(&values[c]), mark });
            }
        }
        let which = if last { "best validation round" } else { "last round" };
        Some(TextTable {
            title: format!("{}: the same at the {which}", block.name),
            labels: "Method",
            columns: headings(columns.iter().copied()),
            rows,
            notes: vec![
                "Percent, mean ± standard deviation; * best and ' second of the column.".to_owned(),
            ],
        })
    }
}

fn best_val_round(details: &SeedDetails) -> Option<&RoundScores> {
    details.best_val.as_ref()
}

fn last_round(details: &SeedDetails) -> Option<&RoundScores> {
    details.last.as_ref()
}

/// Mean ± sample standard deviation.
fn spread(values: &[f64]) -> String {
    match (mean(values), sample_std(values)) {
        (None, _) => "–".to_owned(),
        (Some(mean), None) => format!("{mean:.1} ± –"),
        (Some(mean), Some(std)) => format!("{mean:.1} ± {std:.1}"),
    }
}
