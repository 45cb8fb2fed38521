//! A comparison for people: scores, differences and costs of each dataset.

use boostfgl_fairness::statistics::LEVEL;

use super::analysis::metrics;
use super::{Block, BlockRow, Comparison, Difference, MetricSummary, Metrics, Outcome};
use crate::Style;
use crate::notes;
use crate::table::{Column, range};
use crate::text_table::{Line, Marked, TextTable, escape, marks};

/// Where explanations begin.
const NAME: usize = 18;

impl Comparison {
    /// For a terminal: per dataset the scores, the differences to the base and the costs; then all
    /// datasets together.
    pub fn text(&self, style: Style) -> String {
        let mut text: Vec<String> = Vec::new();
        for block in &self.datasets {
            let other = self.other_round(block);
            let tables = [
                Some(self.scores(block)),
                other,
                Some(self.differences(block)),
                Some(self.costs(block)),
            ];
            text.extend(tables.into_iter().flatten().map(|table| table.text(style)));
        }
        text.extend(self.pooled.iter().map(|block| self.differences(block).text(style)));
        text.push(self.notes().join("\n") + "\n");
        text.join("\n")
    }

    /// In Markdown, a section per dataset.
    pub fn markdown(&self) -> String {
        self.markdown_with(&Metrics::default())
    }

    /// The same with these metrics in the table of methods by datasets.
    pub fn markdown_with(&self, metrics: &Metrics) -> String {
        let mut text = match &self.datasets[..] {
            [_] => String::new(),
            _ => format!("## Methods by datasets\n\n{}\n", self.grid_markdown(metrics)),
        };
        let add = |text: &mut String, table: &TextTable, level: &str| {
            text.push_str(&format!(
                "{level} {}\n\n{}\n",
                table.title.replace(['\n', '\r'], " "),
                table.markdown()
            ));
        };
        for block in &self.datasets {
            add(&mut text, &self.scores(block), "##");
            text.push_str(&below(block));
            self.other_round(block).iter().for_each(|table| add(&mut text, table, "###"));
            add(&mut text, &self.differences(block), "###");
            add(&mut text, &self.costs(block), "###");
        }
        if let Some(block) = &self.pooled {
            add(&mut text, &self.differences(block), "##");
        }
        text.push_str(&self.notes().join(" "));
        text.push('\n');
        text
    }

    /// In LaTeX, for the package booktabs: methods by datasets first, then a table of scores, of
    /// differences and of costs per dataset.
    pub fn latex(&self) -> String {
        self.latex_with(&Metrics::default())
    }

    /// The same with these metrics in the table of methods by datasets.
    pub fn latex_with(&self, metrics: &Metrics) -> String {
        let mut text = format!("% \\usepackage{{booktabs}}\n{}", self.grid_latex(metrics));
        let over = format!("mean ± standard deviation over {} seeds, in percent", self.seeds.len());
        for block in &self.datasets {
            let scores = self.scores(block);
            text.push_str(
                &scores.latex(&format!("{}: {over}; best in bold, second underlined.", block.name)),
            );
            let other = self.other_round(block);
            for table in other.into_iter().chain([self.differences(block), self.costs(block)]) {
                text.push_str(&table.latex(&format!("{}.", table.title)));
            }
        }
        if let Some(block) = &self.pooled {
            let table = self.differences(block);
            text.push_str(&table.latex(&format!("{}.", table.title)));
        }
        for remark in self.notes() {
            text.push_str(&format!("% {}\n", escape(&remark)));
        }
        text
    }

    /// The metrics, mean ± standard deviation.
    fn scores(&self, block: &Block) -> TextTable {
        let columns: Vec<&Column> = metrics().collect();
        let summary = |row: &BlockRow, column: &Column| {
            row.metrics.get(column.key).cloned().unwrap_or_default()
        };
        let marked: Vec<Vec<_>> = columns
            .iter()
            .map(|column| {
                let ranked = |row: &BlockRow| summary(row, column).mean.filter(|_| row.is_ranked());
                marks(&block.rows.iter().map(ranked).collect::<Vec<_>>())
            })
            .collect();
        let line = |(at, row): (usize, &BlockRow)| {
            let cells = columns.iter().zip(&marked).enumerate().map(|(c, (column, marked))| {
                let text = row.state(c).unwrap_or_else(|| score(&summary(row, column)));
                Marked { text, mark: marked[at] }
            });
            Line { label: row.label.clone(), cells: vec![cells.collect()] }
        };
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
            rows: block.rows.iter().enumerate().map(line).collect(),
            notes,
        }
    }

    /// Differences to the base with interval, p and rank, in the pooled readings.
    fn differences(&self, block: &Block) -> TextTable {
        let columns: Vec<&Column> = metrics().filter(|column| column.unit == "pooled").collect();
        let line = |(at, row): (usize, &BlockRow)| {
            let (mut first, mut second, mut third) = (Vec::new(), Vec::new(), Vec::new());
            for column in &columns {
                let difference = row.metrics.get(column.key).and_then(|metric| metric.difference);
                let ranks = block.ranks.get(column.key);
                let rank = ranks.and_then(|ranks| ranks.ranks.get(at).copied().flatten());
                let own = if row.label == self.base { "base" } else { "–" };
                first.push(Marked::plain(difference.map_or_else(|| own.to_owned(), |d| gain(&d))));
                second.push(Marked::plain(test(difference.as_ref(), rank)));
                third.push(Marked::plain(difference.map_or("", |d| d.certainty().word())));
            }
            let words = row.label != self.base;
            Line {
                label: row.label.clone(),
                cells: [first, second].into_iter().chain(words.then_some(third)).collect(),
            }
        };
        let mut notes =
            vec![
            format!("Mean paired difference to {} with 95 % bootstrap interval, in points; below, \
                the p of", self.base),
            "Wilcoxon's signed-rank test after Holm's adjustment, and the mean rank (1 is \
             best).".to_owned(),
            "Ahead and behind: interval and test agree (p below 0.05). Leans: the interval alone \
             says so.".to_owned(),
        ];
        // In lines that fit a terminal.
        let power = block.limit().and_then(|limit| limit.sentence(block.unit()));
        // Friedman's test asks another question (does any method differ from any other?) of as few
        // pairs: no p of it may stand below the sentence that they show nothing.
        match power {
            Some(sentence) => notes.push(sentence.replacen(": ", ":\n", 1)),
            None => notes.extend(columns.iter().filter_map(|column| friedman(block, column))),
        }
        TextTable {
            title: format!("{}: difference to {}", block.name, self.base),
            labels: "Method",
            columns: headings(columns.iter().copied()),
            rows: block.rows.iter().enumerate().map(line).collect(),
            notes,
        }
    }

    /// Which model is evaluated, traffic, time and memory.
    fn costs(&self, block: &Block) -> TextTable {
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
        let line = |(row, method): (&BlockRow, &super::Contender)| {
            let cost = &row.cost;
            let bytes = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), size);
            let mut cells = vec![
                method.evaluated.clone(),
                row.noted_run().budget().unwrap_or_else(|| "–".to_owned()),
                bytes(row.traffic()),
                bytes(cost.bytes_up),
                bytes(cost.bytes_down),
                cost.cpu_seconds.map_or_else(|| "–".to_owned(), |s| format!("{s:.2}")),
                size(cost.peak_bytes as f64),
            ];
            cells.extend(
                measured.then(|| bytes(cost.peak_rss_mib.map(|mib| mib * f64::from(1 << 20)))),
            );
            Line {
                label: row.label.clone(),
                cells: vec![cells.into_iter().map(Marked::plain).collect()],
            }
        };
        let memory = if measured {
            "Memory is that of the whole program while no other cell ran, beside the estimate per \
             run."
        } else {
            "Memory is estimated: cells share one program, so what one holds is measured only \
             with --threads 1."
        };
        TextTable {
            title: format!("{}: cost", block.name),
            labels: "Method",
            columns: columns.iter().map(|heading| heading.map(str::to_owned)).collect(),
            rows: block.rows.iter().zip(&self.methods).map(line).collect(),
            notes: vec![memory.to_owned()],
        }
    }

    /// What stands at the end.
    fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            "Every method ran on the same partition, split and seed; differences are between such \
             pairs."
                .to_owned(),
        ];
        let evaluated: std::collections::BTreeSet<&str> =
            self.methods.iter().map(|m| m.evaluated.as_str()).collect();
        if evaluated.len() > 1 {
            notes.push(
                "Methods differ in which model is evaluated (see cost): this alone moves scores by \
                 points."
                    .to_owned(),
            );
        }
        for block in &self.datasets {
            notes.extend(block.cost_of_federating());
            for row in &block.rows {
                notes.extend(row.over_budget().map(|needed| {
                    format!(
                        "{} on {}: over budget (estimate {}).",
                        row.label,
                        block.name,
                        size(needed as f64)
                    )
                }));
            }
        }
        let failed = |(dataset, label, seed, message): (&str, &str, u64, &str)| {
            format!("{label} on {dataset}, seed {seed}, failed and is left out: {message}.")
        };
        notes.extend(self.failures().into_iter().map(failed));
        notes
    }
}

/// What a table of a block is about, and what is wrong with its runs, in Markdown.
fn below(block: &Block) -> String {
    let runs = block.noted_runs();
    let about = notes::about(&runs);
    let mut text: String =
        about.iter().map(|(name, parts)| format!("{name}: {}.\n", parts.join(", "))).collect();
    notes::warned(&runs)
        .iter()
        .for_each(|warning| text.push_str(&format!("\n**Warning** {warning}\n")));
    notes::not_ranked(&runs)
        .iter()
        .for_each(|note| text.push_str(&format!("\n**Not ranked** {note}\n")));
    text.push('\n');
    text
}

impl Block {
    fn sizes(&self) -> Option<String> {
        let groups = || {
            self.rows
                .iter()
                .flat_map(|row| &row.cells)
                .filter_map(|cell| Some(cell.measured()?.groups))
        };
        groups().next()?;
        Some(format!(
            "Test nodes: {} in all, {} heterophilous, {} minority and heterophilous.",
            range(groups().map(|g| g.all).collect::<Vec<_>>().into_iter()),
            range(groups().map(|g| g.heterophilous).collect::<Vec<_>>().into_iter()),
            range(groups().map(|g| g.hete_min).collect::<Vec<_>>().into_iter()),
        ))
    }
}

impl BlockRow {
    /// The estimate that kept the method from running, in bytes.
    fn over_budget(&self) -> Option<u64> {
        self.cells.iter().find_map(|cell| match cell.outcome {
            Outcome::OverBudget { needed, .. } => Some(needed),
            _ => None,
        })
    }

    /// What stands in column `at` instead of a score if no cell ended; `None` if one did.
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

fn headings<'a>(columns: impl Iterator<Item = &'a Column>) -> Vec<[String; 2]> {
    columns.map(|column| [column.title.to_owned(), column.unit.to_owned()]).collect()
}

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

/// To one decimal, and never −0.
fn tenths(x: f64) -> f64 {
    (x * 10.0).round() / 10.0 + 0.0
}

/// `p 0.012, rank 1.4`.
fn test(difference: Option<&Difference>, rank: Option<f64>) -> String {
    let p = difference.and_then(|d| d.p_holm).map(|p| format!("p {}", decimal(p)));
    let rank = rank.map(|rank| format!("rank {rank:.1}"));
    p.into_iter().chain(rank).collect::<Vec<_>>().join(", ")
}

/// Friedman's test on a metric in words.
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

/// A p-value with two digits that count.
fn decimal(p: f64) -> String {
    match p {
        p if p >= 0.1 => format!("{p:.2}"),
        p if p >= 0.001 => format!("{p:.4}").trim_end_matches('0').to_owned(),
        _ => format!("{p:.0e}"),
    }
}

/// Bytes in the unit that leaves at most four digits.
fn size(bytes: f64) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_difference_has_no_sign_of_its_own() {
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
    fn sizes_and_chances_are_easy_to_read() {
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
