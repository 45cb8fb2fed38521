//! Results and verdicts as one Markdown file.

mod sections;
mod table;

use super::claims::{self, Evidence, Side, Verdict};
use super::{NAMES, Origin, Plan, Results};
use crate::Result;
use std::fmt::Write as _;
use std::path::Path;
use table::Table;

/// Reads every result file in a folder, in the order of the experiments.
///
/// # Errors
/// If a file that is there cannot be read or is damaged.
pub fn read_all(folder: &Path) -> Result<Vec<Results>> {
    let files = NAMES.iter().map(|name| folder.join(format!("{name}.json"))).filter(|path| path.is_file());
    files.map(|path| Results::read(&path)).collect()
}

/// The tables of one experiment, without its heading.
pub fn tables(results: &Results) -> String {
    sections::of(results)
}

/// The verdict table.
pub fn verdict_table(verdicts: &[Verdict]) -> String {
    let mut table = Table::new(["Claim of the paper", "Where", "Measured here", "Verdict"]);
    for verdict in verdicts {
        let measured: Vec<String> = verdict.evidence.iter().map(told).collect();
        let ruling = format!("**{}** ({})", verdict.ruling.name(), counted(&verdict.evidence));
        table.row([verdict.claim.to_owned(), verdict.paper.to_owned(), measured.join("; "), ruling]);
    }
    table.markdown()
}

/// The verdicts for a terminal: one claim after the other.
pub fn verdict_text(verdicts: &[Verdict]) -> String {
    let mut text = String::new();
    for verdict in verdicts {
        let ruling = verdict.ruling.name().to_uppercase();
        let _ = writeln!(text, "{ruling:<14} {} ({}; {})", verdict.claim, verdict.paper, counted(&verdict.evidence));
        for evidence in &verdict.evidence {
            let _ = writeln!(text, "               {}", told(evidence));
        }
    }
    text
}

/// On how many cases a claim holds, fails and is unclear.
fn counted(evidence: &[Evidence]) -> String {
    let count = |side: Side| evidence.iter().filter(|one| one.ruling == side).count();
    [Side::Holds, Side::Fails, Side::Unclear].map(|side| format!("{} {}", side.sign(), count(side))).join(", ")
}

/// `cora 1.31 [1.25, 1.38]`, with a cross where it fails and a question mark where it is unclear.
fn told(evidence: &Evidence) -> String {
    let sign = evidence.ruling.sign();
    let number = |x: f64| if x.abs() >= 100.0 { format!("{x:.0}") } else { format!("{x:.2}") };
    let interval = match evidence.interval {
        Some(interval) => format!(" [{}, {}]", number(interval.lo), number(interval.hi)),
        None => String::new(),
    };
    format!("{} {}{interval} {sign}", evidence.case, number(evidence.mean))
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
            let _ = writeln!(text, "Left out, because the data were not at hand: {}.\n", results.left_out.join(", "));
        }
        text.push_str(&tables(results));
    }
    Ok(text)
}

const HEAD: &str = "# Reproduction of the paper\n\n\
    Every experiment of BoostFGL, run by this program, beside what the paper prints. This file is written by \
    `boostfgl reproduce document` from the result files in `docs/reproduction/`; nothing in it is typed by hand, and no \
    setting was tuned towards the paper's numbers. Settings are the paper's; where it leaves one open, `METHODS` in \
    `boostfgl methods NAME` and `boostfgl config show` say what was chosen.\n\n";

const READING: &str = "A claim *holds* on a case (✓) if the 95 % bootstrap interval over seeds lies wholly on the claimed \
    side of the bound, *fails* (✗) if wholly on the other, and is *unclear* (?) if the bound is inside. It holds if it holds \
    on every case, depends if on some, and does not hold if on none. With five seeds such an interval is too narrow: \
    it covers the mean in about 84 % of cases. Where the paper gives no bound, ours stands in the claim.\n\n";

/// Machine, commit and commands.
fn origins(all: &[Results]) -> String {
    let mut seen: Vec<(&Origin, Vec<&str>)> = Vec::new();
    for results in all {
        let same = |origin: &Origin| {
            (&origin.machine, &origin.commit, &origin.program, origin.quick)
                == (&results.origin.machine, &results.origin.commit, &results.origin.program, results.origin.quick)
        };
        match seen.iter_mut().find(|(origin, _)| same(origin)) {
            Some((_, names)) => names.push(&results.name),
            None => seen.push((&results.origin, vec![&results.name])),
        }
    }
    let mut table = Table::new(["Experiments", "Program", "Commit", "Machine", "Kind"]);
    for (origin, names) in seen {
        let kind = if origin.quick { "first look (--quick)" } else { "full" };
        let commit = origin.commit.clone().unwrap_or_else(|| "unknown".to_owned());
        let cells = [names.join(", "), origin.program.clone(), commit, origin.machine.clone(), kind.to_owned()];
        table.row(cells);
    }
    table.markdown()
}
