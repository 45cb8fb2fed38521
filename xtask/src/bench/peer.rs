//! `cargo xtask bench peer`: the same FedAvg on the same clients, in PyTorch Geometric and here.
//!
//! Per dataset our program first runs without being measured and writes the partition;
//! `data export` writes the graph. Then peer, our FedAvg and our BoostFGL take turns, so that other
//! load of the machine affects all three, and the medians are compared.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use serde_json::{Value, json};

use super::figures::{Figures, median, read_json};
use super::machine::Machine;
use super::table::{self, Compared};
use super::{measure, program, source};
use crate::needs::python_with;
use crate::project::{RealData, root, target};
use crate::shell::{self, cargo};

/// CPU seconds and memory compared with a plain PyTorch Geometric FedAvg on the same clients.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Catalogue names, paths, or presets of the generator (names that end in -like).
    #[arg(long, value_delimiter = ',', default_value = "cora,pubmed,coauthor-cs,arxiv-like")]
    datasets: Vec<String>,
    /// Federated rounds of every run.
    #[arg(long, default_value_t = 50)]
    rounds: usize,
    /// How often each program runs on each dataset; medians are shown.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    repeats: u32,
    /// Threads of every program.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// The form of a client's edges in the peer; the default is the faster one.
    #[arg(long, value_enum, default_value_t = Adjacency::Sparse)]
    adjacency: Adjacency,
    /// An interpreter that already has torch, torch_geometric and numpy, instead of
    /// target/venv/peer.
    #[arg(long)]
    python: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Adjacency {
    /// PyG's usual edge list.
    EdgeIndex,
    /// A torch.sparse CSR matrix.
    Sparse,
}

impl Adjacency {
    /// As the script's own flag spells it.
    fn name(self) -> &'static str {
        match self {
            Self::EdgeIndex => "edge-index",
            Self::Sparse => "sparse",
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let data = RealData::find()?;
    let python = match &args.python {
        Some(python) => python.clone(),
        None => python_with(&target(), "peer", &["torch", "torch_geometric", "numpy"])?,
    };
    shell::run(&mut cargo(["build", "--release"]))?;

    let machine = Machine::look();
    let folder = target().join("bench");
    let bench = Bench { args, python, data, folder: folder.join("peer") };
    let compared: Vec<Compared> =
        args.datasets.iter().map(|name| bench.compare(name)).collect::<Result<_>>()?;
    let speedups = if args.datasets.iter().any(|name| name == SPEEDUP_DATASET) && machine.cores >= 2
    {
        METHODS.iter().map(|method| bench.speedup(method)).collect::<Result<_>>()?
    } else {
        Vec::new()
    };

    let json = json!({
        "machine": machine.to_json(),
        "versions": bench.versions()?,
        "rounds": args.rounds,
        "repeats": args.repeats,
        "threads": args.threads,
        "adjacency": args.adjacency.name(),
        "datasets": compared.iter().map(Compared::to_json).collect::<Vec<_>>(),
        "speedups": speedups.iter().map(Speedup::to_json).collect::<Vec<_>>(),
    });
    let file = folder.join("peer.json");
    fs::write(&file, format!("{json:#}\n"))
        .with_context(|| format!("cannot write {}", file.display()))?;

    println!("{}\n", machine.describe());
    println!("{}\n", bench.describe(&json["versions"]));
    println!("{}", table::markdown(&compared));
    for speedup in &speedups {
        println!("{}", speedup.describe());
    }
    eprintln!("all runs: {}", file.display());
    if let Some(speedup) = speedups.iter().find(|speedup| !speedup.same_digest) {
        bail!(
            "{}: the digests with 1 and 2 threads differ or are missing: that is a bug",
            speedup.method
        );
    }
    Ok(())
}

/// One call of the command: its options and where things are.
struct Bench<'a> {
    args: &'a Args,
    python: PathBuf,
    data: RealData,
    /// One folder per dataset below it.
    folder: PathBuf,
}

impl Bench<'_> {
    /// The three programs in turns on one dataset.
    fn compare(&self, name: &str) -> Result<Compared> {
        let exchange = self.prepare(name)?;
        let mut compared = Compared::new(name);
        for repeat in 1..=self.args.repeats {
            eprintln!("{name}: turn {repeat} of {}", self.args.repeats);
            compared.peer.push(self.run_peer(&exchange)?);
            compared.fedavg.push(self.run_ours(name, "fedavg", self.args.threads)?.0);
            compared.boostfgl.push(self.run_ours(name, "boostfgl", self.args.threads)?.0);
        }
        // If a long benchmark fails later, these results are already printed.
        eprintln!("{}", table::markdown(std::slice::from_ref(&compared)));
        Ok(compared)
    }

    /// Makes what the two programs share: our partition and the graph as the peer reads it.
    fn prepare(&self, name: &str) -> Result<Exchange> {
        let folder = self.folder_of(name);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let (graph, run) = (folder.join("graph.npz"), folder.join("partition"));
        eprintln!("{name}: making the partition and the graph for the peer");
        // One round is enough: the partition does not depend on how long one trains.
        self.train(name, "fedavg", 1, self.args.threads, &run)?;
        let mut export = self.program();
        export.args(["data", "export", &source(name), "--overwrite", "--to"]).arg(&graph);
        measure::run(&mut export, &folder.join("export.log"))?;
        ensure!(graph.is_file(), "`{}` left no such file", shell::shown(&export));

        let partition = run.join("partition.csv");
        let rows = fs::read_to_string(&partition)
            .with_context(|| format!("cannot read {}", partition.display()))?;
        let seed = seed_of(&rows).with_context(|| {
            format!("{}: expected a header and rows seed,node,client,split", partition.display())
        })?;
        let config = run.join("config.toml");
        let config = fs::read_to_string(&config)
            .with_context(|| format!("cannot read {}", config.display()))?;
        Ok(Exchange {
            graph,
            partition,
            seed,
            lr: setting(&config, &["lr", "learning_rate"]),
            hidden: setting(&config, &["hidden"]),
            figures: folder.join("peer.json"),
        })
    }

    /// Our program's figures and digest.
    fn run_ours(&self, name: &str, method: &str, threads: usize) -> Result<(Figures, Value)> {
        let run = self.folder_of(name).join(method);
        let taken = self.train(name, method, self.args.rounds, threads, &run)?;
        let summary = run.join("summary.json");
        Ok((Figures::of_ours(&summary, &taken)?, read_json(&summary)?["digest"].take()))
    }

    fn train(
        &self,
        name: &str,
        method: &str,
        rounds: usize,
        threads: usize,
        run: &Path,
    ) -> Result<measure::Taken> {
        // A folder left by an earlier call must not be read in place of a new run.
        if run.exists() {
            fs::remove_dir_all(run).with_context(|| format!("cannot clear {}", run.display()))?;
        }
        let mut command = self.program();
        // `--seeds 1` is one seed, whether read as a count or as a list.
        command.args(["run", &source(name), "--method", method, "--seeds", "1"]);
        command
            .args([
                "--rounds",
                &rounds.to_string(),
                "--threads",
                &threads.to_string(),
                "--json",
                "--out",
            ])
            .arg(run);
        measure::run(&mut command, &run.with_extension("log"))
    }

    fn program(&self) -> Command {
        let mut command = Command::new(program());
        command.current_dir(root()).envs(self.data.to_export());
        command
    }

    fn run_peer(&self, exchange: &Exchange) -> Result<Figures> {
        let (threads, out) = (self.args.threads.to_string(), &exchange.figures);
        let mut command = Command::new(&self.python);
        // The thread pools of numpy and torch size themselves when they are loaded.
        for variable in ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"] {
            command.env(variable, &threads);
        }
        command.arg("-B").arg(root().join("bench/peer/pyg_fedavg.py"));
        command.arg("--graph").arg(&exchange.graph).arg("--partition").arg(&exchange.partition);
        command.args([
            "--seed",
            &exchange.seed,
            "--rounds",
            &self.args.rounds.to_string(),
            "--threads",
            &threads,
        ]);
        command.args(["--adjacency", self.args.adjacency.name()]);
        // Without these the script's defaults hold, which are the protocol's.
        for (flag, value) in [("--lr", &exchange.lr), ("--hidden", &exchange.hidden)] {
            if let Some(value) = value {
                command.args([flag, value]);
            }
        }
        command.arg("--json").arg(out);
        let taken = measure::run(&mut command, &out.with_extension("log"))?;
        Figures::of_peer(out, &taken)
    }

    /// Our program with one and with two threads, in turns.
    fn speedup(&self, method: &'static str) -> Result<Speedup> {
        let mut speedup = Speedup { method, one: Vec::new(), two: Vec::new(), same_digest: true };
        for repeat in 1..=self.args.repeats {
            eprintln!(
                "{SPEEDUP_DATASET}: {method} with 1 and 2 threads, turn {repeat} of {}",
                self.args.repeats
            );
            let (one, digest_of_one) = self.run_ours(SPEEDUP_DATASET, method, 1)?;
            let (two, digest_of_two) = self.run_ours(SPEEDUP_DATASET, method, 2)?;
            speedup.one.push(one.wall_seconds);
            speedup.two.push(two.wall_seconds);
            speedup.same_digest &= digest_of_one.is_string() && digest_of_one == digest_of_two;
        }
        Ok(speedup)
    }

    fn folder_of(&self, name: &str) -> PathBuf {
        self.folder.join(file_name(name))
    }

    /// The versions of both sides; the peer's are those of its last run.
    fn versions(&self) -> Result<Value> {
        let last = self.args.datasets.last().context("no dataset given")?;
        let peer = read_json(&self.folder_of(last).join("peer.json"))?;
        let ours = shell::answer(self.program().arg("--version"));
        Ok(json!({ "boostfgl": ours, "peer": peer["versions"] }))
    }

    fn describe(&self, versions: &Value) -> String {
        let [python, torch, geometric] = ["python", "torch", "torch_geometric"]
            .map(|package| versions["peer"][package].as_str().unwrap_or("unknown"));
        format!(
            "{} rounds, {} thread(s) per program, medians of {} runs in turns; peer: Python \
             {python}, PyTorch {torch}, PyTorch Geometric {geometric}, adjacency as {}",
            self.args.rounds,
            self.args.threads,
            self.args.repeats,
            self.args.adjacency.name(),
        )
    }
}

/// The inputs that all runs on one dataset share.
struct Exchange {
    graph: PathBuf,
    partition: PathBuf,
    seed: String,
    /// As our configuration resolved them, so that the peer trains the same model.
    lr: Option<String>,
    hidden: Option<String>,
    /// The output file of the peer.
    figures: PathBuf,
}

/// Wall-clock seconds of our program with one and with two threads.
struct Speedup {
    method: &'static str,
    one: Vec<f64>,
    two: Vec<f64>,
    same_digest: bool,
}

impl Speedup {
    fn medians(&self) -> (f64, f64) {
        (median(self.one.iter().copied()), median(self.two.iter().copied()))
    }

    fn describe(&self) -> String {
        let (one, two) = self.medians();
        let ratio = one / two;
        format!(
            "{SPEEDUP_DATASET}, {}: {one:.2} s with 1 thread, {two:.2} s with 2: {ratio:.2}× \
             faster by the clock",
            self.method
        )
    }

    fn to_json(&self) -> Value {
        let (one, two) = self.medians();
        json!({
            "dataset": SPEEDUP_DATASET,
            "method": self.method,
            "wall_seconds_1_thread": self.one,
            "wall_seconds_2_threads": self.two,
            "speedup": one / two,
            "same_digest": self.same_digest,
        })
    }
}

/// A folder name for a dataset that may be a path.
fn file_name(dataset: &str) -> String {
    dataset
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' })
        .collect()
}

/// The seed of the first row of a partition file.
fn seed_of(partition: &str) -> Option<String> {
    let mut lines = partition.lines();
    (lines.next()? == "seed,node,client,split").then_some(())?;
    let seed = lines.next()?.split(',').next()?;
    seed.parse::<u64>().ok().map(|_| seed.to_owned())
}

/// The first number that a resolved configuration gives to one of `names`, in any of its tables.
fn setting(config: &str, names: &[&str]) -> Option<String> {
    config.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        let value = value.trim();
        (names.contains(&name.trim()) && value.parse::<f64>().is_ok()).then(|| value.to_owned())
    })
}

const METHODS: [&str; 2] = ["fedavg", "boostfgl"];
const SPEEDUP_DATASET: &str = "coauthor-cs";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_paths_and_names_are_told_apart() {
        assert_eq!(source("arxiv-like"), "generate:arxiv-like");
        assert_eq!(source("cora"), "cora");
        assert_eq!(file_name("my/graphs: a"), "my_graphs__a");
    }

    #[test]
    fn the_seed_comes_from_the_partition_itself() {
        assert_eq!(seed_of("seed,node,client,split\n3,0,1,train\n").as_deref(), Some("3"));
        assert_eq!(seed_of("node,client\n0,1\n"), None);
        assert_eq!(seed_of("seed,node,client,split\n"), None);
    }

    #[test]
    fn settings_are_found_in_any_table() {
        let config =
            "rounds = 50\n[optimiser]\nlr = 5e-3\nkind = \"adam\"\n[model]\nhidden = 256\n";
        assert_eq!(setting(config, &["lr", "learning_rate"]).as_deref(), Some("5e-3"));
        assert_eq!(setting(config, &["hidden"]).as_deref(), Some("256"));
        assert_eq!(setting(config, &["kind"]), None);
    }
}
