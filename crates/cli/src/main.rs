//! The `boostfgl` program: parse, run one command, turn errors into a message and an exit code.
//!
//! Exit codes: 0 success, 1 the run failed, 2 the command or its input is wrong, 130 stopped by
//! Ctrl-C.

#![forbid(unsafe_code)]

mod args;
mod commands;
mod comparison_folder;
#[cfg(test)]
mod documented;
mod output;
mod planned;
mod progress;
mod signals;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Fairness-aware federated graph learning: train on graphs that stay with their owners, and
/// measure for which nodes the model works.
///
/// Without a command, `run` compares FedAvg and BoostFGL on the built-in demo graph.
#[derive(Debug, Parser)]
#[command(name = "boostfgl", version, propagate_version = true, max_term_width = 110)]
struct Program {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(commands::run::Run),
    Resume(commands::resume::Resume),
    Compare(commands::compare::Compare),
    Tune(commands::tune::Tune),
    Reproduce(commands::reproduce::Reproduce),
    Diagnose(commands::diagnose::Diagnose),
    Predict(commands::predict::Predict),
    Report(commands::report::Report),
    Serve(commands::serve::Serve),
    Data(commands::data::Data),
    Partition(commands::partition::Partition),
    Methods(commands::methods::Methods),
    Config(commands::config::Config),
    Completions(commands::completions::Completions),
}

fn main() -> ExitCode {
    let program = match Program::try_parse() {
        Ok(program) => program,
        Err(error) => return output::fail_to_parse(&error),
    };
    let result =
        match program.command.unwrap_or_else(|| Command::Run(commands::run::Run::default())) {
            Command::Run(run) => run.execute(),
            Command::Resume(resume) => resume.execute(),
            Command::Compare(compare) => compare.execute(),
            Command::Tune(tune) => tune.execute(),
            Command::Reproduce(reproduce) => reproduce.execute(),
            Command::Diagnose(diagnose) => diagnose.execute(),
            Command::Predict(predict) => predict.execute(),
            Command::Report(report) => report.execute(),
            Command::Serve(serve) => serve.execute(),
            Command::Data(data) => data.execute(),
            Command::Partition(partition) => partition.execute(),
            Command::Methods(methods) => methods.execute(),
            Command::Config(config) => config.execute(),
            Command::Completions(completions) => completions.execute(),
        };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => output::fail(&error),
    }
}
