//! `cargo xtask bench methods`: the cost of each method compared with FedAvg, on the same clients.
//!
//! All methods take turns on one thread, so that other load of the machine affects all of them;
//! medians are shown.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::figures::{Figures, read_json};
use super::machine::Machine;
use super::{measure, program, source};
use crate::project::{RealData, root, target};
use crate::shell::{self, cargo};

/// CPU seconds, memory and bytes of every method compared with FedAvg.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A catalogue name, a path, or a preset of the generator.
    #[arg(long, default_value = "cora")]
    dataset: String,
    /// The methods to run; all of them unless given.
    #[arg(long, value_delimiter = ',')]
    methods: Vec<String>,
    /// Federated rounds of every run.
    #[arg(long, default_value_t = 50)]
    rounds: usize,
    /// How often each method runs; medians are shown.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    repeats: u32,
}

/// The method that all others are compared with.
const BASE: &str = "fedavg";

pub(crate) fn run(args: &Args) -> Result<()> {
    let data = RealData::find()?;
    shell::run(&mut cargo(["build", "--release"]))?;
    let folder = target().join("bench").join("methods");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let bench = Bench { args, data, folder };
    let mut all: Vec<Method> = bench.names()?.into_iter().map(Method::new).collect();
    for repeat in 1..=args.repeats {
        eprintln!("{}: turn {repeat} of {}", args.dataset, args.repeats);
        for method in &mut all {
            bench.train(method)?;
        }
    }
    let base =
        all.iter().find(|method| method.name == BASE).context("FedAvg is always measured")?;
    let base = Figures::median(&base.runs);
    let machine = Machine::look();
    println!("{}\n", machine.describe());
    println!(
        "{}, {} rounds, one seed, one thread, medians of {} runs in turns\n",
        args.dataset, args.rounds, args.repeats
    );
    println!("{}", markdown(&all, &base));
    let json = json!({
        "machine": machine.to_json(),
        "dataset": args.dataset,
        "rounds": args.rounds,
        "repeats": args.repeats,
        "methods": all.iter().map(Method::to_json).collect::<Vec<_>>(),
    });
    let file = target().join("bench").join("methods.json");
    fs::write(&file, format!("{json:#}\n"))
        .with_context(|| format!("cannot write {}", file.display()))?;
    eprintln!("all runs: {}", file.display());
    Ok(())
}

/// One call of the command: its options and where things are.
struct Bench<'a> {
    args: &'a Args,
    data: RealData,
    folder: PathBuf,
}

impl Bench<'_> {
    /// The requested methods, FedAvg first.
    fn names(&self) -> Result<Vec<String>> {
        let known = shell::answer(self.program().args(["methods", "--json"]))
            .context("the program lists no methods")?;
        let known: Value =
            serde_json::from_str(&known).context("the program's list of methods is not JSON")?;
        let known: Vec<String> = known
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|m| m["name"].as_str().map(str::to_owned))
            .collect();
        for name in &self.args.methods {
            ensure!(
                known.contains(name),
                "unknown method `{name}`: expected one of {}",
                known.join(", ")
            );
        }
        let wanted = if self.args.methods.is_empty() { &known } else { &self.args.methods };
        let others = known.iter().filter(|name| *name != BASE && wanted.contains(name)).cloned();
        Ok(std::iter::once(BASE.to_owned()).chain(others).collect())
    }

    fn train(&self, method: &mut Method) -> Result<()> {
        let run = self.folder.join(&method.name);
        // A folder left by an earlier call must not be read in place of a new run.
        if run.exists() {
            fs::remove_dir_all(&run).with_context(|| format!("cannot clear {}", run.display()))?;
        }
        let mut command = self.program();
        command.args([
            "run",
            &source(&self.args.dataset),
            "--method",
            &method.name,
            "--seeds",
            "1",
        ]);
        command
            .args(["--rounds", &self.args.rounds.to_string(), "--threads", "1", "--json", "--out"])
            .arg(&run);
        let taken = measure::run(&mut command, &run.with_extension("log"))?;
        method.read(&run, &taken)
    }

    fn program(&self) -> Command {
        let mut command = Command::new(program());
        command.current_dir(root()).envs(self.data.to_export());
        command
    }
}

/// All runs of one method.
struct Method {
    name: String,
    runs: Vec<Figures>,
    /// Mean bytes per client and round.
    up: f64,
    down: f64,
}

impl Method {
    fn new(name: String) -> Self {
        Self { name, runs: Vec::new(), up: 0.0, down: 0.0 }
    }

    fn read(&mut self, run: &Path, taken: &measure::Taken) -> Result<()> {
        self.runs.push(Figures::of_ours(&run.join("summary.json"), taken)?);
        let summary = read_json(&run.join("summary.json"))?;
        let rounds =
            fs::read_to_string(run.join("rounds.jsonl")).context("a run leaves rounds.jsonl")?;
        let turns: usize = rounds
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter_map(|round| round["clients"].as_array().map(Vec::len))
            .sum();
        let [up, down] = ["bytes_up", "bytes_down"]
            .map(|key| summary["seeds"][0][key].as_f64().unwrap_or(0.0) / turns.max(1) as f64);
        (self.up, self.down) = (up, down);
        Ok(())
    }

    fn to_json(&self) -> Value {
        json!({
            "method": self.name,
            "median": Figures::median(&self.runs).to_json(),
            "bytes_up_per_client_and_round": self.up,
            "bytes_down_per_client_and_round": self.down,
            "runs": self.runs.iter().map(Figures::to_json).collect::<Vec<_>>(),
        })
    }
}

fn markdown(all: &[Method], base: &Figures) -> String {
    let mut text = String::from(
        "| method | training CPU s | ÷ FedAvg | CPU s of the process | peak MiB | MB up | MB down \
         | accuracy % | macro-F1 % |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for method in all {
        let ours = Figures::median(&method.runs);
        let (train, reference) = (
            ours.train_cpu_seconds.unwrap_or(f64::NAN),
            base.train_cpu_seconds.unwrap_or(f64::NAN),
        );
        text += &format!(
            "| {} | {train:.2} | {:.2}× | {:.2} | {:.0} | {:.2} | {:.2} | {:.1} | {:.1} |\n",
            method.name,
            train / reference,
            ours.cpu_seconds,
            ours.peak_rss_mib,
            method.up / 1e6,
            method.down / 1e6,
            ours.accuracy,
            ours.overall_f1,
        );
    }
    text + "\nMB are per client and round, what a method sends before its rounds included.\n"
}
