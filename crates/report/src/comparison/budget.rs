//! What methods in a comparison really did: which round is shown, how much they trained, and
//! whether federating helped.

use boostfgl_fairness::statistics::Certainty;
use boostfgl_fairness::{mean, sample_std};

use super::analysis::metrics;
use super::{Block, BlockRow, Comparison, Difference, Measured};
use crate::notes::{NotedRun, ShownRound};
use crate::table::Column;
use crate::text_table::{Line, Marked, TextTable, marks};
use crate::{RoundScores, SeedDetails};

impl BlockRow {
    fn measured(&self) -> impl Iterator<Item = &Measured> + Clone {
        self.cells.iter().filter_map(super::Cell::measured)
    }

    pub(crate) fn noted_run(&self) -> NotedRun<'_> {
        NotedRun {
            label: &self.label,
            seeds: self.measured().map(|cell| (cell.round, &cell.details)).collect(),
        }
    }

    /// Whether its metrics are compared with others: not those of a model that answers the same for
    /// every node.
    pub(crate) fn is_ranked(&self) -> bool {
        !self.noted_run().collapsed()
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

    /// Where clients alone do better than a federated method: one sentence per method, as sure as
    /// the pairs allow.
    pub(crate) fn cost_of_federating(&self) -> Vec<String> {
        let isolated = |row: &&BlockRow| row.label == "isolated";
        let Some(alone) = self.rows.iter().find(isolated) else { return Vec::new() };
        let others: Vec<&BlockRow> = self
            .rows
            .iter()
            .filter(|row| !isolated(row) && !row.label.starts_with("central"))
            .collect();
        let pairs: Vec<Vec<f64>> = others.iter().map(|row| paired_accuracies(alone, row)).collect();
        let found = others
            .iter()
            .zip(Difference::family(&pairs))
            .filter_map(|(row, found)| Some((row, found?)));
        let sentence = |(row, found): (&&BlockRow, Difference)| {
            let words = match found.certainty() {
                Certainty::Ahead => "federating costs",
                Certainty::LeansAhead => "federating leans to cost",
                Certainty::TooFew if found.mean >= 0.05 => {
                    "too few seeds to be sure, but federating may cost"
                }
                _ => return None,
            };
            Some(format!(
                "{}: clients alone (isolated) have {:.1} points more accuracy than {}: {words} \
                 {:.1} points here.",
                self.name, found.mean, row.label, found.mean
            ))
        };
        found.filter_map(sentence).collect()
    }
}

/// What the accuracy of `a` is above that of `b`, seed by seed.
fn paired_accuracies(a: &BlockRow, b: &BlockRow) -> Vec<f64> {
    let accuracy = |cell: &super::Cell| cell.measured()?.scores.0.accuracy.pooled;
    let pairs = a.cells.iter().zip(&b.cells);
    pairs.filter_map(|(a, b)| Some(super::apart(accuracy(a)?, accuracy(b)?))).collect()
}

impl Comparison {
    /// The same metrics at the other of the two rounds that papers report; `None` if it was not
    /// recorded.
    pub(super) fn other_round(&self, block: &Block) -> Option<TextTable> {
        let last = !block.noted_runs().iter().any(|run| run.shown() == Some(ShownRound::BestVal));
        let pick = |details: &SeedDetails| -> Option<RoundScores> {
            if last { details.best_val.clone() } else { details.last.clone() }
        };
        let columns: Vec<&Column> = metrics().collect();
        let of_row = |row: &BlockRow, column: &Column| -> Vec<f64> {
            row.measured().filter_map(|cell| column.pick(&pick(&cell.details)?.scores)).collect()
        };
        let values: Vec<Vec<Vec<f64>>> = block
            .rows
            .iter()
            .map(|row| columns.iter().map(|column| of_row(row, column)).collect())
            .collect();
        if values.iter().flatten().all(Vec::is_empty) {
            return None;
        }
        let ranked =
            |at: usize, c: usize| mean(&values[at][c]).filter(|_| block.rows[at].is_ranked());
        let marked: Vec<Vec<_>> = (0..columns.len())
            .map(|c| marks(&(0..block.rows.len()).map(|at| ranked(at, c)).collect::<Vec<_>>()))
            .collect();
        let line = |(at, row): (usize, &BlockRow)| {
            let cell = |c: usize| Marked { text: spread(&values[at][c]), mark: marked[c][at] };
            Line { label: row.label.clone(), cells: vec![(0..columns.len()).map(cell).collect()] }
        };
        let which = if last { "best validation round" } else { "last round" };
        Some(TextTable {
            title: format!("{}: the same at the {which}", block.name),
            labels: "Method",
            columns: columns
                .iter()
                .map(|column| [column.title.to_owned(), column.unit.to_owned()])
                .collect(),
            rows: block.rows.iter().enumerate().map(line).collect(),
            notes: vec![
                "Percent, mean ± standard deviation; * best and ' second of the column.".to_owned(),
            ],
        })
    }
}

fn spread(values: &[f64]) -> String {
    match (mean(values), sample_std(values)) {
        (None, _) => "–".to_owned(),
        (Some(mean), None) => format!("{mean:.1} ± –"),
        (Some(mean), Some(std)) => format!("{mean:.1} ± {std:.1}"),
    }
}
