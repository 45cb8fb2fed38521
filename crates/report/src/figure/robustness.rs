//! Robustness against fairness: the score lost to attacks under each aggregation rule, and the
//! rounds in which the rule silences the hardest client.

use super::gather::{datasets, labels, rows};
use crate::chart::{Chart, Cloud, Points};
use crate::{ResultRow, Results};
use boostfgl_fairness::mean;

/// One chart per dataset, number of clients and method, with a cloud per rule and a point per
/// attack. Less is better on both axes.
pub(super) fn draw(results: &Results) -> Vec<Chart> {
    let mut charts = Vec::new();
    for dataset in datasets(results) {
        for clients in results.distinct(|row| setting(row, "partition.clients")) {
            charts.extend(
                labels(results)
                    .iter()
                    .filter_map(|method| chart(results, &dataset, &clients, method)),
            );
        }
    }
    charts
}

fn chart(results: &Results, dataset: &str, clients: &str, method: &str) -> Option<Chart> {
    let own: Vec<&ResultRow> = rows(results, dataset, method)
        .filter(|row| setting(row, "partition.clients") == clients)
        .collect();
    let mut clouds: Vec<Cloud> = results
        .distinct(|row| setting(row, "aggregation.rule"))
        .into_iter()
        .map(|rule| cloud(results, &own, rule))
        .collect();
    clouds.retain(|cloud| !cloud.points.is_empty());
    let title =
        format!("What attacks cost and whom rules silence: {method}, {dataset}, {clients} clients");
    let x = "Hete-min-F1 lost against the mean without attack, points".to_owned();
    let y = "rounds that silenced the hardest client, %".to_owned();
    (!clouds.is_empty()).then(|| Points { title, x, y, clouds }.chart())
}

/// The points of one rule, one per attack that has both numbers.
fn cloud(results: &Results, rows: &[&ResultRow], rule: String) -> Cloud {
    let mut points = Vec::new();
    for attack in results.distinct(|row| setting(row, "attack.kind")) {
        let (mut losses, mut silenced) = (Vec::new(), Vec::new());
        for row in rows.iter().filter(|row| is_setup(row, &attack, &rule)) {
            losses.extend(lost(results, rows, row));
            silenced.extend(results.value(row, "silenced"));
        }
        points.extend(mean(&losses).zip(mean(&silenced)).map(|(x, y)| (attack, [x, y])));
    }
    Cloud { name: rule, points }
}

/// The score that the run lost against the plain mean without attack under the same seed.
fn lost(results: &Results, rows: &[&ResultRow], row: &ResultRow) -> Option<f64> {
    let clean =
        rows.iter().find(|other| other.seed == row.seed && is_setup(other, "none", "mean"))?;
    Some(results.value(clean, "hete_min_f1")? - results.value(row, "hete_min_f1")?)
}

/// Whether the run had this attack and this aggregation rule.
fn is_setup(row: &ResultRow, attack: &str, rule: &str) -> bool {
    setting(row, "attack.kind") == attack && setting(row, "aggregation.rule") == rule
}

/// A varied setting, without the quotation marks of TOML.
fn setting(row: &ResultRow, key: &str) -> String {
    row.varied.get(key).map(|value| value.trim_matches('"').to_owned()).unwrap_or_default()
}
