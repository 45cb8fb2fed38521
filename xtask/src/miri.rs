//! `cargo xtask miri`: the one module with `unsafe`, under an interpreter that sees undefined
//! behaviour.

use std::process::Command;

use anyhow::{Result, bail};

use crate::project::root;
use crate::shell::{run, succeeds};

/// The tests of `crates/nn/src/kernels` under Miri (nightly, with the components miri and
/// rust-src).
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only tests whose name contains one of these. Without any: those that end within minutes,
    /// about ten in all.
    #[arg(default_values = ENDS_WITHIN_MINUTES)]
    filters: Vec<String>,
}

/// Miri takes the way for any CPU, without AVX: the wider ways are the same source, compiled again.
/// The dense products go through the pointer interface of `gemm`, the sparse ones through the
/// prefetch: with these two all `unsafe` is run but the calls of the wider ways.
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
    let rustup = || Command::new("rustup");
    if !succeeds(rustup().args(["run", "nightly", "cargo", "miri", "--version"])) {
        let mut add = rustup();
        add.args(["component", "add", "--toolchain", "nightly", "miri", "rust-src"]);
        if run(&mut add).is_err() {
            bail!(
                "Miri is not there: rustup toolchain install nightly --component miri --component \
                 rust-src"
            );
        }
    }
    let mut command = rustup();
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
    // Threads of a pool outlive the test, which is no leak; the clock and the number of cores are
    // asked for.
    command.env("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-ignore-leaks -Zmiri-tree-borrows");
    // Two, so that races can be seen, and no more, since each is interpreted.
    command.env("RAYON_NUM_THREADS", "2");
    command.env("PROPTEST_CASES", "1");
    command.arg("--").args(&args.filters);
    run(&mut command)
}
