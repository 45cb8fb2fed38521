//! The tables of each experiment.

use super::robustness;
use super::table::{Table, at, middle, numbers, spread};
use crate::paper::{self, Printed};
use crate::{Results, Row};
use boostfgl_fairness::diagnostics::epr::Epr;
use boostfgl_fairness::{HEADLINES, Headline};
use boostfgl_report::RATIOS;
use std::fmt::Write as _;

/// The tables of an experiment, each ending in an empty line.
pub(super) fn of(results: &Results) -> String {
    match results.name.as_str() {
        "table1" => format!(
            "Last round:\n\n{}{}",
            scores(results, Some(paper::table1)),
            best_rounds(results)
        ),
        "ablation" => scores(results, Some(paper::ablation)),
        "plug-in" => scores(results, None),
        "sensitivity" => sensitivity(results),
        "clients" => sweep(results, "clients", "clients", Shown::Itself),
        "privacy" => sweep(results, "noise", "σ =", Shown::PercentOfFirst),
        "robustness" => robustness::tables(results),
        "runtime" => runtime(results),
        "convergence" => convergence(results),
        "gsd" => gsd(results),
        "gsd-q" => ratios(results),
        "epr" => epr(results),
        "khop" => khop(results),
        "attribution" => attribution(results),
        "hardness" => hardness(results),
        "alignment" => alignment(results),
        "dilution" => dilution(results),
        _ => String::new(),
    }
}

fn datasets(results: &Results) -> Vec<String> {
    results.distinct(|row| row.dataset.clone())
}

fn methods(results: &Results) -> Vec<String> {
    results.distinct(|row| row.method.clone())
}

/// Whether a row is of that dataset and method.
fn is<'a>(dataset: &'a str, method: &'a str) -> impl Fn(&Row) -> bool + 'a {
    move |row| row.dataset == dataset && row.method == method
}

/// What the paper prints for a metric, method and dataset.
type InPaper = fn(&str, &str, &str) -> Option<Printed>;

/// One table per dataset: methods by metrics.
fn scores(results: &Results, printed: Option<InPaper>) -> String {
    let mut text = String::new();
    for dataset in datasets(results) {
        let mut table = Table::new(
            std::iter::once(dataset.as_str()).chain(HEADLINES.iter().map(|shown| shown.title)),
        );
        for method in methods(results) {
            let cell = |headline: &Headline| {
                let ours = spread(&numbers(results, headline.key, is(&dataset, &method)), 1);
                match printed.and_then(|printed| printed(headline.key, &method, &dataset)) {
                    Some(Printed { mean, .. }) => format!("{ours} [{mean:.1}]"),
                    None => ours,
                }
            };
            let of = || results.rows.iter().filter(|row| is(&dataset, &method)(row));
            let missing = of().filter_map(|row| row.missing.as_ref());
            let mut cells = vec![method.clone()];
            match (missing.clone().count(), of().count()) {
                (0, _) => cells.extend(HEADLINES.iter().map(cell)),
                (some, all) if some < all => {
                    cells[0] = format!("{method} ({} of {all} seeds)", all - some);
                    cells.extend(HEADLINES.iter().map(cell));
                }
                _ => {
                    // The reason takes the place of the first metric.
                    let empty = HEADLINES.iter().skip(1).map(|_| "–".to_owned());
                    cells.extend(missing.take(1).cloned().chain(empty));
                }
            }
            table.row(cells);
        }
        let _ = writeln!(text, "{}", table.markdown());
    }
    text
}

/// The same metrics at the best validation round, which is what many papers report; nothing where
/// it was not recorded.
fn best_rounds(results: &Results) -> String {
    let mut text = String::new();
    for dataset in datasets(results) {
        let head = HEADLINES.iter().map(|headline| headline.title).chain(["Round"]);
        let mut table = Table::new(std::iter::once(dataset.as_str()).chain(head));
        for method in methods(results) {
            let found =
                |column: &str| numbers(results, &format!("best.{column}"), is(&dataset, &method));
            if !found("accuracy").is_empty() {
                let metrics = HEADLINES.iter().map(|headline| spread(&found(headline.key), 1));
                table.row(
                    std::iter::once(method.clone())
                        .chain(metrics)
                        .chain([middle(&found("round"), 0)]),
                );
            }
        }
        if !table.rows.is_empty() {
            let _ = writeln!(text, "{}", table.markdown());
        }
    }
    if text.is_empty() {
        text
    } else {
        format!("Best validation round, and the mean of its number:\n\n{text}")
    }
}

/// What the varied key of a one-dimensional sweep takes, in order.
fn values(results: &Results, sweep: &str) -> Vec<String> {
    let rows = results.rows.iter().filter(|row| row.sweep == sweep);
    let mut found: Vec<String> = Vec::new();
    for value in rows.filter_map(|row| row.varied.values().next()) {
        if !found.contains(value) {
            found.push(value.clone());
        }
    }
    found
}

/// How a sweep is shown: the Overall-F1 itself, or in percent of that under the first value and the
/// same seed.
#[derive(Clone, Copy, PartialEq)]
enum Shown {
    Itself,
    PercentOfFirst,
}

/// Datasets and methods by the values of the varied key.
fn sweep(results: &Results, name: &str, heading: &str, shown: Shown) -> String {
    let values = values(results, name);
    let head = values.iter().map(|value| format!("{heading} {value}"));
    let mut table = Table::new(["Dataset".to_owned(), "Method".to_owned()].into_iter().chain(head));
    for dataset in datasets(results) {
        for method in methods(results) {
            let rows = |value: &str| {
                let wanted =
                    |row: &&Row| row.varied.values().next().is_some_and(|found| found == value);
                let of = |row: &&Row| row.sweep == name && is(&dataset, &method)(row);
                results.rows.iter().filter(of).filter(wanted).collect::<Vec<&Row>>()
            };
            let first = values.first().map(|value| rows(value)).unwrap_or_default();
            let number = |row: &&Row| {
                let f1 = results.value(row, "overall_f1")?;
                match shown {
                    Shown::Itself => Some(f1),
                    Shown::PercentOfFirst => {
                        let base = first.iter().find(|other| other.seed == row.seed)?;
                        let base = results.value(base, "overall_f1").filter(|base| *base > 0.0)?;
                        Some(100.0 * f1 / base)
                    }
                }
            };
            let cell = |value: &String| {
                spread(&rows(value).iter().filter_map(number).collect::<Vec<f64>>(), 1)
            };
            let cells: Vec<String> = values.iter().map(cell).collect();
            table.row([dataset.clone(), method.clone()].into_iter().chain(cells));
        }
    }
    format!("{}\n", table.markdown())
}

fn sensitivity(results: &Results) -> String {
    let mut text =
        format!("Node-boosting strength:\n\n{}", sweep(results, "lambda_n", "λₙ =", Shown::Itself));
    let (tau, budget) = ("boost.topology.tau", "boost.topology.edge_budget");
    let heat = || results.rows.iter().filter(|row| row.sweep == "heat map");
    let along = |key: &str| {
        let mut found: Vec<String> =
            heat().filter_map(|row| row.varied.get(key).cloned()).collect();
        let number = |text: &String| text.parse::<f64>().unwrap_or(0.0);
        found.sort_by(|a, b| number(a).total_cmp(&number(b)));
        found.dedup();
        found
    };
    for dataset in results.distinct(|row| row.dataset.clone()) {
        if !heat().any(|row| row.dataset == dataset) {
            continue;
        }
        let head = along(tau).into_iter().map(|value| format!("τ = {value}"));
        let mut table = Table::new(std::iter::once(format!("{dataset}: edge budget")).chain(head));
        for share in along(budget) {
            let cell = |threshold: &String| {
                let keep = |row: &Row| {
                    let varied = |key: &str, value: &str| {
                        row.varied.get(key).is_some_and(|found| found == value)
                    };
                    row.sweep == "heat map"
                        && row.dataset == dataset
                        && varied(tau, threshold)
                        && varied(budget, &share)
                };
                middle(&numbers(results, "overall_f1", keep), 1)
            };
            let cells: Vec<String> = along(tau).iter().map(cell).collect();
            table.row(std::iter::once(share.clone()).chain(cells));
        }
        let _ = writeln!(text, "{}", table.markdown());
    }
    text
}

fn runtime(results: &Results) -> String {
    let datasets = datasets(results);
    let mut table =
        Table::new(std::iter::once("Method".to_owned()).chain(datasets.iter().cloned()));
    for method in methods(results) {
        let cell = |dataset: &String| {
            let seconds = |method: &str| numbers(results, "cpu_seconds", is(dataset, method));
            let ratio = boostfgl_fairness::mean(&seconds(&method))
                .zip(boostfgl_fairness::mean(&seconds("fedavg")));
            let ratio =
                ratio.map(|(own, base)| format!(" ({:.1}×)", own / base)).unwrap_or_default();
            format!("{} s{ratio}", middle(&seconds(&method), 2))
        };
        let cells: Vec<String> = datasets.iter().map(cell).collect();
        table.row(std::iter::once(method.clone()).chain(cells));
    }
    format!("{}\n", table.markdown())
}

fn convergence(results: &Results) -> String {
    const ROUNDS: [usize; 8] = [1, 2, 5, 10, 20, 30, 40, 50];
    let mut table = Table::new(
        std::iter::once("Method".to_owned()).chain(ROUNDS.map(|round| format!("round {round}"))),
    );
    for dataset in datasets(results) {
        for method in methods(results) {
            let cell = |round: usize| {
                middle(&at(results, "overall_f1", round - 1, is(&dataset, &method)), 1)
            };
            table.row(std::iter::once(method.clone()).chain(ROUNDS.map(cell)));
        }
    }
    format!("{}\n", table.markdown())
}

/// Datasets by columns, each a heading, a method and the name of a number.
fn by_dataset(results: &Results, columns: &[[&str; 3]], digits: usize) -> String {
    let mut table =
        Table::new(std::iter::once("Dataset").chain(columns.iter().map(|[heading, ..]| *heading)));
    for dataset in datasets(results) {
        let cell = |[_, method, column]: &[&str; 3]| {
            spread(&numbers(results, column, is(&dataset, method)), digits)
        };
        let cells: Vec<String> = columns.iter().map(cell).collect();
        table.row(std::iter::once(dataset).chain(cells));
    }
    format!("{}\n", table.markdown())
}

/// Datasets by methods, of one number.
fn by_method(results: &Results, column: &str, digits: usize) -> String {
    let methods = methods(results);
    let mut table =
        Table::new(std::iter::once("Dataset").chain(methods.iter().map(String::as_str)));
    for dataset in datasets(results) {
        let cell =
            |method: &String| spread(&numbers(results, column, is(&dataset, method)), digits);
        let cells: Vec<String> = methods.iter().map(cell).collect();
        table.row(std::iter::once(dataset).chain(cells));
    }
    format!("{}\n", table.markdown())
}

fn gsd(results: &Results) -> String {
    let over_rounds = by_dataset(
        results,
        &[
            ["FedAvg", "fedavg", "gsd.mean"],
            ["FedAvg + node", "fedavg + node", "gsd.mean"],
            ["FedAvg + node, boosted", "fedavg + node", "gsd.boosted.mean"],
            ["BoostFGL", "boostfgl", "gsd.mean"],
            ["BoostFGL, boosted", "boostfgl", "gsd.boosted.mean"],
        ],
        2,
    );
    let of_fedavg = by_dataset(
        results,
        &[
            ["First round", "fedavg", "gsd.first"],
            ["Last round", "fedavg", "gsd.last"],
            ["G_min / G_maj", "fedavg", "gsd.mass.mean"],
            ["Sampling error", "fedavg", "gsd.sampling_error"],
        ],
        2,
    );
    format!("Mean over rounds:\n\n{over_rounds}\nMore of FedAvg:\n\n{of_fedavg}")
}

fn ratios(results: &Results) -> String {
    let mut table = Table::new(
        ["Dataset".to_owned(), "Method".to_owned()]
            .into_iter()
            .chain(RATIOS.map(|q| format!("q = {q}"))),
    );
    for dataset in datasets(results) {
        for method in methods(results) {
            let column = |q: f64| match method.as_str() {
                "fedavg" => format!("gsd.q{q}"),
                _ => format!("gsd.boosted.q{q}"),
            };
            let cell = |q: f64| middle(&numbers(results, &column(q), is(&dataset, &method)), 2);
            table.row([dataset.clone(), method.clone()].into_iter().chain(RATIOS.map(cell)));
        }
    }
    format!("{}\n", table.markdown())
}

fn epr(results: &Results) -> String {
    const GROUPS: [&str; 6] =
        ["all", "minority", "majority", "heterophilous", "homophilous", "hete_min"];
    let mut table = Table::new(["Dataset", "Method"].into_iter().chain(GROUPS));
    for dataset in datasets(results) {
        for method in methods(results) {
            let cell = |group: &str| {
                spread(&numbers(results, &format!("negative.{group}"), is(&dataset, &method)), 1)
            };
            table.row([dataset.clone(), method.clone()].into_iter().chain(GROUPS.map(cell)));
        }
    }
    let quantiles = Epr::QUANTILES;
    let head = quantiles.map(|q| format!("{:.0} %", 100.0 * q));
    let mut spread_table =
        Table::new(["FedAvg: R".to_owned(), "Group".to_owned()].into_iter().chain(head));
    for dataset in datasets(results) {
        for group in ["majority", "minority", "homophilous", "heterophilous"] {
            let cell = |place: usize| {
                middle(
                    &at(results, &format!("quantiles.{group}"), place, is(&dataset, "fedavg")),
                    4,
                )
            };
            let cells = (0..quantiles.len()).map(cell);
            spread_table.row([dataset.clone(), group.to_owned()].into_iter().chain(cells));
        }
    }
    let tables = (table.markdown(), spread_table.markdown());
    format!(
        "{}\nThe distribution of R under FedAvg, at these quantiles:\n\n{}\n",
        tables.0, tables.1
    )
}

fn khop(results: &Results) -> String {
    let head = ["Dataset", "Method", "From", "0 hops", "1", "2", "3", "4", "slope"];
    let mut table = Table::new(head);
    for dataset in datasets(results) {
        for method in methods(results) {
            for from in ["minority", "heterophilous", "hete_min"] {
                let series = format!("error.{from}");
                let cell =
                    |hop: usize| middle(&at(results, &series, hop, is(&dataset, &method)), 1);
                let slope =
                    spread(&numbers(results, &format!("slope.{from}"), is(&dataset, &method)), 1);
                let cells = [dataset.clone(), method.clone(), from.to_owned()];
                table.row(cells.into_iter().chain((0..5).map(cell)).chain([slope]));
            }
        }
    }
    format!("{}\n", table.markdown())
}

fn attribution(results: &Results) -> String {
    let shares = by_dataset(
        results,
        &[
            ["Share of nodes", "fedavg", "share_of_nodes"],
            ["Share of initial loss", "fedavg", "share_of_initial_loss"],
        ],
        1,
    );
    let methods = by_method(results, "share_of_decrease", 1);
    format!("The minority's share of the decrease:\n\n{methods}\nIts other shares:\n\n{shares}")
}

fn hardness(results: &Results) -> String {
    format!(
        "Correlation of hardness and GSD over clients:\n\n{}\nSpread of the boosted GSD over \
         clients:\n\n{}",
        by_method(results, "correlation", 2),
        by_method(results, "gsd.boosted.spread", 2)
    )
}

fn alignment(results: &Results) -> String {
    format!(
        "Updates with a negative cosine, in percent:\n\n{}\nMean cosine:\n\n{}\nFirst \
         layer:\n\n{}\nSecond layer:\n\n{}",
        by_method(results, "negative", 1),
        by_method(results, "cosine.mean", 3),
        by_method(results, "cosine.layer1", 3),
        by_method(results, "cosine.layer2", 3)
    )
}

fn dilution(results: &Results) -> String {
    let mut text = String::new();
    for (title, column) in [
        ("Mean over rounds, under the weights that were used", "dr.mean"),
        ("The same updates under weights by size", "dr.size.mean"),
        ("Under equal weights", "dr.uniform.mean"),
        ("Median over rounds, under the weights that were used", "dr.median"),
        ("Under weights by size", "dr.size.median"),
        ("Pooled over rounds, under the weights that were used", "dr.pooled"),
        ("Under weights by size", "dr.size.pooled"),
        (
            "Rounds in which no update helps the minority, which mean and median leave out",
            "helpless_rounds",
        ),
    ] {
        let _ = writeln!(text, "{title}:\n\n{}", by_method(results, column, 3));
    }
    text
}
