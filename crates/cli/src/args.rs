//! Flags that several commands share.

use anyhow::Result;
use boostfgl::datasets::catalogue::Lookup;
use boostfgl::fairness::diagnostics::DiagnosticKind;
use boostfgl::fed::boost::Boost;
use boostfgl::graph::Graph;
use boostfgl::{CheckpointSchedule, Config, Data, Error, Experiment, Http, Layers};
use clap::Args;
use std::path::PathBuf;

/// The place of data.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct DataFlags {
    /// Folder with datasets; searched before BOOSTFGL_DATA and the cache
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) data_dir: Option<PathBuf>,
}

impl DataFlags {
    pub(crate) fn lookup(&self) -> Lookup {
        Lookup::from_env(self.data_dir.clone())
    }

    /// Reads the dataset of a configuration. One of clients with graphs of their own has none, and
    /// is refused.
    pub(crate) fn load(&self, config: &Config, quiet: bool) -> Result<(Data, Graph)> {
        config.check_one_graph()?;
        self.load_named(&config.dataset, quiet)
    }

    /// Reads a dataset; a published one that is not on this machine is downloaded first.
    pub(crate) fn load_named(&self, name: &str, quiet: bool) -> Result<(Data, Graph)> {
        let data = Data::named(name)?;
        let mut phases = crate::progress::Phases::new(quiet);
        let graph = data.load(&self.lookup(), Some(&Http::default()), &mut |phase, share| {
            phases.show(phase, share);
        })?;
        Ok((data, graph))
    }
}

/// Flags of a command that trains one method. Each sets a key of the configuration.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct TrainingFlags {
    /// Dataset: a catalogue name (`boostfgl data list`), a path to your own files, or
    /// generate:PRESET [default: demo]
    #[arg(value_name = "DATA")]
    pub(crate) data: Option<String>,

    /// Federated method (`boostfgl methods`)
    #[arg(long, short, value_name = "METHOD")]
    pub(crate) method: Option<String>,

    #[command(flatten)]
    pub(crate) protocol: ProtocolFlags,
}

/// Flags of every training command, for any data and method.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ProtocolFlags {
    // Not a doc comment, since the text is generated from the registry of boosts.
    #[arg(long, value_name = "LIST", help = boost_help())]
    pub(crate) boost: Option<String>,

    /// Number of clients the graph is divided among [default: 5]
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub(crate) clients: Option<usize>,

    /// Communication rounds [default: 50]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub(crate) rounds: Option<usize>,

    /// How many seeds (5 means 0,1,2,3,4), or which ones as a list [default: 5]
    #[arg(long, value_name = "N|a,b,c", allow_negative_numbers = true)]
    pub(crate) seeds: Option<String>,

    /// Give the same results on every CPU, not only for any number of threads; slower
    #[arg(long)]
    pub(crate) portable: bool,

    /// Read clients and split from a partition.csv, for example of an earlier run
    #[arg(long, value_name = "FILE")]
    pub(crate) partition: Option<PathBuf>,

    /// Configuration file (TOML); flags and --set override it
    #[arg(long, short, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Set any key, for example --set fed.epochs=3 or --set lambda_e=1.0 (`boostfgl config show`
    /// lists them)
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,

    #[command(flatten)]
    pub(crate) data_flags: DataFlags,
}

impl TrainingFlags {
    /// The layers of the configuration that these flags set.
    pub(crate) fn layers(&self) -> Result<Layers> {
        self.protocol.layers(self.data.as_deref(), self.method.as_deref())
    }
}

impl ProtocolFlags {
    /// The layers of the configuration that these flags set, for a dataset and a method.
    pub(crate) fn layers(&self, data: Option<&str>, method: Option<&str>) -> Result<Layers> {
        let mut layers = Layers::new();
        if let Some(path) = &self.config {
            layers.file(path)?;
        }
        if let Some(data) = data {
            layers.set("dataset", data, "DATA")?;
        }
        if let Some(method) = method {
            layers.set("method", method, "--method")?;
        }
        if let Some(boost) = &self.boost {
            let names: Vec<_> =
                Boost::parse(boost).map_err(Error::from)?.iter().map(|b| b.name()).collect();
            layers.set("boosts", names, "--boost")?;
        }
        if let Some(clients) = self.clients {
            layers.set("partition.clients", clients as i64, "--clients")?;
        }
        if let Some(rounds) = self.rounds {
            layers.set("fed.rounds", rounds as i64, "--rounds")?;
        }
        if let Some(seeds) = &self.seeds {
            layers.set("seeds", parse_seeds(seeds)?, "--seeds")?;
        }
        if self.portable {
            layers.set("portable", true, "--portable")?;
        }
        if let Some(file) = &self.partition {
            layers.set("partition.partitioner", "file", "--partition")?;
            layers.set("partition.file", file.to_string_lossy().into_owned(), "--partition")?;
        }
        for assignment in &self.set {
            layers.assignment(assignment)?;
        }
        Ok(layers)
    }

    /// The first training flag that is given, if any.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let flags = [
            ("--boost", self.boost.is_some()),
            ("--clients", self.clients.is_some()),
            ("--rounds", self.rounds.is_some()),
            ("--seeds", self.seeds.is_some()),
            ("--portable", self.portable),
            ("--partition", self.partition.is_some()),
            ("--config", self.config.is_some()),
            ("--set", !self.set.is_empty()),
        ];
        flags.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag)
    }

    /// Whether `--set` sets that key of the top level.
    pub(crate) fn sets(&self, key: &str) -> bool {
        self.set.iter().any(|s| s.split('=').next().is_some_and(|name| name.trim() == key))
    }
}

/// An upper bound on the number of seeds, so that a typing error does not fill the memory.
const MAX_SEEDS: i64 = 10_000;

/// The help of `--boost`, from the table of boosts.
fn boost_help() -> String {
    let names: Vec<&str> = Boost::ALL.iter().map(|boost| boost.name()).collect();
    format!(
        "Boosts stacked on the method: all, none, or a list of {} [default: the method's own]",
        names.join(", ")
    )
}

/// `5` is 0,1,2,3,4; `3,7` is 3 and 7; `3,` is 3 alone.
fn parse_seeds(text: &str) -> Result<Vec<i64>> {
    if !text.contains(',') {
        let count = parse_seed(text)?;
        return if (1..=MAX_SEEDS).contains(&count) {
            Ok((0..count).collect())
        } else {
            Err(wrong_seeds(text).into())
        };
    }
    let parts = text.split(',').filter(|part| !part.trim().is_empty());
    Ok(parts.map(parse_seed).collect::<Result<_, _>>()?)
}

/// One number of `--seeds`.
fn parse_seed(text: &str) -> Result<i64, Error> {
    text.trim().parse::<u32>().map(i64::from).map_err(|_| wrong_seeds(text))
}

/// The error for a value of `--seeds` that cannot be used.
fn wrong_seeds(found: &str) -> Error {
    let reason = format!(
        "expected a number of seeds from 1 to {MAX_SEEDS} or a list such as 0,1,2, found `{found}`"
    );
    let advice = "--seeds 3 runs the seeds 0, 1 and 2; --seeds 7, runs seed 7 alone.";
    Error::usage("--seeds", reason, advice)
}

/// One line per diagnostic: its name, the question it answers and its other names.
pub(crate) fn diagnostics_list() -> String {
    let mut text = String::new();
    for kind in DiagnosticKind::ALL {
        let also = match kind.aliases() {
            [] => String::new(),
            aliases => format!(" (also: {})", aliases.join(", ")),
        };
        text.push_str(&format!("  {:<12} {}{also}\n", kind.name(), kind.question()));
    }
    text
}

/// The diagnostics of a list such as `gsd,epr`, or all.
pub(crate) fn parse_diagnostics(list: &str) -> Result<Vec<DiagnosticKind>> {
    let found = DiagnosticKind::parse(list).map_err(Error::from)?;
    if found.is_empty() {
        let names = DiagnosticKind::ALL.map(DiagnosticKind::name).join(", ");
        let reason = format!("expected all or some of {names}, found none");
        return Err(Error::usage(
            "--diagnostics",
            reason,
            "Leave --diagnostics out, or name at least one.",
        )
        .into());
    }
    Ok(found)
}

/// The schedule of checkpoints.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PaceFlags {
    /// Save a checkpoint after every N rounds, regardless of its cost
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) checkpoint_rounds: Option<usize>,

    /// Save a checkpoint every S seconds, at the end of a round; `off` turns this off. Saving takes
    /// at most 2 % of the time, so a slow disk gets fewer checkpoints [default: 5]
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub(crate) checkpoint_seconds: Option<String>,
}

impl PaceFlags {
    pub(crate) fn pace(&self) -> Result<CheckpointSchedule> {
        if self.checkpoint_rounds == Some(0) {
            let advice = "Leave --checkpoint-rounds out to save by time alone.";
            return Err(Error::usage(
                "--checkpoint-rounds",
                "expected at least 1, found 0",
                advice,
            )
            .into());
        }
        let seconds = match self.checkpoint_seconds.as_deref() {
            None => CheckpointSchedule::default().seconds,
            Some("off") => f64::INFINITY,
            Some(text) => {
                text.parse().ok().filter(|s: &f64| s.is_finite() && *s >= 0.0).ok_or_else(|| {
                    let reason = format!(
                        "expected a number of seconds of at least 0, or off, found `{text}`"
                    );
                    Error::usage(
                        "--checkpoint-seconds",
                        reason,
                        "Leave it out to save every 5 seconds.",
                    )
                })?
            }
        };
        Ok(CheckpointSchedule { rounds: self.checkpoint_rounds, seconds })
    }
}

/// An upper bound on threads; operating systems fail in unclear ways on far larger numbers.
const MAX_THREADS: usize = 1024;

/// Limits on threads and memory of a training command.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ResourceFlags {
    /// Threads to use; results are the same for any number [default: all cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) threads: Option<usize>,

    /// Memory budget with its unit, for example 2GiB or 512MiB: a run that is estimated to need
    /// more does not start
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<String>,
}

impl ResourceFlags {
    /// The thread pool of the command.
    pub(crate) fn pool(&self) -> Result<rayon::ThreadPool> {
        if let Some(threads) = self.threads.filter(|threads| !(1..=MAX_THREADS).contains(threads)) {
            let reason = format!("expected 1 to {MAX_THREADS}, found {threads}");
            return Err(wrong_threads(reason).into());
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads.unwrap_or(0)).build();
        Ok(pool.map_err(|error| {
            wrong_threads(format!("the operating system refused to start the threads ({error})"))
        })?)
    }

    /// Refuses a run that is estimated to need more memory than `--memory` allows or, without that
    /// flag, far more than the machine has.
    pub(crate) fn check(&self, experiment: &Experiment, pool: &rayon::ThreadPool) -> Result<()> {
        match self.limit()? {
            Some(limit) => experiment.check_memory(limit, pool.current_num_threads())?,
            None => experiment.check_machine()?,
        }
        Ok(())
    }

    /// The memory that the cells of a grid share: the value of `--memory`, or what the machine can
    /// provide at best.
    pub(crate) fn budget(&self) -> Result<Option<u64>> {
        if let Some(limit) = self.limit()? {
            return Ok(Some(limit));
        }
        Ok(boostfgl::memory::machine().map(boostfgl::memory::worth_a_try))
    }

    /// The memory limit in bytes.
    pub(crate) fn limit(&self) -> Result<Option<u64>> {
        let Some(text) = &self.memory else { return Ok(None) };
        match boostfgl::memory::parse_size(text) {
            Some(bytes) => Ok(Some(bytes)),
            None => {
                let reason = format!(
                    "expected a number with a unit, such as 2GiB or 512MiB, found `{text}`"
                );
                Err(Error::usage(
                    "--memory",
                    reason,
                    "Units are B, KiB, MiB, GiB and TiB, or short K, M, G, T.",
                )
                .into())
            }
        }
    }
}

/// The error for a value of `--threads` that cannot be used.
fn wrong_threads(reason: String) -> Error {
    Error::usage("--threads", reason, "Leave --threads out to use every core.")
}

/// The output of a command.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct OutputFlags {
    /// Folder to write the run to [default: runs/DATA/NAME, with a number if that exists]
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Replace an earlier run in the folder given by --out
    #[arg(long)]
    pub(crate) overwrite: bool,
}

/// What a command prints.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct PrintFlags {
    /// Print one JSON document on standard output instead of tables
    #[arg(long)]
    pub(crate) json: bool,

    /// Print no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
