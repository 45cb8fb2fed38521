//! `cargo xtask mutants`: whether the tests notice when a line is changed.

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::project::target;
use crate::shell::shown;
use crate::tool;

/// Changes one expression at a time and runs the tests of its crate (cargo-mutants; installed on first use). This takes
/// minutes to hours.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The files to change, as globs.
    #[arg(default_values = ["crates/fed/src/aggregate*", "crates/fairness/src/metrics/*.rs", "crates/fed/src/screen*", "crates/*/src/checkpoint*"])]
    files: Vec<String>,
    /// Seconds that the tests of one mutant may take.
    #[arg(long, default_value_t = 300)]
    timeout: u64,
}

pub(crate) fn run_all(args: &Args) -> Result<()> {
    let out = target().join("mutants");
    std::fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    let mut command = tool::subcommand("mutants")?;
    command.args(args.files.iter().flat_map(|file| ["--file", file]));
    command.arg("--timeout").arg(args.timeout.to_string()).arg("--output").arg(&out);
    command.args(["--test-tool", if tool::is_there("nextest") { "nextest" } else { "cargo" }]);
    println!("{}", shown(&command));
    // It fails if a mutant lives, which is what the table tells.
    let status = command.status().context("cannot start cargo-mutants")?;
    let report = out.join("mutants.out/outcomes.json");
    let text = std::fs::read(&report).with_context(|| format!("cargo-mutants ended ({status}) without a report"))?;
    let json: Value = serde_json::from_slice(&text).context("cargo-mutants writes JSON")?;
    let count = |key: &str| json[key].as_u64().unwrap_or_default();
    let (caught, missed, timeout) = (count("caught"), count("missed"), count("timeout"));
    let judged = caught + missed + timeout;
    if judged == 0 {
        bail!("no mutant was judged; the baseline may have failed: see {}", out.display());
    }
    println!("{:>8} {:>8} {:>8} {:>10} {:>9}", "caught", "missed", "timeout", "unviable", "killed %");
    let killed = 100.0 * (caught + timeout) as f64 / judged as f64;
    println!("{caught:>8} {missed:>8} {timeout:>8} {:>10} {killed:>9.1}", count("unviable"));
    Ok(())
}
