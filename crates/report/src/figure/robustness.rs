//! Robustness against fairness: what attacks cost under each rule, and whom it silences for that.

use super::gather::{datasets, labels, rows};
use crate::chart::{Chart, Cloud, Points};
use crate::{ResultRow, Results};
use boostfgl_fairness::mean;

/// One chart per dataset, number of clients and method: a cloud per rule, a point per attack, both
/// axes the less the better.
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
    let of = |row: &&ResultRow| setting(row, "partition.clients") == clients;
    let own: Vec<&ResultRow> = rows(results, dataset, method).filter(of).collect();
    let clean: Vec<&ResultRow> =
        own.iter().copied().filter(|row| is(row, "none", "mean")).collect();
    let lost = |row: &ResultRow| {
        let before = clean.iter().find(|clean| clean.seed == row.seed)?;
        Some(results.value(before, "hete_min_f1")? - results.value(row, "hete_min_f1")?)
    };
    let mut clouds: Vec<Cloud> = Vec::new();
    for rule in results.distinct(|row| setting(row, "aggregation.rule")) {
        let mut points = Vec::new();
        for attack in results.distinct(|row| setting(row, "attack.kind")) {
            let here = || own.iter().filter(|row| is(row, &attack, &rule));
            let x = mean(&here().filter_map(|row| lost(row)).collect::<Vec<f64>>());
            let y = mean(
                &here().filter_map(|row| results.value(row, "silenced")).collect::<Vec<f64>>(),
            );
            points.extend(x.zip(y).map(|(x, y)| (attack.clone(), [x, y])));
        }
        clouds.push(Cloud { name: rule, points });
    }
    clouds.retain(|cloud| !cloud.points.is_empty());
    let title =
        format!("What attacks cost and whom rules silence: {method}, {dataset}, {clients} clients");
    let x = "Hete-min-F1 lost against the mean without attack, points".to_owned();
    let y = "rounds that silenced the hardest client, %".to_owned();
    (!clouds.is_empty()).then(|| Points { title, x, y, clouds }.chart())
}

fn is(row: &ResultRow, attack: &str, rule: &str) -> bool {
    setting(row, "attack.kind") == attack && setting(row, "aggregation.rule") == rule
}

/// A varied setting, without the quotation marks of a file.
fn setting(row: &ResultRow, key: &str) -> String {
    row.varied.get(key).map(|value| value.trim_matches('"').to_owned()).unwrap_or_default()
}
