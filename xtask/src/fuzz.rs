//! `cargo xtask fuzz`: damaged input for every reader, for some seconds each.

use std::process::Command;

use anyhow::Result;

use crate::project::{root, target};
use crate::shell::{cargo, run};

/// Every fuzz target on the stable toolchain, as one table; a crash is an error and its input is
/// kept in `target/fuzz`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Seconds for each target.
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Only this target; may be given several times.
    #[arg(long, value_name = "NAME")]
    target: Vec<String>,
    /// Seed of the random inputs.
    #[arg(long)]
    seed: Option<u64>,
}

pub(crate) fn run_all(args: &Args) -> Result<()> {
    let mut command = program(args.seconds)?;
    command.args(args.target.iter().flat_map(|name| ["--target", name]));
    command.args(args.seed.iter().flat_map(|seed| ["--seed".to_owned(), seed.to_string()]));
    run(&mut command)
}

/// Builds the fuzzer and runs each target for this many seconds.
pub(crate) fn program(seconds: f64) -> Result<Command> {
    // Together with the tests, so that what they have built is not built again. Not optimised, so
    // that an overflow is a panic.
    run(&mut cargo(["build", "--quiet", "--workspace", "--tests", "--bin", "boostfgl-fuzz"]))?;
    let mut command = Command::new(
        target().join("debug").join(format!("boostfgl-fuzz{}", std::env::consts::EXE_SUFFIX)),
    );
    command.current_dir(root()).arg("--seconds").arg(seconds.to_string());
    command.arg("--crashes").arg(target().join("fuzz"));
    Ok(command)
}
