//! `cargo xtask`: the project's own chores, one file per command.

#![forbid(unsafe_code)]

mod bench;
mod browser;
mod coverage;
mod deny;
mod digests;
mod example;
mod fuzz;
mod listed;
mod miri;
mod mutants;
mod needs;
mod project;
mod readers;
mod shell;
mod stress;
mod test;
mod tool;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Test(args) => test::run(&args),
        Command::Bench(bench) => bench::run(&bench),
        Command::Stress(args) => stress::run(&args),
        Command::Digests(args) => digests::run(&args),
        Command::Example(args) => example::run_all(&args),
        Command::Fuzz(args) => fuzz::run_all(&args),
        Command::Deny(args) => deny::run_all(&args),
        Command::Miri(args) => miri::run_all(&args),
        Command::Coverage(args) => coverage::run_all(&args),
        Command::Mutants(args) => mutants::run_all(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The project's own chores.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs every check: format, lints, tests, browser, documentation.
    Test(test::Args),
    /// Fault injection: kills, damaged files, disk faults, bad updates and attacks.
    #[command(alias = "torture")]
    Stress(stress::Args),
    /// Benchmarks: methods against FedAvg, the program against PyTorch Geometric.
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Compares the digest of every method with the recorded one.
    Digests(digests::Args),
    /// Checks the crate with a method and a boost outside of the workspace.
    Example(example::Args),
    /// Fuzzes every reader for some seconds.
    Fuzz(fuzz::Args),
    /// Checks the licences and known vulnerabilities of all dependencies.
    Deny(deny::Args),
    /// Runs the tests of the kernels, the only unsafe code, under Miri.
    Miri(miri::Args),
    /// Counts the lines that tests reach.
    Coverage(coverage::Args),
    /// Checks that tests notice changed expressions.
    Mutants(mutants::Args),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        super::Cli::command().debug_assert();
    }
}
