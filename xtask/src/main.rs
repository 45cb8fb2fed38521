//! `cargo xtask`: the project's own chores, one file per command.

mod bench;
mod browser;
mod needs;
mod project;
mod readers;
mod shell;
mod test;
mod torture;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Test(args) => test::run(&args),
        Command::Bench(bench) => bench::run(&bench),
        Command::Torture(args) => torture::run(&args),
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
    /// Everything that must pass before a change is done: format, lints, tests, browser, documentation.
    Test(test::Args),
    /// Kills, interrupts and starves the program, and prints what came of it.
    Torture(torture::Args),
    /// Measures the program against something else.
    #[command(subcommand)]
    Bench(bench::Bench),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        super::Cli::command().debug_assert();
    }
}
