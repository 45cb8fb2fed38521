//! A comparison for spreadsheets and other programs.

use super::analysis::{metrics, values};
use super::{Block, Comparison};
use crate::text_table::csv_line;

impl Comparison {
    /// The long form with every digit, one record per dataset, method, metric and seed:
    /// `dataset,method,evaluated,metric,reading,seed,state,value`. A group without nodes, and a
    /// cell that did not end, has an empty value.
    pub fn csv(&self) -> String {
        let header =
            ["dataset", "method", "evaluated", "metric", "reading", "seed", "state", "value"];
        let mut text = csv_line(&header.map(str::to_owned));
        for block in &self.datasets {
            for (row, method) in block.rows.iter().zip(&self.methods) {
                for column in metrics() {
                    for (cell, value) in row.cells.iter().zip(values(column, &row.cells)) {
                        text.push_str(&csv_line(&[
                            block.name.clone(),
                            row.label.clone(),
                            method.evaluated.clone(),
                            column.key.to_owned(),
                            column.unit.to_owned(),
                            cell.seed.to_string(),
                            cell.outcome.word().to_owned(),
                            number(value),
                        ]));
                    }
                }
            }
        }
        text
    }

    /// One record per dataset, method and metric: mean, spread, difference to the base with
    /// interval and p-values, mean rank, costs, and the verdict in a word. The records of all
    /// datasets together come last; mean and standard deviation are empty there, because they
    /// would mix datasets.
    pub fn summary_csv(&self) -> String {
        let header = "dataset,method,evaluated,metric,mean,std,difference,lo,hi,pairs,p,p_holm,rank,\
                      bytes_up,bytes_down,cpu_seconds,peak_bytes,peak_rss_mib,verdict";
        let mut text = format!("{header}\n");
        for block in &self.datasets {
            self.write_summary(block, true, &mut text);
        }
        if let Some(block) = &self.pooled {
            self.write_summary(block, false, &mut text);
        }
        text
    }

    /// Appends the records of one block; `means` says whether mean and deviation have a meaning.
    fn write_summary(&self, block: &Block, means: bool, text: &mut String) {
        for (at, (row, method)) in block.rows.iter().zip(&self.methods).enumerate() {
            for (metric, summary) in &row.metrics {
                let difference = summary.difference.as_ref();
                let interval = difference.and_then(|d| d.interval);
                let rank = block
                    .ranks
                    .get(metric)
                    .and_then(|ranks| ranks.ranks.get(at).copied().flatten());
                text.push_str(&csv_line(&[
                    block.name.clone(),
                    row.label.clone(),
                    method.evaluated.clone(),
                    metric.clone(),
                    number(summary.mean.filter(|_| means)),
                    number(summary.std.filter(|_| means)),
                    number(difference.map(|d| d.mean)),
                    number(interval.map(|i| i.lo)),
                    number(interval.map(|i| i.hi)),
                    difference.map(|d| d.pairs.to_string()).unwrap_or_default(),
                    number(difference.and_then(|d| d.p)),
                    number(difference.and_then(|d| d.p_holm)),
                    number(rank),
                    number(row.cost.bytes_up),
                    number(row.cost.bytes_down),
                    number(row.cost.cpu_seconds),
                    row.cost.peak_bytes.to_string(),
                    number(row.cost.peak_rss_mib),
                    difference.map(|d| d.certainty().word().to_owned()).unwrap_or_default(),
                ]));
            }
        }
    }
}

fn number(value: Option<f64>) -> String {
    value.map(|x| x.to_string()).unwrap_or_default()
}
