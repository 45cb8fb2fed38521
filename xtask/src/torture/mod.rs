//! `cargo xtask torture`: kills, interrupts and starves the program, and prints one table of what came of it.

mod kills;
mod memory;
mod overhead;
mod program;
mod threads;

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::project::{RealData, root};
use program::Program;

/// Kills, interrupts and starves the program; everything must come out as if nothing had happened.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How often a run is killed at a random instant.
    #[arg(long, default_value_t = 200)]
    kills: usize,
    /// A few minutes' worth of it on the program as it is built for tests, as part of `cargo xtask test`.
    #[arg(long)]
    short: bool,
    /// Where the random instants come from.
    #[arg(long, default_value_t = 20_261_116)]
    seed: u64,
    /// Writes the table to docs/reliability.md.
    #[arg(long)]
    document: bool,
}

/// One line of the table.
pub(crate) struct Finding {
    pub(crate) what: String,
    pub(crate) aim: String,
    pub(crate) found: String,
    pub(crate) holds: bool,
}

/// What a trial of each kind does.
pub(crate) struct Trial<'a> {
    pub(crate) program: &'a Program,
    /// The dataset: Cora where it is, else the built-in graph.
    pub(crate) data: &'a str,
    /// A new folder for it.
    pub(crate) place: PathBuf,
    pub(crate) kills: usize,
    pub(crate) seed: u64,
    /// Whether little time is to be taken.
    pub(crate) short: bool,
}

type Try = fn(&Trial<'_>) -> Result<Vec<Finding>>;

/// What is tried, in order. The short form leaves out what measures and keeps what compares digits.
const TRIALS: [(&str, Try, bool); 4] = [
    ("threads", threads::attempt, true),
    ("kills", kills::attempt, true),
    ("overhead", overhead::attempt, false),
    ("memory", memory::attempt, false),
];

pub(crate) fn run(args: &Args) -> Result<()> {
    let data = RealData::find()?;
    let program = Program::build(!args.short, &data)?;
    let dataset = if matches!(data, RealData::Missing(_)) || args.short { "demo" } else { "cora" };
    let kills = if args.short { args.kills.min(6) } else { args.kills };
    let place = crate::project::target().join("torture");
    let _ = fs::remove_dir_all(&place);
    let mut findings = Vec::new();
    for (name, attempt, _) in TRIALS.into_iter().filter(|(_, _, always)| *always || !args.short) {
        let begun = Instant::now();
        let place = place.join(name);
        fs::create_dir_all(&place).with_context(|| format!("cannot make {}", place.display()))?;
        let trial = Trial { program: &program, data: dataset, place, kills, seed: args.seed, short: args.short };
        findings.extend(attempt(&trial).with_context(|| format!("the trial `{name}`"))?);
        eprintln!("{name}: {:.0} s", begun.elapsed().as_secs_f64());
    }
    let _ = fs::remove_dir_all(&place);
    let table = table(&findings);
    println!("{table}");
    if args.document {
        document(&table, dataset, args)?;
    }
    match findings.iter().find(|finding| !finding.holds) {
        Some(failed) => bail!("{}: aim {}, found {}", failed.what, failed.aim, failed.found),
        None => Ok(()),
    }
}

/// A table in Markdown, which reads well in a terminal, too.
fn table(findings: &[Finding]) -> String {
    let mark = |holds: bool| if holds { "yes" } else { "NO" };
    let rows = findings.iter().map(|f| [&f.what, &f.aim, &f.found, mark(f.holds)].map(str::to_owned));
    let head = ["what", "aim", "found", "holds"].map(str::to_owned);
    let rows: Vec<[String; 4]> = std::iter::once(head).chain(rows).collect();
    let width = |c: usize| rows.iter().map(|row| row[c].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3].map(width);
    let line = |row: &[String; 4]| {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        format!("| {} |", cells.join(" | "))
    };
    let rule = format!("|{}|", widths.map(|width| "-".repeat(width + 2)).join("|"));
    let mut lines = vec![line(&rows[0]), rule];
    lines.extend(rows[1..].iter().map(line));
    lines.join("\n")
}

/// Puts the table between its marks in docs/reliability.md.
fn document(table: &str, dataset: &str, args: &Args) -> Result<()> {
    let path = root().join("docs/reliability.md");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let (Some((before, _)), Some((_, after))) = (text.split_once(BEGIN), text.split_once(END)) else {
        bail!("{}: expected the marks {BEGIN} and {END}, found at most one", path.display());
    };
    let how = format!("`cargo xtask torture --kills {} --seed {}`, on {dataset}:", args.kills, args.seed);
    fs::write(&path, format!("{before}{BEGIN}\n{how}\n\n{table}\n{END}{after}"))
        .with_context(|| format!("cannot write {}", path.display()))
}

const BEGIN: &str = "<!-- torture -->";
const END: &str = "<!-- /torture -->";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_lines_up_and_says_what_failed() {
        let finding = |what: &str, holds| Finding { what: what.into(), aim: "1".into(), found: "2".into(), holds };
        let text = table(&[finding("long name", true), finding("x", false)]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{text}");
        assert!(lines[3].ends_with("| NO    |"), "{text}");
    }
}
