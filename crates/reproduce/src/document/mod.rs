//! Results and verdicts as one Markdown file.

mod robustness;
mod sections;
mod selection;
mod sweeps;
mod table;

use crate::claims::{self, Evidence, Side, Verdict};
use crate::{NAMES, Origin, Plan, Results};
use boostfgl::Result;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use table::Table;

/// Reads every result file in a folder, in the order of the experiments.
///
/// # Errors
/// If a file that is there cannot be read or is damaged.
pub fn read_all(folder: &Path) -> Result<Vec<Results>> {
    let files =
        NAMES.iter().map(|name| folder.join(format!("{name}.json"))).filter(|path| path.is_file());
    Ok(files.map(|path| Results::read(&path)).collect::<boostfgl_report::Result<_>>()?)
}

/// The tables of one experiment, without its heading.
pub fn tables(results: &Results) -> String {
    sections::of(results)
}

/// The verdict table.
pub fn verdict_table(verdicts: &[Verdict]) -> String {
    let mut table = Table::new(["Claim of the paper", "Where", "Measured here", "Verdict"]);
    for verdict in verdicts {
        let measured: Vec<String> = verdict.evidence.iter().map(evidence_text).collect();
        let ruling = format!("**{}** ({})", verdict.word, counted(&verdict.evidence));
        table.row([
            verdict.claim.to_owned(),
            verdict.paper.to_owned(),
            measured.join("; "),
            ruling,
        ]);
    }
    table.markdown()
}

/// The verdicts for a terminal: one claim after the other.
pub fn verdict_text(verdicts: &[Verdict]) -> String {
    let mut text = String::new();
    for verdict in verdicts {
        let ruling = verdict.word.to_uppercase();
        let _ = writeln!(
            text,
            "{ruling:<14} {} ({}; {})",
            verdict.claim,
            verdict.paper,
            counted(&verdict.evidence)
        );
        for evidence in &verdict.evidence {
            let _ = writeln!(text, "               {}", evidence_text(evidence));
        }
    }
    text
}

/// On how many cases a claim holds, fails and is unclear.
fn counted(evidence: &[Evidence]) -> String {
    [Side::Holds, Side::Fails, Side::Unclear]
        .map(|side| format!("{} {}", side.sign(), side.count(evidence)))
        .join(", ")
}

/// `cora 1.31 [1.25, 1.38]`, with a cross where it fails and a question mark where it is unclear.
fn evidence_text(evidence: &Evidence) -> String {
    let sign = evidence.ruling.sign();
    let interval = match evidence.interval {
        Some(interval) => format!(" [{}, {}]", number(interval.lo), number(interval.hi)),
        None => " (n = 1)".to_owned(),
    };
    format!("{} {}{interval} {sign}", evidence.case, number(evidence.mean))
}

/// A number with about three significant digits.
fn number(x: f64) -> String {
    match x.abs() {
        large if large >= 100.0 => format!("{x:.0}"),
        small if small < 0.1 => format!("{x:.3}"),
        _ => format!("{x:.2}"),
    }
}

/// The whole document.
///
/// # Errors
/// If the plan of an experiment cannot be read.
pub fn write(all: &[Results]) -> Result<String> {
    let mut text = String::from(HEAD);
    text.push_str(&origins(all));
    text.push_str("\n## Verdicts\n\n");
    text.push_str(READING);
    text.push_str(&verdict_table(&claims::verdicts(all)));
    for results in all {
        let plan = Plan::named(&results.name)?;
        let _ = write!(text, "\n## {}\n\n{}. {}\n\n", plan.title, plan.paper, plan.reading.trim());
        let _ = writeln!(text, "`{}`\n", results.origin.command);
        if !results.left_out.is_empty() {
            let _ = writeln!(
                text,
                "Left out, because the data were not at hand: {}.\n",
                results.left_out.join(", ")
            );
        }
        text.push_str(&tables(results));
        text.push_str(&missing(results));
    }
    Ok(text)
}

/// Which cells have no numbers, and why.
fn missing(results: &Results) -> String {
    let mut reasons: Vec<(String, usize)> = Vec::new();
    for row in &results.rows {
        let Some(reason) = &row.missing else { continue };
        let text = format!("{} on {}: {reason}", row.method, row.dataset);
        match reasons.iter_mut().find(|(other, _)| *other == text) {
            Some((_, count)) => *count += 1,
            None => reasons.push((text, 1)),
        }
    }
    let counted: Vec<String> =
        reasons.iter().map(|(reason, count)| format!("{reason} ({count})")).collect();
    if counted.is_empty() {
        String::new()
    } else {
        format!("Cells without numbers: {}.\n", counted.join("; "))
    }
}

const HEAD: &str = "# Reproduction of the paper\n\n\
    The experiments of BoostFGL, run by this program, next to what the paper prints. This file is \
    written by \
    `boostfgl reproduce` from result files (one JSON per experiment); nothing in it is typed by \
    hand. Settings are \
    the paper's. Where it leaves one open, `boostfgl config show` and `boostfgl methods NAME` say \
    what was chosen; none was \
    chosen to come near the paper's results but one: it does not give the minority ratio q, and q \
    = 0.5 is the value at \
    which FedAvg's Hete-min-F1 is nearest to the paper's.\n\n";

const READING: &str = "A claim *holds* on a case (✓) if the 95 % bootstrap interval over seeds \
    lies wholly on the claimed \
    side of the bound, *fails* (✗) if wholly on the other, and is *unclear* (?) if the bound is \
    inside. A case without an \
    interval (n = 1) is a single number, of one seed or of means over seeds, which decides alone. \
    A claim holds if it holds on every case, depends if on some, \
    does not hold if it holds on none and fails on some, and is unclear if every case is. With \
    five seeds such an interval is \
    too narrow: it covers the mean in about 84 % of cases. So the words *holds* and *does not \
    hold* stand only where \
    Wilcoxon's signed-rank test, adjusted after Holm over the cases, agrees (p below 0.05), which \
    five seeds cannot reach: the \
    smallest p they allow is 0.062. Where the intervals alone decide, a claim *leans to hold* or \
    *leans against*; with fewer \
    than five numbers per case it is *untested*.\n\n";

const REUSE: &str = "The commit is that of the source in whose folder the results were put \
    together. Cells that had finished before \
    are reused and may come from an earlier build of the same version; the rows of a result file \
    name the digest of each \
    cell's parameters and predictions.";

/// Whether two results were made by the same program on the same machine; commands may differ.
fn is_same(a: &Origin, b: &Origin) -> bool {
    (&a.machine, &a.commit, &a.program, a.quick) == (&b.machine, &b.commit, &b.program, b.quick)
}

/// What is less in a first look than in the full experiments.
fn first_look(all: &[Results]) -> String {
    let quick: Vec<&Results> = all.iter().filter(|results| results.origin.quick).collect();
    if quick.is_empty() {
        return String::new();
    }
    let plans = quick.iter().filter_map(|results| Plan::named(&results.name).ok());
    let smaller: BTreeSet<String> =
        plans.flat_map(|plan| plan.smaller()).map(|setting| format!("`{setting}`")).collect();
    let smaller = match Vec::from_iter(smaller).join(", ") {
        none if none.is_empty() => none,
        some => format!("; where methods are slow, smaller settings too: {some}"),
    };
    format!(
        "Experiments marked as a first look have one seed, and fewer datasets and methods where \
         they are long{smaller}.\n"
    )
}

/// Machine and commit.
fn origins(all: &[Results]) -> String {
    let mut seen: Vec<(&Origin, Vec<&str>)> = Vec::new();
    for results in all {
        match seen.iter_mut().find(|(origin, _)| is_same(origin, &results.origin)) {
            Some((_, names)) => names.push(&results.name),
            None => seen.push((&results.origin, vec![&results.name])),
        }
    }
    let mut table = Table::new(["Experiments", "Program", "Commit", "Machine", "Kind"]);
    for (origin, names) in seen {
        let kind = if origin.quick { "first look (--quick)" } else { "full" };
        let commit = origin.commit.clone().unwrap_or_else(|| "unknown".to_owned());
        let cells = [
            names.join(", "),
            origin.program.clone(),
            commit,
            origin.machine.clone(),
            kind.to_owned(),
        ];
        table.row(cells);
    }
    format!("{}\n{}{REUSE}\n", table.markdown(), first_look(all))
}
