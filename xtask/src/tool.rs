//! Cargo subcommands that are installed on demand.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::project::{root, target};
use crate::shell::{cargo, run, succeeds};

/// A `cargo NAME` command, ready for arguments. If the tool is missing it is installed under
/// `target/tools`, apart from other installations.
pub(crate) fn subcommand(name: &str) -> Result<Command> {
    let package = format!("cargo-{name}");
    let own = own(&package);
    if !own.is_file() && !succeeds(&mut cargo([name, "--version"])) {
        eprintln!("installing {package} under {} (once; this takes minutes)", folder().display());
        let mut install = cargo(["install", "--quiet", "--locked", &package, "--root"]);
        run(install.arg(folder()))
            .with_context(|| format!("{package} could not be installed: is the network there?"))?;
    }
    let mut command =
        if own.is_file() { Command::new(own) } else { cargo(std::iter::empty::<&str>()) };
    command.current_dir(root()).arg(name);
    Ok(command)
}

/// Whether a `cargo NAME` command is at hand without installing anything.
pub(crate) fn is_there(name: &str) -> bool {
    own(&format!("cargo-{name}")).is_file() || succeeds(&mut cargo([name, "--version"]))
}

fn folder() -> PathBuf {
    target().join("tools")
}

fn own(package: &str) -> PathBuf {
    folder().join("bin").join(format!("{package}{}", std::env::consts::EXE_SUFFIX))
}
