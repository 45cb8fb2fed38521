//! `cargo xtask miri`: the one module with `unsafe`, under an interpreter that detects undefined
//! behaviour.

use std::process::Command;

use anyhow::{Result, bail};

use crate::project::root;
use crate::shell::{run, succeeds};

/// The tests of `crates/nn/src/kernels` under Miri (nightly, with the components miri and
/// rust-src).
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only tests whose name contains one of these [default: those that end within minutes, about
    /// ten in all].
    #[arg(default_values = ENDS_WITHIN_MINUTES)]
    filters: Vec<String>,
}

/// Miri runs the variant for any CPU, without AVX; the wider variants are the same source, compiled
/// again. Dense products use the pointer interface of `gemm`, sparse ones the prefetch. These cover
/// all `unsafe` code except the calls of the wider variants.
const ENDS_WITHIN_MINUTES: [&str; 7] = [
    "kernels::gemm::tests::three_products",
    "kernels::mixture",
    "kernels::ordered",
    "kernels::reduce",
    "kernels::segments",
    "kernels::softmax",
    "kernels::spmm",
];

pub(crate) fn run_all(args: &Args) -> Result<()> {
    let mut version = Command::new("rustup");
    if !succeeds(version.args(["run", "nightly", "cargo", "miri", "--version"])) {
        let mut add = Command::new("rustup");
        add.args(["component", "add", "--toolchain", "nightly", "miri", "rust-src"]);
        if run(&mut add).is_err() {
            bail!(
                "Miri is not there: rustup toolchain install nightly --component miri --component \
                 rust-src"
            );
        }
    }
    let mut command = Command::new("rustup");
    command.current_dir(root()).args([
        "run",
        "nightly",
        "cargo",
        "miri",
        "test",
        "-p",
        "boostfgl-nn",
        "--lib",
    ]);
    // Threads of a pool outlive the test, which is no leak. The tests need the clock and the number
    // of cores.
    command.env("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-ignore-leaks -Zmiri-tree-borrows");
    // Two threads show races; more would be slow, since each is interpreted.
    command.env("RAYON_NUM_THREADS", "2");
    command.env("PROPTEST_CASES", "1");
    command.arg("--").args(&args.filters);
    run(&mut command)
}
