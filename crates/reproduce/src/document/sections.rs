//! The tables of each experiment.

use super::robustness;
use super::selection::Selection;
use super::sweeps::{self, Shown};
use super::table::Table;
use crate::Results;
use crate::paper::{self, Printed};
use boostfgl_fairness::diagnostics::epr::Epr;
use boostfgl_fairness::{HEADLINES, Headline, mean};
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
        "sensitivity" => sweeps::sensitivity(results),
        "clients" => sweeps::table(results, "clients", "clients", Shown::Itself),
        "privacy" => sweeps::table(results, "noise", "σ =", Shown::PercentOfFirst),
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

/// The datasets, in order.
pub(super) fn datasets(results: &Results) -> Vec<String> {
    results.distinct(|row| row.dataset.clone())
}

/// The methods, in order.
pub(super) fn methods(results: &Results) -> Vec<String> {
    results.distinct(|row| row.method.clone())
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
            table.row(score_row(results, &dataset, &method, printed));
        }
        let _ = writeln!(text, "{}", table.markdown());
    }
    text
}

/// A method and its metrics. If no seed has numbers, the reason takes the place of the first
/// metric.
fn score_row(
    results: &Results,
    dataset: &str,
    method: &str,
    printed: Option<InPaper>,
) -> Vec<String> {
    let runs = Selection::of(results, dataset, method);
    let missing: Vec<&String> = runs.rows.iter().filter_map(|row| row.missing.as_ref()).collect();
    let all = runs.rows.len();
    if let Some(reason) = missing.first()
        && missing.len() == all
    {
        let empty = HEADLINES.iter().skip(1).map(|_| "–".to_owned());
        return [method.to_owned(), (*reason).clone()].into_iter().chain(empty).collect();
    }
    let name = match missing.len() {
        0 => method.to_owned(),
        some => format!("{method} ({} of {all} seeds)", all - some),
    };
    let mut cells = vec![name];
    for headline in HEADLINES.iter() {
        let in_paper = printed.and_then(|printed| printed(headline.key, method, dataset));
        cells.push(score_cell(&runs, headline, in_paper));
    }
    cells
}

/// Our mean and spread, with the mean that the paper prints in brackets.
fn score_cell(runs: &Selection<'_>, headline: &Headline, printed: Option<Printed>) -> String {
    let ours = runs.spread(headline.key, 1);
    match printed {
        Some(Printed { mean, .. }) => format!("{ours} [{mean:.1}]"),
        None => ours,
    }
}

/// The same metrics at the best validation round, which is what many papers report; nothing where
/// it was not recorded.
fn best_rounds(results: &Results) -> String {
    let mut text = String::new();
    for dataset in datasets(results) {
        let head = HEADLINES.iter().map(|headline| headline.title).chain(["Round"]);
        let mut table = Table::new(std::iter::once(dataset.as_str()).chain(head));
        for method in methods(results) {
            let runs = Selection::of(results, &dataset, &method);
            if runs.numbers("best.accuracy").is_empty() {
                continue;
            }
            let metrics =
                HEADLINES.iter().map(|shown| runs.spread(&format!("best.{}", shown.key), 1));
            let round = runs.middle("best.round", 0);
            table.row(std::iter::once(method.clone()).chain(metrics).chain([round]));
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

/// CPU time of each method on each dataset, and its ratio to FedAvg's.
fn runtime(results: &Results) -> String {
    let datasets = datasets(results);
    let mut table =
        Table::new(std::iter::once("Method".to_owned()).chain(datasets.iter().cloned()));
    for method in methods(results) {
        let cells = datasets.iter().map(|dataset| runtime_cell(results, dataset, &method));
        table.row(std::iter::once(method.clone()).chain(cells));
    }
    format!("{}\n", table.markdown())
}

/// The mean CPU time of a method in seconds, with its ratio to FedAvg's if both were measured.
fn runtime_cell(results: &Results, dataset: &str, method: &str) -> String {
    let own = Selection::of(results, dataset, method);
    let base = Selection::of(results, dataset, "fedavg");
    let ratio = match (mean(&own.numbers("cpu_seconds")), mean(&base.numbers("cpu_seconds"))) {
        (Some(own), Some(base)) => format!(" ({:.1}×)", own / base),
        _ => String::new(),
    };
    format!("{} s{ratio}", own.middle("cpu_seconds", 2))
}

/// Overall-F1 after some rounds.
fn convergence(results: &Results) -> String {
    const ROUNDS: [usize; 8] = [1, 2, 5, 10, 20, 30, 40, 50];
    let mut table = Table::new(
        std::iter::once("Method".to_owned()).chain(ROUNDS.map(|round| format!("round {round}"))),
    );
    for dataset in datasets(results) {
        for method in methods(results) {
            let runs = Selection::of(results, &dataset, &method);
            let cells = ROUNDS.map(|round| runs.middle_at("overall_f1", round - 1, 1));
            table.row(std::iter::once(method.clone()).chain(cells));
        }
    }
    format!("{}\n", table.markdown())
}

/// Datasets by columns, each a heading, a method and the name of a number.
fn by_dataset(results: &Results, columns: &[[&str; 3]], digits: usize) -> String {
    let mut table =
        Table::new(std::iter::once("Dataset").chain(columns.iter().map(|[heading, ..]| *heading)));
    for dataset in datasets(results) {
        let cells = columns.iter().map(|[_, method, column]| {
            Selection::of(results, &dataset, method).spread(column, digits)
        });
        table.row(std::iter::once(dataset.clone()).chain(cells));
    }
    format!("{}\n", table.markdown())
}

/// Datasets by methods, of one number.
fn by_method(results: &Results, column: &str, digits: usize) -> String {
    let methods = methods(results);
    let mut table =
        Table::new(std::iter::once("Dataset").chain(methods.iter().map(String::as_str)));
    for dataset in datasets(results) {
        let cells = methods
            .iter()
            .map(|method| Selection::of(results, &dataset, method).spread(column, digits));
        table.row(std::iter::once(dataset.clone()).chain(cells));
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
            let runs = Selection::of(results, &dataset, &method);
            let prefix = if method == "fedavg" { "gsd" } else { "gsd.boosted" };
            let cells = RATIOS.map(|q| runs.middle(&format!("{prefix}.q{q}"), 2));
            table.row([dataset.clone(), method.clone()].into_iter().chain(cells));
        }
    }
    format!("{}\n", table.markdown())
}

/// The share of harmful messages by group of the receiving node, and quantiles of R.
fn epr(results: &Results) -> String {
    const GROUPS: [&str; 6] =
        ["all", "minority", "majority", "heterophilous", "homophilous", "hete_min"];
    let mut table = Table::new(["Dataset", "Method"].into_iter().chain(GROUPS));
    for dataset in datasets(results) {
        for method in methods(results) {
            let runs = Selection::of(results, &dataset, &method);
            let cells = GROUPS.map(|group| runs.spread(&format!("negative.{group}"), 1));
            table.row([dataset.clone(), method.clone()].into_iter().chain(cells));
        }
    }
    format!(
        "{}\nThe distribution of R under FedAvg, at these quantiles:\n\n{}\n",
        table.markdown(),
        reliability_quantiles(results).markdown()
    )
}

/// Quantiles of R under FedAvg, by group of the receiving node.
fn reliability_quantiles(results: &Results) -> Table {
    let head = Epr::QUANTILES.map(|q| format!("{:.0} %", 100.0 * q));
    let mut table =
        Table::new(["FedAvg: R".to_owned(), "Group".to_owned()].into_iter().chain(head));
    for dataset in datasets(results) {
        let runs = Selection::of(results, &dataset, "fedavg");
        for group in ["majority", "minority", "homophilous", "heterophilous"] {
            let series = format!("quantiles.{group}");
            let cells = (0..Epr::QUANTILES.len()).map(|place| runs.middle_at(&series, place, 4));
            table.row([dataset.clone(), group.to_owned()].into_iter().chain(cells));
        }
    }
    table
}

fn khop(results: &Results) -> String {
    let head = ["Dataset", "Method", "From", "0 hops", "1", "2", "3", "4", "slope"];
    let mut table = Table::new(head);
    for dataset in datasets(results) {
        for method in methods(results) {
            for from in ["minority", "heterophilous", "hete_min"] {
                let runs = Selection::of(results, &dataset, &method);
                let series = format!("error.{from}");
                let errors = (0..5).map(|hop| runs.middle_at(&series, hop, 1));
                let slope = runs.spread(&format!("slope.{from}"), 1);
                let cells = [dataset.clone(), method.clone(), from.to_owned()];
                table.row(cells.into_iter().chain(errors).chain([slope]));
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
