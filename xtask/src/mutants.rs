//! `cargo xtask mutants`: whether the tests notice when a line is changed.

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::project::target;
use crate::shell::shown;
use crate::tool;

/// Changes one expression at a time and runs the tests of its crate (cargo-mutants; installed on
/// first use). This takes minutes to hours.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The files to change, as globs.
    #[arg(default_values = RESULTS_REST_ON)]
    files: Vec<String>,
    /// Runs only the unit tests, which takes a tenth of the time; what they miss, other tests may
    /// catch.
    #[arg(long)]
    lib: bool,
    /// Seconds that the tests of one mutant may take: a mutant that never ends is noticed by this
    /// [default: 300, with --lib 30].
    #[arg(long)]
    timeout: Option<u64>,
    /// Arguments for cargo-mutants itself, such as `--jobs 2` or `--shard 0/4` (every fourth
    /// mutant).
    #[arg(last = true, value_name = "ARGUMENTS")]
    further: Vec<String>,
}

/// Aggregation, screening, metrics, checkpoints and writing to the disk.
const RESULTS_REST_ON: [&str; 7] = [
    "crates/fed/src/aggregate/**",
    "crates/fed/src/screen/**",
    "crates/fairness/src/metrics/**",
    "crates/fairness/src/confusion.rs",
    "crates/fairness/src/scores.rs",
    "crates/boostfgl/src/checkpoint/**",
    "crates/disk/src/**",
];

pub(crate) fn run_all(args: &Args) -> Result<()> {
    let out = target().join("mutants");
    std::fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    let mut command = tool::subcommand("mutants")?;
    // Optimised crates would be optimised again for every mutant.
    command.args(["--workspace", "--profile", "mutants"]);
    command.args(args.files.iter().flat_map(|file| ["--file", file]));
    let timeout = args.timeout.unwrap_or(if args.lib { 30 } else { 300 });
    command.arg("--timeout").arg(timeout.to_string()).arg("--output").arg(&out);
    command.args(["--test-tool", if tool::is_there("nextest") { "nextest" } else { "cargo" }]);
    if args.lib {
        // Building, too, so that no other test is linked for every mutant.
        command.arg("--cargo-arg=--lib");
    }
    command.args(&args.further);
    println!("{}", shown(&command));
    let report = out.join("mutants.out/outcomes.json");
    // A report of an earlier call must not be read.
    let _ = std::fs::remove_file(&report);
    let status = command.status().context("cannot start cargo-mutants")?;
    // 2: a mutant was missed, 3: one reached its time limit; the table shows both.
    if !matches!(status.code(), Some(0 | 2 | 3)) {
        bail!("cargo-mutants ended early ({status}): see {}", out.display());
    }
    let text = std::fs::read(&report)
        .with_context(|| format!("cargo-mutants ended ({status}) without a report"))?;
    let json: Value = serde_json::from_slice(&text).context("cargo-mutants writes JSON")?;
    let [caught, missed, timeout, unviable] = ["caught", "missed", "timeout", "unviable"]
        .map(|key| json[key].as_u64().unwrap_or_default());
    let tested = caught + missed + timeout;
    if tested == 0 {
        bail!("no mutant was tested; the baseline may have failed: see {}", out.display());
    }
    println!(
        "{:>8} {:>8} {:>8} {:>10} {:>9}",
        "caught", "missed", "timeout", "unviable", "killed %"
    );
    let killed = 100.0 * (caught + timeout) as f64 / tested as f64;
    println!("{caught:>8} {missed:>8} {timeout:>8} {unviable:>10} {killed:>9.1}");
    Ok(())
}
