//! A run that did not come to its end.

use super::manifest::Begun;
use crate::config::{Checked, Config, Layers};
use crate::{Error, Result};
use boostfgl_fairness::diagnostics::Which;
use boostfgl_fed::methods::METHODS;
use boostfgl_report::RunFolder;
use std::path::{Path, PathBuf};

/// The folder of a run that was stopped or killed: everything that
/// [`Experiment::resume`](crate::Experiment::resume) needs beside the data.
#[derive(Clone, Debug)]
pub struct StoppedRun {
    folder: RunFolder,
    config: Checked<Config>,
    diagnostics: Vec<Which>,
}

impl StoppedRun {
    /// Opens the folder of a run that has no summary yet.
    ///
    /// # Errors
    /// If it is not such a folder, or its `config.toml` is damaged or not the one that it was begun
    /// with.
    pub fn open(path: &Path) -> Result<Self> {
        let folder = RunFolder::open(path).map_err(|error| not_a_run(path, &error.to_string()))?;
        check(&folder)?;
        let config = recorded_config(&folder)?;
        let (begun, _) = Begun::read(&folder.file(RunFolder::CHECKPOINT))?;
        begun.check_config(&folder, &config)?;
        Ok(Self { diagnostics: begun.diagnostics()?, config, folder })
    }

    /// Its folder.
    pub fn folder(&self) -> &RunFolder {
        &self.folder
    }

    /// Its configuration.
    pub fn config(&self) -> &Checked<Config> {
        &self.config
    }

    /// The diagnostics that watch it.
    pub fn diagnostics(&self) -> &[Which] {
        &self.diagnostics
    }
}

/// Whether a path is the folder of a run that was begun and not finished.
pub fn is_stopped(path: &Path) -> bool {
    let has = |name: &str| path.join(name).exists();
    has(RunFolder::CONFIG) && has(RunFolder::CHECKPOINT) && !has(RunFolder::SUMMARY)
}

/// Whether this is the folder of a run that was begun and not finished.
///
/// # Errors
/// Says what it is instead.
pub(super) fn check(folder: &RunFolder) -> Result<()> {
    if is_stopped(folder.path()) {
        return Ok(());
    }
    let found = if folder.file(RunFolder::SUMMARY).exists() {
        "a finished run"
    } else {
        "no state of a run"
    };
    Err(not_a_run(folder.path(), found))
}

/// The folders of runs, finished or stopped, that `path` is or holds: those named after a method
/// first, in the order of [`METHODS`], in which several methods are run; then the others by name.
pub fn runs_in(path: &Path) -> Vec<PathBuf> {
    let is_run = |path: &Path| is_stopped(path) || path.join(RunFolder::SUMMARY).is_file();
    if is_run(path) {
        return vec![path.to_path_buf()];
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut runs: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| is_run(path)).collect();
    let place = |run: &PathBuf| {
        METHODS.iter().position(|method| run.ends_with(method.name)).unwrap_or(METHODS.len())
    };
    runs.sort_by_cached_key(|run| (place(run), run.clone()));
    runs
}

fn not_a_run(path: &Path, found: &str) -> Error {
    let reason = format!(
        "expected the folder of a run that was stopped (with config.toml and checkpoint/), found \
         {found}"
    );
    let advice = "Runs are in runs/ unless --out said otherwise; `boostfgl serve` shows which of \
        them are not finished.";
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
            let advice = "Run the command in the folder that the run was started in: paths to \
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
        assert!(is_stopped(&runs[0]) && !is_stopped(&runs[1]));
        assert!(runs_in(&place.path().join("nowhere")).is_empty());
    }
}
