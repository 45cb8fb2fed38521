//! `boostfgl-fuzz`: every target for some seconds, as one table. `cargo xtask fuzz` starts it.

#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use boostfgl_fuzz::engine::{Limits, fuzz, last_input, silence_panics};
use boostfgl_fuzz::{TARGETS, Target, seeds};
use clap::Parser;

/// Bad input for everything that reads.
#[derive(Parser)]
struct Args {
    /// Seconds for each target.
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Only this target; may be given several times.
    #[arg(long, value_name = "NAME")]
    target: Vec<String>,
    /// What inputs are drawn from.
    #[arg(long, default_value_t = 20_260_711)]
    seed: u64,
    /// Where inputs that crash are kept.
    #[arg(long, default_value = "target/fuzz")]
    crashes: PathBuf,
    /// Writes the seeds anew, with the project's own writers, and does nothing else.
    #[arg(long)]
    write_seeds: bool,
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    if args.write_seeds {
        seeds::write()?;
        return Ok(ExitCode::SUCCESS);
    }
    let chosen: Vec<&Target> = TARGETS
        .iter()
        .filter(|target| args.target.is_empty() || args.target.iter().any(|name| name == target.name))
        .collect();
    if let Some(unknown) = args.target.iter().find(|name| !TARGETS.iter().any(|target| target.name == **name)) {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        bail!("unknown target `{unknown}`; there are {}", names.join(", "));
    }
    silence_panics();
    println!("an input that ends the process is left as {}", last_input().display());
    let limits =
        Limits { time: Duration::from_secs_f64(args.seconds.max(0.0)), seed: args.seed, crashes: args.crashes.clone() };
    println!(
        "{:<12} {:>10} {:>8} {:>9} {:>8} {:>11}",
        "target", "executions", "seconds", "messages", "crashes", "memory MiB"
    );
    let mut crashes = Vec::new();
    for target in chosen {
        let outcome = fuzz(target, &limits)?;
        println!(
            "{:<12} {:>10} {:>8.1} {:>9} {:>8} {:>11}",
            target.name,
            outcome.executions,
            outcome.time.as_secs_f64(),
            outcome.messages,
            outcome.crashes.len(),
            outcome.memory_mib.map_or_else(|| "?".to_owned(), |mib| format!("{mib:.1}"))
        );
        crashes.extend(outcome.crashes);
    }
    for (input, what) in &crashes {
        println!("{}: {what}", input.display());
    }
    Ok(if crashes.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
