//! Runs that were begun and are not finished.

use super::manifest::Manifest;
use crate::config::{Checked, Config, Layers};
use crate::{Error, Result};
use boostfgl_fairness::diagnostics::DiagnosticKind;
use boostfgl_fed::methods::METHODS;
use boostfgl_report::RunFolder;
use std::path::{Path, PathBuf};

/// The folder of a run that was stopped or killed: everything but the data that
/// [`Experiment::resume`](crate::Experiment::resume) needs.
#[derive(Clone, Debug)]
pub struct UnfinishedRun {
    folder: RunFolder,
    config: Checked<Config>,
    diagnostics: Vec<DiagnosticKind>,
}

impl UnfinishedRun {
    /// Opens the folder of a run that has no summary yet.
    ///
    /// # Errors
    /// If it is not such a folder, or its `config.toml` is damaged or not the one that it was begun
    /// with.
    pub fn open(path: &Path) -> Result<Self> {
        let folder = RunFolder::open(path).map_err(|error| not_a_run(path, &error.to_string()))?;
        check(&folder)?;
        let config = recorded_config(&folder)?;
        let (manifest, _) = Manifest::read(&folder.file(RunFolder::CHECKPOINT))?;
        manifest.check_config(&folder, &config)?;
        Ok(Self { diagnostics: manifest.diagnostics()?, config, folder })
    }

    /// Its folder.
    pub fn folder(&self) -> &RunFolder {
        &self.folder
    }

    /// Its configuration.
    pub fn config(&self) -> &Checked<Config> {
        &self.config
    }

    /// Its diagnostics.
    pub fn diagnostics(&self) -> &[DiagnosticKind] {
        &self.diagnostics
    }
}

/// Whether a path is the folder of a run that was begun and not finished. The summary is written
/// last, so a run with a summary is finished.
pub fn is_unfinished(path: &Path) -> bool {
    path.join(RunFolder::CONFIG).exists()
        && path.join(RunFolder::CHECKPOINT).exists()
        && !path.join(RunFolder::SUMMARY).exists()
}

/// Refuses a folder whose run is finished, or was never begun.
///
/// # Errors
/// Names what the folder holds instead.
pub(super) fn check(folder: &RunFolder) -> Result<()> {
    if is_unfinished(folder.path()) {
        return Ok(());
    }
    let found =
        if folder.file(RunFolder::SUMMARY).exists() { "a finished run" } else { "no checkpoint" };
    Err(not_a_run(folder.path(), found))
}

/// The folders of runs, finished or stopped, that `path` is or holds: those named after a method
/// first, in the order of [`METHODS`], in which several methods are run; then the others by name.
pub fn runs_in(path: &Path) -> Vec<PathBuf> {
    if is_run(path) {
        return vec![path.to_path_buf()];
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut runs: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| is_run(path)).collect();
    runs.sort_by_cached_key(|run| (method_order(run), run.clone()));
    runs
}

/// Whether this is the folder of a run, finished or not.
fn is_run(path: &Path) -> bool {
    is_unfinished(path) || path.join(RunFolder::SUMMARY).is_file()
}

/// The rank of a run among others: that of the method it is named after.
fn method_order(run: &Path) -> usize {
    METHODS.iter().position(|method| run.ends_with(method.name)).unwrap_or(METHODS.len())
}

fn not_a_run(path: &Path, found: &str) -> Error {
    let reason = format!(
        "expected the folder of a run that was stopped (with config.toml and checkpoint/), found \
         {found}"
    );
    let advice = "Runs are in runs/ unless --out named another folder; `boostfgl serve` shows \
        which of them are not finished.";
    Error::usage(path.display().to_string(), reason, advice)
}

/// The configuration in the folder of a run.
///
/// # Errors
/// If `config.toml` is missing or damaged, or names data that are not there.
pub(crate) fn recorded_config(folder: &RunFolder) -> Result<Checked<Config>> {
    let file = folder.file(RunFolder::CONFIG);
    let mut layers = Layers::new();
    layers.file(&file)?;
    let resolved = layers.resolve().map_err(|error| match error {
        Error::Graph(error) => {
            let reason = format!("expected the dataset of the run, found: {error}");
            let advice = "Run the command in the folder in which the run was started: paths to \
                data are relative to it.";
            Error::usage(file.display().to_string(), reason, advice)
        }
        other => other,
    });
    Ok(resolved?.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn runs_come_in_the_order_in_which_methods_are_run() {
        let place = tempfile::tempdir().unwrap();
        let finished = ["zeta", "boostfgl", "alpha"];
        for name in finished.iter().chain(&["fedavg", "neither"]) {
            fs::create_dir(place.path().join(name)).unwrap();
        }
        let summary = |name: &str| place.path().join(name).join(RunFolder::SUMMARY);
        finished.iter().for_each(|name| fs::write(summary(name), "{}").unwrap());
        fs::write(place.path().join("fedavg").join(RunFolder::CONFIG), "").unwrap();
        assert_eq!(runs_in(place.path()).len(), 3, "a configuration alone is no run");
        fs::create_dir(place.path().join("fedavg").join(RunFolder::CHECKPOINT)).unwrap();
        let runs = runs_in(place.path());
        let names: Vec<_> =
            runs.iter().map(|run| run.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["fedavg", "boostfgl", "alpha", "zeta"]);
        assert_eq!(runs_in(&runs[0]), [runs[0].clone()], "a run is its own folder of runs");
        assert!(is_unfinished(&runs[0]) && !is_unfinished(&runs[1]));
        assert!(runs_in(&place.path().join("nowhere")).is_empty());
    }
}
