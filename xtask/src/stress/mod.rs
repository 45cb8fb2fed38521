//! `cargo xtask stress`: kills, damages, attacks and starves the program, and prints one table of
//! what came of it.

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

/// Kills, damages, attacks and starves the program; everything must come out as if nothing had
/// happened. About half an hour.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How often a run is killed at a random instant, and how often what it left is damaged at a
    /// random place.
    #[arg(long, default_value_t = 200)]
    kills: usize,
    /// A few minutes' worth of it on the program as it is built for tests, as part of `cargo xtask
    /// test`.
    #[arg(long)]
    short: bool,
    /// Where the random instants come from.
    #[arg(long, default_value_t = 20_261_116)]
    seed: u64,
    /// Only these trials; may be given several times.
    #[arg(long, value_name = "TRIAL", value_parser = TRIALS.map(|(name, _, _)| name))]
    only: Vec<String>,
    /// Writes what was found to docs/reliability.md, in place of what the same trials found before.
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
    /// The same built for tests: with faults of the disk on demand, and overflows that panic.
    pub(crate) checked: &'a Program,
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

/// What is tried, in order. The short form leaves out what measures, and the readers, which have a
/// command of their own.
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
    let chosen = |name: &str, always: bool| match args.only.is_empty() {
        true => always || !args.short,
        false => args.only.iter().any(|only| only == name),
    };
    let mut findings: Vec<(&str, Finding)> = Vec::new();
    for (name, attempt, _) in TRIALS.into_iter().filter(|(name, _, always)| chosen(name, *always)) {
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
        // A trial that cannot be brought to its end does not hold; the others are tried all the
        // same.
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
    /// A trial that did not come to its end.
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
    let width = |c: usize| rows.iter().map(|row| row[c].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3, 4].map(width);
    let line = |row: &Row| {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        format!("| {} |", cells.join(" | "))
    };
    let rule = format!("|{}|", widths.map(|width| "-".repeat(width + 2)).join("|"));
    let mut lines = vec![line(rows[0]), rule];
    lines.extend(rows[1..].iter().map(|row| line(row)));
    lines.join("\n")
}

/// The lines of a table that [`table`] wrote.
fn rows(text: &str) -> Vec<Row> {
    let cells = |line: &str| -> Option<Row> {
        let inside = line.trim().strip_prefix('|')?.strip_suffix('|')?;
        let cells: Vec<String> = inside.split('|').map(|cell| cell.trim().to_owned()).collect();
        cells.try_into().ok()
    };
    // The first two are the head and the rule under it.
    text.lines().filter_map(cells).skip(2).collect()
}

/// New lines in the place of those of the same trials, all in the order of the trials.
fn merged(before: Vec<Row>, new: Vec<Row>) -> Vec<Row> {
    let again = |row: &Row| new.iter().any(|fresh| fresh[0] == row[0]);
    let mut all: Vec<Row> = before.into_iter().filter(|row| !again(row)).collect();
    all.extend(new);
    all.sort_by_key(|row| TRIALS.iter().position(|(name, _, _)| *name == row[0]));
    all
}

/// Puts the lines between their marks in docs/reliability.md.
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
    fn the_table_lines_up_and_says_what_failed() {
        let text = table(&[row("kills", "long name", true), row("memory", "x", false)]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{text}");
        assert!(lines[3].ends_with("| NO    |"), "{text}");
    }

    #[test]
    fn a_trial_that_is_repeated_takes_the_place_of_what_it_found_before() {
        let before = [row("kills", "a", true), row("kills", "b", true), row("memory", "c", false)];
        assert_eq!(rows(&table(&before)), before);
        let after =
            merged(before.to_vec(), vec![row("memory", "d", true), row("threads", "e", true)]);
        let what: Vec<&str> = after.iter().map(|row| row[1].as_str()).collect();
        assert_eq!(what, ["e", "a", "b", "d"]);
    }
}
