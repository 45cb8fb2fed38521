//! What attacks cost under each rule, and whom the rule silences.

use super::super::{Results, Row};
use super::table::{Table, spread};
use std::fmt::Write as _;

/// Per dataset and method: Hete-min-F1 by rule and attack, then how often the hardest client was silenced.
pub(super) fn tables(results: &Results) -> String {
    let mut text = String::new();
    for dataset in results.distinct(|row| row.dataset.clone()) {
        for method in results.distinct(|row| row.method.clone()) {
            let of = |row: &&Row| row.dataset == dataset && row.method == method;
            let own: Vec<&Row> = results.rows.iter().filter(of).collect();
            let about = [
                ("Hete-min-F1, %", "hete_min_f1", 1),
                ("rounds that silenced the hardest client, %", "silenced", 0),
                ("weight of the hardest client, of an equal share", "weight", 2),
            ];
            for (what, column, digits) in about {
                let heading = format!("{dataset}, {method}: {what}");
                let _ = writeln!(text, "{}", table(results, &own, &heading, column, digits).markdown());
            }
        }
    }
    text
}

/// Rules by attacks.
fn table(results: &Results, own: &[&Row], heading: &str, column: &str, digits: usize) -> Table {
    let distinct = |key: &str| {
        let mut found: Vec<String> = Vec::new();
        for value in own.iter().map(|row| setting(row, key)) {
            if !found.contains(&value) {
                found.push(value);
            }
        }
        found
    };
    let attacks = distinct("attack.kind");
    let mut table = Table::new(std::iter::once(heading.to_owned()).chain(attacks.iter().cloned()));
    for rule in distinct("aggregation.rule") {
        let cell = |attack: &String| {
            let here = own
                .iter()
                .filter(|row| setting(row, "aggregation.rule") == rule && setting(row, "attack.kind") == *attack);
            spread(&here.filter_map(|row| results.value(row, column)).collect::<Vec<f64>>(), digits)
        };
        table.row(std::iter::once(rule.clone()).chain(attacks.iter().map(cell)));
    }
    table
}

/// A varied setting, without the quotation marks of a file.
fn setting(row: &Row, key: &str) -> String {
    row.varied.get(key).map(|value| value.trim_matches('"').to_owned()).unwrap_or_default()
}
