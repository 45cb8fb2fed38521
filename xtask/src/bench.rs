//! `cargo xtask bench`: measurements, printed with everything needed to interpret them.

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
    /// CPU seconds and memory compared with a plain PyTorch Geometric FedAvg on the same clients.
    Peer(peer::Args),
    /// CPU seconds, memory and bytes of every method compared with FedAvg.
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

/// The name of a dataset for our program: generator presets have a prefix of their own.
fn source(name: &str) -> String {
    if name.ends_with("-like") { format!("generate:{name}") } else { name.to_owned() }
}
