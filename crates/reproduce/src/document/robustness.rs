//! The cost of attacks under each aggregation rule, and the weight of the hardest client.

use super::selection::{middle, spread};
use super::table::Table;
use crate::{Results, Row};
use boostfgl_fairness::mean;
use std::fmt::Write as _;

/// Per dataset, number of clients and method: points lost by rule and attack, the two metrics
/// behind them, and what became of the hardest client.
pub(super) fn tables(results: &Results) -> String {
    let mut text = String::new();
    for dataset in results.distinct(|row| row.dataset.clone()) {
        for clients in results.distinct(|row| setting(row, CLIENTS)) {
            for method in results.distinct(|row| row.method.clone()) {
                let rows: Vec<&Row> = results
                    .of_method(&method)
                    .filter(|row| row.dataset == dataset && setting(row, CLIENTS) == clients)
                    .collect();
                if !rows.is_empty() {
                    let name = format!("{dataset}, {clients} clients, {method}");
                    text.push_str(&Situation { results, name, rows }.tables());
                }
            }
        }
    }
    text
}

const CLIENTS: &str = "partition.clients";
const RULE: &str = "aggregation.rule";
const ATTACK: &str = "attack.kind";
/// The value of [`ATTACK`] without an attack.
const NONE: &str = "none";
/// The value of [`RULE`] for the plain mean.
const MEAN: &str = "mean";

/// The rows of one method on one dataset with one number of clients.
struct Situation<'a> {
    results: &'a Results,
    name: String,
    rows: Vec<&'a Row>,
}

impl Situation<'_> {
    fn tables(&self) -> String {
        let mut text = self.lost().markdown() + "\n";
        let about = [
            ("Overall-F1, %", "overall_f1", 1),
            ("Hete-min-F1, %", "hete_min_f1", 1),
            ("rounds that silenced the hardest client, %", "silenced", 0),
            ("weight of the hardest client, of an equal share", "weight", 2),
        ];
        for (what, column, digits) in about {
            let _ = writeln!(text, "{}", self.by_attack(what, column, digits).markdown());
        }
        text
    }

    /// Rules by attacks.
    fn by_attack(&self, what: &str, column: &str, digits: usize) -> Table {
        let attacks = self.distinct(ATTACK);
        let mut table = Table::new(
            std::iter::once(format!("{}: {what}", self.name)).chain(attacks.iter().cloned()),
        );
        for rule in self.distinct(RULE) {
            let cells = attacks.iter().map(|attack| {
                let numbers = self.numbers(&rule, attack, |row| self.results.value(row, column));
                spread(&numbers, digits)
            });
            table.row(std::iter::once(rule.clone()).chain(cells));
        }
        table
    }

    /// Points lost compared with the mean without an attack, and how often the hardest client is
    /// silenced without one. The worst attack on Hete-min-F1 is that with the largest mean.
    fn lost(&self) -> Table {
        let attacks = self.distinct(ATTACK);
        let overall = attacks.iter().map(|attack| format!("Overall-F1: {attack}"));
        let further =
            ["Hete-min-F1: none", "Hete-min-F1: worst attack", "hardest silenced, none, %"];
        let heading = std::iter::once(format!("{}: points lost", self.name)).chain(overall);
        let mut table = Table::new(heading.chain(further.map(str::to_owned)));
        for rule in self.distinct(RULE) {
            let worst = attacks
                .iter()
                .filter(|attack| *attack != NONE)
                .filter_map(|attack| mean(&self.losses(&rule, attack, "hete_min_f1")))
                .reduce(f64::max);
            let cells =
                attacks.iter().map(|attack| middle(&self.losses(&rule, attack, "overall_f1"), 1));
            let further = [
                middle(&self.losses(&rule, NONE, "hete_min_f1"), 1),
                middle(worst.as_slice(), 1),
                middle(&self.numbers(&rule, NONE, |row| self.results.value(row, "silenced")), 0),
            ];
            table.row(std::iter::once(rule.clone()).chain(cells).chain(further));
        }
        table
    }

    /// Points lost under a rule and an attack, seed by seed.
    fn losses(&self, rule: &str, attack: &str, metric: &str) -> Vec<f64> {
        self.numbers(rule, attack, |row| self.loss(row, metric))
    }

    /// The metric of the plain mean without attack under the row's seed, minus that of the row.
    fn loss(&self, row: &Row, metric: &str) -> Option<f64> {
        let before =
            self.rows.iter().find(|other| is_under(other, MEAN, NONE) && other.seed == row.seed)?;
        Some(self.results.value(before, metric)? - self.results.value(row, metric)?)
    }

    /// One number of each row under a rule and an attack; rows without it are left out.
    fn numbers(&self, rule: &str, attack: &str, number: impl Fn(&Row) -> Option<f64>) -> Vec<f64> {
        let rows = self.rows.iter().filter(|row| is_under(row, rule, attack));
        rows.filter_map(|row| number(row)).collect()
    }

    /// The values of a key, in their order.
    fn distinct(&self, key: &str) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for value in self.rows.iter().map(|row| setting(row, key)) {
            if !found.contains(&value) {
                found.push(value);
            }
        }
        found
    }
}

/// Whether a row is of that rule and attack.
fn is_under(row: &Row, rule: &str, attack: &str) -> bool {
    setting(row, RULE) == rule && setting(row, ATTACK) == attack
}

/// A varied setting, without the quotation marks of a file.
fn setting(row: &Row, key: &str) -> String {
    row.varied.get(key).map(|value| value.trim_matches('"').to_owned()).unwrap_or_default()
}
