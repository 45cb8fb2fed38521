//! `cargo xtask stress`: kills, damaged files, disk faults and attacks, with one table of results.

mod attackers;
mod damage;
mod draw;
mod faults;
mod kills;
mod memory;
mod overhead;
pub(crate) mod program;
mod readers;
mod threads;
mod updates;

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::project::{RealData, root};
use program::Program;

/// Kills, damaged files, disk faults and attacks; results must be those of an undisturbed run.
/// About half an hour.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How often a run is killed at a random instant, and how often its files are damaged at a
    /// random place.
    #[arg(long, default_value_t = 200)]
    kills: usize,
    /// A few minutes on the program as built for tests, as part of `cargo xtask test`.
    #[arg(long)]
    short: bool,
    /// Seed of the random instants and places.
    #[arg(long, default_value_t = 20_261_116)]
    seed: u64,
    /// Only these trials; may be given several times.
    #[arg(long, value_name = "TRIAL", value_parser = TRIALS.map(|(name, _, _)| name))]
    only: Vec<String>,
    /// Writes the findings to docs/reliability.md, in place of earlier ones of the same trials.
    #[arg(long)]
    document: bool,
}

impl Args {
    /// Whether a trial is to be run.
    fn chooses(&self, name: &str, in_short: bool) -> bool {
        if self.only.is_empty() {
            in_short || !self.short
        } else {
            self.only.iter().any(|only| only == name)
        }
    }
}

/// One line of the table.
pub(crate) struct Finding {
    pub(crate) what: String,
    pub(crate) aim: String,
    pub(crate) found: String,
    pub(crate) holds: bool,
}

/// The inputs of a trial.
pub(crate) struct Trial<'a> {
    pub(crate) program: &'a Program,
    /// The same built for tests: with faults of the disk on demand, and overflows that panic.
    pub(crate) checked: &'a Program,
    /// The dataset: Cora if it is on this machine, else the built-in graph.
    pub(crate) data: &'a str,
    /// A new folder for it.
    pub(crate) place: PathBuf,
    pub(crate) kills: usize,
    pub(crate) seed: u64,
    /// Whether to take little time.
    pub(crate) short: bool,
}

type Try = fn(&Trial<'_>) -> Result<Vec<Finding>>;

/// The trials in order, and whether the short form has them. It leaves out measurements, and the
/// readers, which have a command of their own.
const TRIALS: [(&str, Try, bool); 9] = [
    ("threads", threads::attempt, true),
    ("kills", kills::attempt, true),
    ("damage", damage::attempt, true),
    ("faults", faults::attempt, true),
    ("updates", updates::attempt, true),
    ("attackers", attackers::attempt, false),
    ("readers", readers::attempt, false),
    ("overhead", overhead::attempt, false),
    ("memory", memory::attempt, false),
];

pub(crate) fn run(args: &Args) -> Result<()> {
    let data = RealData::find()?;
    let checked = Program::build(false, &data)?;
    let program = if args.short { None } else { Some(Program::build(true, &data)?) };
    let program = program.as_ref().unwrap_or(&checked);
    let dataset = if matches!(data, RealData::Missing(_)) || args.short { "demo" } else { "cora" };
    let kills = if args.short { args.kills.min(6) } else { args.kills };
    let place = crate::project::target().join("stress");
    let _ = fs::remove_dir_all(&place);
    let mut findings: Vec<(&str, Finding)> = Vec::new();
    for (name, attempt, in_short) in TRIALS {
        if !args.chooses(name, in_short) {
            continue;
        }
        let begun = Instant::now();
        let place = place.join(name);
        fs::create_dir_all(&place).with_context(|| format!("cannot make {}", place.display()))?;
        let trial = Trial {
            program,
            checked: &checked,
            data: dataset,
            place,
            kills,
            seed: args.seed,
            short: args.short,
        };
        // A trial that ends with an error counts as failed; the others are still tried.
        let found = attempt(&trial).unwrap_or_else(|error| vec![Finding::broken(name, &error)]);
        eprintln!("{name}: {:.0} s", begun.elapsed().as_secs_f64());
        if args.document {
            document(found.iter().map(|finding| finding.row(name)).collect(), dataset, args)?;
        }
        findings.extend(found.into_iter().map(|finding| (name, finding)));
    }
    let _ = fs::remove_dir_all(&place);
    let rows: Vec<Row> = findings.iter().map(|(name, finding)| finding.row(name)).collect();
    println!("{}", table(&rows));
    match findings.iter().find(|(_, finding)| !finding.holds) {
        Some((_, failed)) => bail!("{}: aim {}, found {}", failed.what, failed.aim, failed.found),
        None => Ok(()),
    }
}

/// The cells of a line: trial, what, aim, found, whether it holds.
type Row = [String; 5];

impl Finding {
    /// A trial that failed with an error.
    fn broken(trial: &str, error: &anyhow::Error) -> Self {
        let found = format!("{error:#}").replace(['\n', '|'], " ");
        Self {
            what: format!("the trial {trial}"),
            aim: "comes to its end".into(),
            found,
            holds: false,
        }
    }

    fn row(&self, trial: &str) -> Row {
        let holds = if self.holds { "yes" } else { "NO" };
        [trial, &self.what, &self.aim, &self.found, holds].map(str::to_owned)
    }
}

/// A table in Markdown, which reads well in a terminal, too.
fn table(rows: &[Row]) -> String {
    let head = ["trial", "what", "aim", "found", "holds"].map(str::to_owned);
    let rows: Vec<&Row> = std::iter::once(&head).chain(rows).collect();
    let mut widths = [0; 5];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(*row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let rule = format!("|{}|", widths.map(|width| "-".repeat(width + 2)).join("|"));
    let mut lines = vec![padded(rows[0], &widths), rule];
    lines.extend(rows[1..].iter().map(|row| padded(row, &widths)));
    lines.join("\n")
}

/// A line of a table with columns of these widths.
fn padded(row: &Row, widths: &[usize; 5]) -> String {
    let cells: Vec<String> =
        row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
    format!("| {} |", cells.join(" | "))
}

/// The lines of a table that [`table`] wrote.
fn rows(text: &str) -> Vec<Row> {
    // The first two are the head and the rule under it.
    text.lines().filter_map(cells).skip(2).collect()
}

/// The cells of a line of a table.
fn cells(line: &str) -> Option<Row> {
    let inside = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let cells: Vec<String> = inside.split('|').map(|cell| cell.trim().to_owned()).collect();
    cells.try_into().ok()
}

/// New lines in the place of those of the same trials, all in the order of the trials.
fn merged(before: Vec<Row>, new: Vec<Row>) -> Vec<Row> {
    let mut all = before;
    all.retain(|row| !new.iter().any(|fresh| fresh[0] == row[0]));
    all.extend(new);
    all.sort_by_key(|row| TRIALS.iter().position(|(name, _, _)| *name == row[0]));
    all
}

/// Writes the lines between their marks in docs/reliability.md.
fn document(new: Vec<Row>, dataset: &str, args: &Args) -> Result<()> {
    let path = root().join("docs/reliability.md");
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let (Some((before, rest)), Some((_, after))) = (text.split_once(BEGIN), text.split_once(END))
    else {
        bail!("{}: expected the marks {BEGIN} and {END}, found at most one", path.display());
    };
    let known = rows(rest.split_once(END).map_or("", |(inside, _)| inside));
    let table = table(&merged(known, new));
    let how =
        format!("`cargo xtask stress --kills {} --seed {}`, on {dataset}:", args.kills, args.seed);
    fs::write(&path, format!("{before}{BEGIN}\n{how}\n\n{table}\n{END}{after}"))
        .with_context(|| format!("cannot write {}", path.display()))
}

const BEGIN: &str = "<!-- stress -->";
const END: &str = "<!-- /stress -->";

#[cfg(test)]
mod tests {
    use super::*;

    fn row(trial: &str, what: &str, holds: bool) -> Row {
        Finding { what: what.into(), aim: "1".into(), found: "2".into(), holds }.row(trial)
    }

    #[test]
    fn the_table_is_aligned_and_marks_failures() {
        let text = table(&[row("kills", "long name", true), row("memory", "x", false)]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{text}");
        assert!(lines[3].ends_with("| NO    |"), "{text}");
    }

    #[test]
    fn new_findings_replace_earlier_ones_of_the_same_trial() {
        let before = [row("kills", "a", true), row("kills", "b", true), row("memory", "c", false)];
        assert_eq!(rows(&table(&before)), before);
        let after =
            merged(before.to_vec(), vec![row("memory", "d", true), row("threads", "e", true)]);
        let what: Vec<&str> = after.iter().map(|row| row[1].as_str()).collect();
        assert_eq!(what, ["e", "a", "b", "d"]);
    }
}
