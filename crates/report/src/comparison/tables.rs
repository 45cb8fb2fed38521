//! The tables of a comparison: scores, differences and costs of each dataset.

use boostfgl_fairness::GroupSizes;
use boostfgl_fairness::statistics::LEVEL;

use super::analysis::metrics;
use super::{Block, BlockRow, Comparison, Contender, Difference, MetricSummary, Outcome};
use crate::notes;
use crate::table::{Column, range};
use crate::text_table::{Line, Marked, TextTable, marks};

/// The column in which explanations begin.
const NAME: usize = 18;

impl Comparison {
    /// The metrics, mean ± standard deviation.
    pub(super) fn scores(&self, block: &Block) -> TextTable {
        let columns: Vec<&Column> = metrics().collect();
        let mut rows: Vec<Line> = block
            .rows
            .iter()
            .map(|row| Line { label: row.label.clone(), cells: vec![Vec::new()] })
            .collect();
        for (c, column) in columns.iter().enumerate() {
            let ranked: Vec<Option<f64>> =
                block.rows.iter().map(|row| row.ranked_mean(column)).collect();
            for ((line, row), mark) in rows.iter_mut().zip(&block.rows).zip(marks(&ranked)) {
                let text = row.state(c).unwrap_or_else(|| score(&row.metric(column)));
                line.cells[0].push(Marked { text, mark });
            }
        }
        let mut notes = vec![
            "Percent, mean ± standard deviation; * best and ' second of the column.".to_owned(),
        ];
        notes.extend(block.sizes());
        let runs = block.noted_runs();
        let about = notes::about(&runs);
        notes.extend(about.iter().flat_map(|(name, parts)| notes::listed(name, parts, NAME)));
        let warned = notes::shortened(notes::warned(&runs));
        notes.extend(warned.iter().flat_map(|text| notes::sentence("Warning", text, NAME)));
        notes.extend(
            notes::not_ranked(&runs)
                .iter()
                .flat_map(|text| notes::sentence("Not ranked", text, NAME)),
        );
        TextTable {
            title: format!("{}: {} seeds, test nodes", block.name, self.seeds.len()),
            labels: "Method",
            columns: headings(columns.iter().copied()),
            rows,
            notes,
        }
    }

    /// Differences to the base with interval, p and rank, in the pooled readings.
    pub(super) fn differences(&self, block: &Block) -> TextTable {
        let columns: Vec<&Column> = metrics().filter(|column| column.unit == "pooled").collect();
        let mut notes =
            vec![
            format!("Mean paired difference to {} with 95 % bootstrap interval, in points; below, \
                the p of", self.base),
            "Wilcoxon's signed-rank test after Holm's adjustment, and the mean rank (1 is \
             best).".to_owned(),
            "Ahead and behind: interval and test agree (p below 0.05). Leans: the interval alone \
             says so.".to_owned(),
        ];
        // Friedman's test (does any method differ from any other?) uses the same pairs. If they
        // are too few for any significant difference, its p-value would contradict that note.
        match block.limit().and_then(|limit| limit.sentence(block.unit())) {
            // Two lines, so that it fits a terminal.
            Some(sentence) => notes.push(sentence.replacen(": ", ":\n", 1)),
            None => notes.extend(columns.iter().filter_map(|column| friedman(block, column))),
        }
        TextTable {
            title: format!("{}: difference to {}", block.name, self.base),
            labels: "Method",
            columns: headings(columns.iter().copied()),
            rows: (0..block.rows.len())
                .map(|at| self.difference_row(block, at, &columns))
                .collect(),
            notes,
        }
    }

    /// One method of the table of differences: the difference, p-value and rank, the verdict.
    fn difference_row(&self, block: &Block, at: usize, columns: &[&Column]) -> Line {
        let row = &block.rows[at];
        let is_base = row.label == self.base;
        let (mut gains, mut tests, mut verdicts) = (Vec::new(), Vec::new(), Vec::new());
        for column in columns {
            let difference = row.metrics.get(column.key).and_then(|metric| metric.difference);
            let ranks = block.ranks.get(column.key);
            let rank = ranks.and_then(|ranks| ranks.ranks.get(at).copied().flatten());
            let without = if is_base { "base" } else { "–" };
            gains.push(Marked::plain(difference.map_or_else(|| without.to_owned(), |d| gain(&d))));
            tests.push(Marked::plain(test(difference.as_ref(), rank)));
            verdicts.push(Marked::plain(difference.map_or("", |d| d.certainty().word())));
        }
        let mut cells = vec![gains, tests];
        if !is_base {
            cells.push(verdicts);
        }
        Line { label: row.label.clone(), cells }
    }

    /// Which model is evaluated, traffic, time and memory.
    pub(super) fn costs(&self, block: &Block) -> TextTable {
        let measured = block.rows.iter().any(|row| row.cost.peak_rss_mib.is_some());
        let mut columns = vec![
            ["Evaluated", "model"],
            ["Rounds", "×E"],
            ["Traffic", "per seed"],
            ["Up", "per client, round"],
            ["Down", "per client, round"],
            ["CPU", "s per seed"],
            ["Memory", "estimate"],
        ];
        columns.extend(measured.then_some(["Memory", "measured"]));
        let memory = if measured {
            "Memory is that of the whole program while no other cell ran, next to the estimate per \
             run."
        } else {
            "Memory is estimated: cells share one program, so what one holds is measured only \
             with --threads 1."
        };
        TextTable {
            title: format!("{}: cost", block.name),
            labels: "Method",
            columns: columns.iter().map(|heading| heading.map(str::to_owned)).collect(),
            rows: block
                .rows
                .iter()
                .zip(&self.methods)
                .map(|(row, method)| cost_row(row, method, measured))
                .collect(),
            notes: vec![memory.to_owned()],
        }
    }
}

/// One method of the table of costs; `measured` adds the column of measured memory.
fn cost_row(row: &BlockRow, method: &Contender, measured: bool) -> Line {
    let cost = &row.cost;
    let mut cells = vec![
        method.evaluated.clone(),
        row.noted_run().budget().unwrap_or_else(|| "–".to_owned()),
        size_or_dash(row.traffic()),
        size_or_dash(cost.bytes_up),
        size_or_dash(cost.bytes_down),
        cost.cpu_seconds.map_or_else(|| "–".to_owned(), |s| format!("{s:.2}")),
        size(cost.peak_bytes as f64),
    ];
    if measured {
        cells.push(size_or_dash(cost.peak_rss_mib.map(|mib| mib * f64::from(1 << 20))));
    }
    Line { label: row.label.clone(), cells: vec![cells.into_iter().map(Marked::plain).collect()] }
}

impl Block {
    /// The numbers of test nodes in words; `None` if no cell ran.
    fn sizes(&self) -> Option<String> {
        let groups: Vec<GroupSizes> = self
            .rows
            .iter()
            .flat_map(|row| &row.cells)
            .filter_map(|cell| Some(cell.measured()?.groups))
            .collect();
        groups.first()?;
        Some(format!(
            "Test nodes: {} in all, {} heterophilous, {} minority and heterophilous.",
            range(groups.iter().map(|group| group.all)),
            range(groups.iter().map(|group| group.heterophilous)),
            range(groups.iter().map(|group| group.hete_min)),
        ))
    }
}

impl BlockRow {
    /// The text in column `at` in place of a score if no cell finished; `None` if one did.
    pub(super) fn state(&self, at: usize) -> Option<String> {
        if self.cells.iter().any(|cell| cell.measured().is_some()) {
            return None;
        }
        let text = match &self.cells.first()?.outcome {
            _ if at > 0 => "",
            Outcome::OverBudget { .. } => "over budget",
            _ => "failed",
        };
        Some(text.to_owned())
    }
}

/// Title and reading of each column.
pub(super) fn headings<'a>(columns: impl Iterator<Item = &'a Column>) -> Vec<[String; 2]> {
    columns.map(|column| [column.title.to_owned(), column.unit.to_owned()]).collect()
}

/// Mean ± standard deviation of a metric.
pub(super) fn score(metric: &MetricSummary) -> String {
    match (metric.mean, metric.std) {
        (None, _) => "no such node".to_owned(),
        (Some(mean), None) => format!("{mean:.1} ± –"),
        (Some(mean), Some(std)) => format!("{mean:.1} ± {std:.1}"),
    }
}

/// `+1.2 [0.3, 2.1]`.
fn gain(difference: &Difference) -> String {
    let interval = difference
        .interval
        .map(|i| format!(" [{:.1}, {:.1}]", tenths(i.lo), tenths(i.hi)))
        .unwrap_or_default();
    format!("{:+.1}{interval}", tenths(difference.mean))
}

/// Rounded to one decimal; adding 0.0 turns −0 into 0, so that no `-0.0` is printed.
fn tenths(x: f64) -> f64 {
    (x * 10.0).round() / 10.0 + 0.0
}

/// `p 0.012, rank 1.4`.
fn test(difference: Option<&Difference>, rank: Option<f64>) -> String {
    let p = difference.and_then(|d| d.p_holm).map(|p| format!("p {}", decimal(p)));
    let rank = rank.map(|rank| format!("rank {rank:.1}"));
    p.into_iter().chain(rank).collect::<Vec<_>>().join(", ")
}

/// The result of Friedman's test on a metric in words.
fn friedman(block: &Block, column: &Column) -> Option<String> {
    let ranks = block.ranks.get(column.key)?;
    let test = ranks.friedman?;
    let apart =
        ranks.critical_difference.map(|cd| format!("; ranks {cd:.2} apart differ (Nemenyi, 5 %)"));
    let apart = apart.filter(|_| test.p < LEVEL).unwrap_or_default();
    Some(format!(
        "{}: Friedman p {} over {} blocks{apart}.",
        column.title,
        decimal(test.p),
        ranks.blocks
    ))
}

/// A p-value with enough digits to compare it with the level.
fn decimal(p: f64) -> String {
    match p {
        p if p >= 0.1 => format!("{p:.2}"),
        p if p >= 0.001 => format!("{p:.4}").trim_end_matches('0').to_owned(),
        _ => format!("{p:.0e}"),
    }
}

/// Bytes in the unit that leaves at most four digits.
pub(super) fn size(bytes: f64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let at = units
        .iter()
        .enumerate()
        .map(|(at, _)| at)
        .find(|&at| bytes < 1024f64.powi(at as i32 + 1))
        .unwrap_or(4);
    let value = bytes / 1024f64.powi(at as i32);
    if at == 0 { format!("{value:.0} B") } else { format!("{value:.1} {}", units[at]) }
}

/// [`size`] of a value that may be missing.
fn size_or_dash(bytes: Option<f64>) -> String {
    bytes.map_or_else(|| "–".to_owned(), size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_that_round_to_zero_have_no_minus_sign() {
        let difference = Difference {
            mean: -0.04,
            interval: None,
            pairs: 1,
            p: None,
            p_holm: None,
            verdict: None,
        };
        assert_eq!(gain(&difference), "+0.0");
        assert_eq!(gain(&Difference { mean: -0.06, ..difference }), "-0.1");
    }

    #[test]
    fn sizes_and_p_values_are_short() {
        assert_eq!(
            [0.0, 1023.0, 1024.0, 13_207_024_435.0].map(size),
            ["0 B", "1023 B", "1.0 KiB", "12.3 GiB"]
        );
        assert_eq!(
            [0.0625, 0.5, 0.05, 0.0000123, 1.0].map(decimal),
            ["0.0625", "0.50", "0.05", "1e-5", "1.00"]
        );
    }
}
