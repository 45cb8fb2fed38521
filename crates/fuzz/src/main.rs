//! `boostfgl-fuzz`: every target for some seconds, as one table. `cargo xtask fuzz` starts it.

#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use boostfgl_fuzz::engine::{Limits, Outcome, fuzz, silence_panics};
use boostfgl_fuzz::{TARGETS, Target, seeds};
use clap::Parser;

/// Counts the memory that every input takes.
#[global_allocator]
static COUNTED: peak_alloc::PeakAlloc = peak_alloc::PeakAlloc;

/// Damaged input for every reader.
#[derive(Parser)]
struct Args {
    /// Seconds for each target.
    #[arg(long, default_value = "10", value_parser = duration)]
    seconds: Duration,
    /// Only this target; may be given several times.
    #[arg(long, value_name = "NAME")]
    target: Vec<String>,
    /// Seed of the random inputs.
    #[arg(long, default_value_t = 20_260_711)]
    seed: u64,
    /// Folder for crashing inputs.
    #[arg(long, default_value = "target/fuzz")]
    crashes: PathBuf,
    /// Prints one JSON document in place of the table.
    #[arg(long)]
    json: bool,
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
    let chosen = chosen(&args.target)?;
    silence_panics();
    eprintln!(
        "an input that ends the process is left in {} as TARGET-last",
        args.crashes.display()
    );
    let limits = Limits { time: args.seconds, seed: args.seed, crashes: args.crashes.clone() };
    if !args.json {
        println!(
            "{:<12} {:>10} {:>8} {:>9} {:>8} {:>11}",
            "target", "executions", "seconds", "messages", "crashes", "memory MiB"
        );
    }
    let (mut crashes, mut all) = (Vec::new(), Vec::new());
    for target in chosen {
        let outcome = fuzz(target, &limits)?;
        if args.json {
            all.push(as_json(target, &outcome));
        } else {
            println!("{}", row(target, &outcome));
        }
        crashes.extend(outcome.crashes);
    }
    if args.json {
        println!("{}", serde_json::Value::from(all));
    }
    for (input, what) in &crashes {
        eprintln!("{}: {what}", input.display());
    }
    Ok(if crashes.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The targets with these names; all without any name.
fn chosen(names: &[String]) -> Result<Vec<&'static Target>> {
    for name in names {
        if !TARGETS.iter().any(|target| target.name == name) {
            let known: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            bail!("unknown target `{name}`; there are {}", known.join(", "));
        }
    }
    Ok(TARGETS
        .iter()
        .filter(|target| names.is_empty() || names.iter().any(|name| name == target.name))
        .collect())
}

fn row(target: &Target, outcome: &Outcome) -> String {
    format!(
        "{:<12} {:>10} {:>8.1} {:>9} {:>8} {:>11}",
        target.name,
        outcome.executions,
        outcome.time.as_secs_f64(),
        outcome.messages,
        outcome.crashes.len(),
        outcome.memory_mib.map_or_else(|| "?".to_owned(), |mib| format!("{mib:.1}"))
    )
}

fn as_json(target: &Target, outcome: &Outcome) -> serde_json::Value {
    serde_json::json!({
        "target": target.name,
        "executions": outcome.executions,
        "seconds": outcome.time.as_secs_f64(),
        "messages": outcome.messages,
        "crashes": outcome.crashes.len(),
        "memory_mib": outcome.memory_mib,
    })
}

fn duration(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds > 0.0);
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or_else(|| "expected a number of seconds above 0".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_a_finite_number_above_0() {
        assert_eq!(duration("0.5"), Ok(Duration::from_millis(500)));
        for text in ["0", "-1", "nan", "inf", "1e300", "soon"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
