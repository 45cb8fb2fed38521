//! What methods in a comparison really did: which round is shown, how much they trained, and whether federating helped.

use boostfgl_fairness::{mean, sample_std};

use super::analysis::metrics;
use super::{Block, BlockRow, Comparison, Measured};
use crate::remarks::Remarked;
use crate::sheet::{Line, Marked, Sheet, marks};
use crate::table::Column;
use crate::{RoundScores, SeedDetails};

impl BlockRow {
    fn measured(&self) -> impl Iterator<Item = &Measured> + Clone {
        self.cells.iter().filter_map(super::Cell::measured)
    }

    pub(crate) fn remarked(&self) -> Remarked<'_> {
        Remarked { label: &self.label, seeds: self.measured().map(|cell| (cell.round, &cell.details)).collect() }
    }

    /// Rounds × epochs, as they were under every seed; a dash where it is not known.
    pub(crate) fn budget(&self) -> String {
        let mut shown = self.measured().filter_map(|cell| Some(cell.details.budget?.shown()));
        match shown.next() {
            Some(first) if shown.all(|other| other == first) => first,
            Some(_) => "varies".to_owned(),
            None => "–".to_owned(),
        }
    }

    /// Bytes in both directions per seed.
    pub(crate) fn traffic(&self) -> Option<f64> {
        let bytes: Vec<f64> = self.measured().map(|cell| (cell.cost.bytes_up + cell.cost.bytes_down) as f64).collect();
        mean(&bytes)
    }
}

impl Block {
    pub(crate) fn remarked(&self) -> Vec<Remarked<'_>> {
        self.rows.iter().map(BlockRow::remarked).collect()
    }

    /// Whether every method is shown at its last round.
    fn shows_last(&self) -> bool {
        let mut cells = self.rows.iter().flat_map(BlockRow::measured);
        cells.all(|cell| cell.details.last.as_ref().is_none_or(|last| last.round == cell.round))
    }

    /// Where clients alone do better than a federated method: one sentence per method, with what that is worth.
    pub(crate) fn cost_of_federating(&self) -> Vec<String> {
        let accuracy = |row: &BlockRow| row.metrics.get("accuracy").and_then(|metric| metric.mean);
        let Some(alone) = self.rows.iter().find(|row| row.label == "isolated") else { return Vec::new() };
        let Some(isolated) = accuracy(alone) else { return Vec::new() };
        let others = self.rows.iter().filter(|row| row.label != "isolated" && !row.label.starts_with("central"));
        let worse = others.filter_map(|row| Some((row, accuracy(row)?))).filter(|(_, found)| isolated > *found);
        worse
            .map(|(row, found)| {
                format!(
                    "{}: clients alone (isolated) have {isolated:.1} % accuracy, {} has {found:.1} %: federating costs \
                     {:.1} points here.",
                    self.name,
                    row.label,
                    isolated - found
                )
            })
            .collect()
    }
}

impl Comparison {
    /// The same metrics at the other of the two rounds that papers report; `None` if it was not recorded.
    pub(super) fn other_round(&self, block: &Block) -> Option<Sheet> {
        let last = block.shows_last();
        let pick = |details: &SeedDetails| -> Option<RoundScores> {
            if last { details.best_val.clone() } else { details.last.clone() }
        };
        let columns: Vec<&Column> = metrics().collect();
        let of_row = |row: &BlockRow, column: &Column| -> Vec<f64> {
            row.measured().filter_map(|cell| column.pick(&pick(&cell.details)?.scores)).collect()
        };
        let values: Vec<Vec<Vec<f64>>> =
            block.rows.iter().map(|row| columns.iter().map(|column| of_row(row, column)).collect()).collect();
        if values.iter().flatten().all(Vec::is_empty) {
            return None;
        }
        let ranked = |at: usize, c: usize| mean(&values[at][c]).filter(|_| !block.rows[at].remarked().collapsed());
        let marked: Vec<Vec<_>> = (0..columns.len())
            .map(|c| marks(&(0..block.rows.len()).map(|at| ranked(at, c)).collect::<Vec<_>>()))
            .collect();
        let line = |(at, row): (usize, &BlockRow)| {
            let cell = |c: usize| Marked { text: spread(&values[at][c]), mark: marked[c][at] };
            Line { label: row.label.clone(), cells: vec![(0..columns.len()).map(cell).collect()] }
        };
        let which = if last { "best validation round" } else { "last round" };
        Some(Sheet {
            title: format!("{}: the same at the {which}", block.name),
            labels: "Method",
            columns: columns.iter().map(|column| [column.title.to_owned(), column.unit.to_owned()]).collect(),
            rows: block.rows.iter().enumerate().map(line).collect(),
            notes: vec!["Percent, mean ± standard deviation; * best and ' second of the column.".to_owned()],
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
