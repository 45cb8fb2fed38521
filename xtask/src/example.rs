//! `cargo xtask example`: the crate in `examples/own-method`, which is not part of the workspace.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use crate::project::{root, target};
use crate::shell::{cargo, run, shown};

/// Format, lints, tests and program of `examples/own-method`: a method and a boost outside of the
/// workspace, in the conformance suite.
#[derive(clap::Args)]
pub(crate) struct Args {}

/// Where the crate is, from the root.
const FOLDER: &str = "examples/own-method";

pub(crate) fn run_all(_: &Args) -> Result<()> {
    // The same versions as in the workspace, so that they are downloaded and compiled once.
    let lock = root().join(FOLDER).join("Cargo.lock");
    fs::copy(root().join("Cargo.lock"), &lock)
        .with_context(|| format!("cannot write {}", lock.display()))?;
    for mut command in commands() {
        println!("{}", shown(&command));
        run(&mut command)?;
    }
    Ok(())
}

fn commands() -> [Command; 4] {
    let manifest = format!("{FOLDER}/Cargo.toml");
    let format = cargo(["fmt", "--check", "--manifest-path", &manifest]);
    let compiling = |name: &str| {
        // With the profiles of the workspace, without which every dependency would be compiled
        // again.
        let mut command = cargo([name, "--manifest-path", &manifest, "--config", "Cargo.toml"]);
        command.arg("--target-dir").arg(target());
        command
    };
    let mut lints = compiling("clippy");
    lints.args(["--all-targets", "--", "-D", "warnings"]);
    [format, lints, compiling("test"), compiling("run")]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cargo reads the profiles of the workspace as configuration, which has to contain them.
    #[test]
    fn the_example_is_compiled_with_the_profiles_and_in_the_folder_of_the_workspace() {
        let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
        assert!(manifest.contains("[profile.dev.package.\"*\"]"));
        let commands = commands().map(|command| shown(&command));
        assert_eq!(commands[0], "cargo fmt --check --manifest-path examples/own-method/Cargo.toml");
        for command in &commands[1..] {
            let folder = target();
            let shared = format!("--config Cargo.toml --target-dir {}", folder.display());
            assert!(command.contains(&shared), "{command}");
        }
        assert!(commands[1].ends_with("--all-targets -- -D warnings"), "{}", commands[1]);
    }
}
