//! `cargo xtask`: the project's own chores, one file per command.

mod bench;
mod needs;
mod project;
mod shell;
mod test;

use clap::{Parser, Subcommand};

fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Test(args) => test::run(&args),
        Command::Bench(bench) => bench::run(&bench),
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
    /// Everything that must pass before a change is done: format, lints, tests, documentation.
    Test(test::Args),
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
