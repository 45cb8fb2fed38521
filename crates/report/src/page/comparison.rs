//! Comparison of methods with a base: paired differences, tests, ranks.

use super::{RULE, RunGroup};
use crate::chart::{Dot, Dots, Ranks};
use crate::comparison::metrics;
use crate::markup::Markup;
use crate::{Block, BlockRow};

pub(super) fn section(runs: &RunGroup) -> Option<String> {
    let block = runs.block.as_ref()?;
    let mut page = Markup::default();
    page.raw(&differences(block, &runs.base));
    page.raw(&table(block, &runs.base));
    Some(page.finish())
}

/// The comparison over all datasets together.
pub(super) fn pooled(block: &Block, base: &str) -> String {
    let mut page = Markup::default();
    page.open("section", &[("id", &"pooled")]);
    page.text("h2", &[], "All datasets");
    page.raw(&differences(block, base));
    page.raw(&table(block, base));
    page.close("section");
    page.finish()
}

/// Charts of the differences of every method in every metric, and of the ranks.
fn differences(block: &Block, base: &str) -> String {
    let mut page = Markup::default();
    page.raw("<div class=\"charts\">");
    let others: Vec<&BlockRow> = block.rows.iter().filter(|row| row.label != base).collect();
    let mut dots = Vec::new();
    for metric in metrics() {
        for (series, row) in others.iter().enumerate() {
            let Some(difference) = row.metrics.get(metric.key).and_then(|metric| metric.difference)
            else {
                continue;
            };
            let interval = difference.interval.map_or([f64::NAN; 2], |i| [i.lo, i.hi]);
            let group = format!("{}, {}", metric.title, metric.unit);
            dots.push(Dot { group, series, mean: difference.mean, interval, wide: None });
        }
    }
    if !dots.is_empty() {
        let chart = Dots {
            title: format!("Difference to {base}"),
            x: format!("points of percent more than {base}"),
            interval: "95 % bootstrap interval over pairs".to_owned(),
            series: others.iter().map(|row| row.label.clone()).collect(),
            dots,
            mark: Some(0.0),
            // In other charts the base has the first colour, and the others keep theirs.
            first_colour: usize::from(block.rows.first().is_some_and(|row| row.label == base)),
        };
        page.raw(&chart.chart().html());
    }
    for metric in metrics() {
        page.raw(
            &ranks(block, metric.key, &format!("{}, {}", metric.title, metric.unit))
                .unwrap_or_default(),
        );
    }
    page.raw("</div>");
    page.finish()
}

/// The critical-difference diagram of a metric; `None` for two methods, whose difference is more
/// informative.
fn ranks(block: &Block, key: &str, title: &str) -> Option<String> {
    let ranks = block.ranks.get(key).filter(|ranks| ranks.blocks > 1 && block.rows.len() > 2)?;
    let named = block
        .rows
        .iter()
        .zip(&ranks.ranks)
        .filter_map(|(row, rank)| Some((row.label.clone(), (*rank)?)));
    let chart = Ranks {
        title: format!("{title}: mean rank over {} pairs of dataset and seed", ranks.blocks),
        ranks: named.collect(),
        critical_difference: ranks.critical_difference,
    };
    let joint = match ranks.critical_difference {
        Some(_) => {
            " A thick line joins methods whose ranks do not differ at the 5 % level (Nemenyi)."
        }
        None => " For this number of methods no critical difference is known.",
    };
    let enough = block.limit().is_some_and(|limit| limit.sentence(block.unit()).is_none());
    let friedman = ranks.friedman.filter(|_| enough);
    let friedman = friedman
        .map_or(String::new(), |test| format!(" Friedman's test: p = {}.", p_value(test.p)));
    let note = format!("1 is best.{joint}{friedman}");
    Some(chart.chart().noted(note).html())
}

/// The table of every method and metric: mean, difference, interval, p-value.
fn table(block: &Block, base: &str) -> String {
    let mut page = Markup::default();
    let head =
        ["method", "metric", "mean ± std", "difference", "95 % interval", "p (Holm)", "verdict"]
            .map(str::to_owned);
    let mut rows = Vec::new();
    for row in &block.rows {
        for metric in metrics() {
            let name = format!("{}, {}", metric.title, metric.unit);
            rows.push(
                [row.label.clone(), name].into_iter().chain(cells(row, metric.key)).collect(),
            );
        }
    }
    page.raw("<details open><summary>All numbers</summary>");
    page.table(&head, &rows);
    let least = block.limit().and_then(|limit| limit.sentence(block.unit())).unwrap_or_default();
    let note = format!(
        "Percent; differences to {base} on the same dataset, seed, partition and split; p by \
         Wilcoxon's signed-rank test, \
         adjusted after Holm over the methods. {RULE} {least}"
    );
    page.text("p", &[("class", &"note")], note.trim_end());
    page.raw("</details>");
    page.finish()
}

/// Mean, difference, its interval, p-value and verdict of one metric.
fn cells(row: &BlockRow, key: &str) -> [String; 5] {
    let Some(metric) = row.metrics.get(key) else { return std::array::from_fn(|_| dash()) };
    let mean = match (metric.mean, metric.std) {
        (Some(mean), Some(std)) => format!("{mean:.2} ± {std:.2}"),
        (Some(mean), None) => format!("{mean:.2}"),
        _ => missing(row),
    };
    let difference = metric.difference.map_or_else(dash, |d| format!("{:+.2}", d.mean));
    let interval = metric.difference.and_then(|d| d.interval);
    let interval = interval.map_or_else(dash, |i| format!("{:+.2} to {:+.2}", i.lo, i.hi));
    let p = metric.difference.and_then(|d| d.p_holm).map_or_else(dash, p_value);
    let verdict = metric.difference.map_or_else(dash, |d| d.certainty().word().to_owned());
    [mean, difference, interval, p, verdict]
}

/// The text of a cell without a value.
fn dash() -> String {
    "–".to_owned()
}

/// Three decimals, or scientific notation for smaller values.
fn p_value(p: f64) -> String {
    if p >= 0.001 { format!("{p:.3}") } else { format!("{p:.1e}") }
}

/// The reason why there is no number.
fn missing(row: &BlockRow) -> String {
    let reason = row.cells.iter().find_map(|cell| match &cell.outcome {
        crate::Outcome::OverBudget { .. } => Some("over budget (estimate)"),
        crate::Outcome::Failed { .. } => Some("failed"),
        crate::Outcome::Done(_) => None,
    });
    reason.unwrap_or("–").to_owned()
}
