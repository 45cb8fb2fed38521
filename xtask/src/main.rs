//! `cargo xtask`: the project's own chores, one file per command.

#![forbid(unsafe_code)]

mod bench;
mod browser;
mod coverage;
mod deny;
mod digests;
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
    /// Everything that must pass before a change is done: format, lints, tests, browser,
    /// documentation.
    Test(test::Args),
    /// Kills, interrupts and starves the program, and prints what came of it.
    #[command(alias = "torture")]
    Stress(stress::Args),
    /// Measures the program against something else.
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Whether every method still gives the recorded digits.
    Digests(digests::Args),
    /// Bad input for every reader, for some seconds each.
    Fuzz(fuzz::Args),
    /// Licences of all dependencies, and known holes in them.
    Deny(deny::Args),
    /// The module with `unsafe` under an interpreter that sees undefined behaviour.
    Miri(miri::Args),
    /// Which lines the tests reach.
    Coverage(coverage::Args),
    /// Whether the tests notice when a line is changed.
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
