//! `cargo xtask bench`: measurements that are printed with all it takes to judge them.

mod figures;
mod machine;
mod measure;
mod methods;
mod peer;
mod table;

use crate::project::target;
use anyhow::Result;
use clap::Subcommand;
use std::path::PathBuf;

/// What to measure.
#[derive(Subcommand)]
pub(crate) enum Bench {
    /// CPU seconds and memory beside a plain PyTorch Geometric FedAvg on the same clients.
    Peer(peer::Args),
    /// CPU seconds, memory and bytes of every method beside FedAvg.
    Methods(methods::Args),
}

pub(crate) fn run(bench: &Bench) -> Result<()> {
    match bench {
        Bench::Peer(args) => peer::run(args),
        Bench::Methods(args) => methods::run(args),
    }
}

/// Our program, as `cargo build --release` leaves it.
fn program() -> PathBuf {
    target().join("release").join(format!("boostfgl{}", std::env::consts::EXE_SUFFIX))
}

/// How our program is told a dataset: generator presets have a prefix of their own.
fn source(name: &str) -> String {
    if name.ends_with("-like") { format!("generate:{name}") } else { name.to_owned() }
}
