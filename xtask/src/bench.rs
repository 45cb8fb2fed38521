//! `cargo xtask bench`: measurements that are printed with all it takes to judge them.

mod figures;
mod machine;
mod measure;
mod peer;
mod table;

use anyhow::Result;
use clap::Subcommand;

/// What to measure.
#[derive(Subcommand)]
pub(crate) enum Bench {
    /// CPU seconds and memory beside a plain PyTorch Geometric FedAvg on the same clients.
    Peer(peer::Args),
}

pub(crate) fn run(bench: &Bench) -> Result<()> {
    match bench {
        Bench::Peer(args) => peer::run(args),
    }
}
