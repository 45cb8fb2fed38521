//! The program under stress.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use anyhow::{Context, Result, bail};

use crate::project::{RealData, target};
use crate::shell::{cargo, run, shown};

/// The program, built and ready.
pub(crate) struct Program {
    path: PathBuf,
    variable: Option<(&'static str, String)>,
}

impl Program {
    /// Builds it, as for users or as for tests.
    pub(crate) fn build(release: bool, data: &RealData) -> Result<Self> {
        let mut build = cargo(["build", "--bin", "boostfgl"]);
        // Together with the tests, so that what they have built is not built again.
        build.args(if release { &["--release"][..] } else { &["--workspace", "--tests"] });
        run(&mut build)?;
        let profile = if release { "release" } else { "debug" };
        let name = format!("boostfgl{}", std::env::consts::EXE_SUFFIX);
        Ok(Self { path: target().join(profile).join(name), variable: data.to_export() })
    }

    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(&self.path);
        command.args(arguments.split_whitespace()).envs(self.variable.clone());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    pub(crate) fn start(&self, arguments: &str) -> Result<Child> {
        let mut command = self.command(arguments);
        command.spawn().with_context(|| format!("cannot start `{}`", shown(&command)))
    }

    /// Runs under a disk fault, such as `crash@17`, and returns its output whether it fails or not.
    /// Only builds for tests have faults.
    pub(crate) fn under(&self, fault: &str, arguments: &str) -> Result<Output> {
        let mut command = self.command(arguments);
        command.env("BOOSTFGL_FAULT", fault).stderr(Stdio::piped());
        command.output().with_context(|| format!("cannot start `{}`", shown(&command)))
    }

    /// Runs to the end and returns the standard output; a failure is an error with the standard
    /// error.
    pub(crate) fn finish(&self, arguments: &str) -> Result<String> {
        let mut command = self.command(arguments);
        let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output();
        let output = output.with_context(|| format!("cannot start `{}`", shown(&command)))?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            bail!("`{}` failed ({}):\n{stderr}", shown(&command), output.status);
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// The digest in a run's summary.
pub(crate) fn digest(folder: &Path) -> Result<String> {
    Ok(summary(folder)?["digest"].as_str().unwrap_or_default().to_owned())
}

/// A run's summary.
pub(crate) fn summary(folder: &Path) -> Result<serde_json::Value> {
    let path = folder.join("summary.json");
    let text = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{} is damaged", path.display()))
}
