//! The manifest of a run: digests of everything that must be the same when it is resumed.

use super::{container, restore_all};
use crate::grid::identity::CellInputs;
use crate::run::trainable::Trainable;
use crate::{Config, Error, Result, fingerprint};
use boostfgl_fairness::diagnostics::DiagnosticKind;
use boostfgl_nn::{StateVisitor, Stateful};
use boostfgl_report::{Fingerprint, RunFolder};
use std::path::Path;

/// The manifest is stored twice, because nothing else in the folder replaces it: a run survives the
/// damage of one file.
const FILES: [&str; 2] = ["run", "run.copy"];

const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// Digests that identify the program, the configuration, the data and the diagnostics of a run.
#[derive(Default)]
pub(super) struct Manifest {
    /// The version of the program.
    program: String,
    /// BLAKE3 of the configuration, with all its seeds.
    config: String,
    /// The fingerprint of the data, part by part.
    data: [String; 5],
    /// BLAKE3 of the partition file, if there is one.
    partition: String,
    /// The names of the diagnostics, separated by commas.
    diagnostics: String,
}

impl Stateful for Manifest {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("program", &mut self.program)?;
        visitor.visit("config", &mut self.config)?;
        for (name, part) in PARTS.iter().zip(&mut self.data) {
            visitor.visit(name, part)?;
        }
        visitor.visit("partition", &mut self.partition)?;
        visitor.visit("diagnostics", &mut self.diagnostics)
    }
}

impl Manifest {
    /// The manifest of an experiment with these inputs.
    pub(super) fn new(experiment: &impl Trainable, inputs: &CellInputs) -> Self {
        let names: Vec<&str> = experiment.diagnostics().iter().map(|which| which.name()).collect();
        Self {
            program: PROGRAM.to_owned(),
            config: digest_of(experiment.config()),
            data: parts_of(&inputs.data),
            partition: partition_of(inputs),
            diagnostics: names.join(","),
        }
    }

    /// Writes both copies into a folder of checkpoints.
    ///
    /// # Errors
    /// If one cannot be written.
    pub(super) fn write(&mut self, folder: &Path) -> Result<()> {
        FILES.iter().try_for_each(|name| {
            container::write(&folder.join(name), |visitor| visitor.visit("begun", self))
        })
    }

    /// Reads the manifest of a run. A note names a damaged file whose copy is intact.
    ///
    /// # Errors
    /// If both files are damaged or missing.
    pub(super) fn read(folder: &Path) -> Result<(Self, Vec<String>)> {
        match FILES.map(|name| Self::read_file(&folder.join(name))) {
            [Ok(manifest), Ok(_)] => Ok((manifest, Vec::new())),
            [Ok(manifest), Err(damaged)] | [Err(damaged), Ok(manifest)] => {
                Ok((manifest, vec![format!("{damaged}; its copy is used")]))
            }
            [Err(error), Err(_)] => Err(error),
        }
    }

    fn read_file(path: &Path) -> Result<Self> {
        let mut manifest = Self::default();
        let bytes = container::read(path)?;
        restore_all(path, &bytes, |visitor| visitor.visit("begun", &mut manifest))?;
        Ok(manifest)
    }

    /// Refuses another program or another configuration than those that the run was begun with.
    ///
    /// # Errors
    /// Names both versions, or `config.toml`.
    pub(super) fn check_config(&self, run: &RunFolder, config: &Config) -> Result<()> {
        if self.program != PROGRAM {
            let place = run.path().display().to_string();
            let reason = format!(
                "expected a run of boostfgl {PROGRAM}, found one of boostfgl {}",
                self.program
            );
            return Err(Error::usage(
                place,
                reason,
                "Resume it with that version, or start again with `boostfgl run --config`.",
            ));
        }
        if self.config == digest_of(config) {
            return Ok(());
        }
        let reason = "expected the configuration that the run was begun with, found another";
        Err(changed_config(
            run,
            reason,
            "Restore config.toml, or start again with `boostfgl run --config`.",
        ))
    }

    /// Refuses other data than those that the run was begun with.
    ///
    /// # Errors
    /// Names the dataset or the partition file.
    pub(super) fn check_inputs(
        &self,
        run: &RunFolder,
        experiment: &impl Trainable,
        inputs: &CellInputs,
    ) -> Result<()> {
        const ADVICE: &str = "Restore the data, or start again with `boostfgl run --config`.";
        let [whole, structure, features, labels, split] = self.data.clone();
        let begun_with =
            Fingerprint { whole, structure, features, labels, split, ..Fingerprint::default() };
        let config = run.file(RunFolder::CONFIG).display().to_string();
        fingerprint::check(&config, experiment.dataset(), &begun_with, &inputs.data, ADVICE)?;
        if self.partition == partition_of(inputs) {
            return Ok(());
        }
        let file = experiment.config().partition.file();
        let file_name =
            file.map_or_else(|| "partition.file".to_owned(), |path| path.display().to_string());
        let reason = format!(
            "expected the data that the run was begun with, found that `{file_name}` has changed"
        );
        Err(changed_config(run, reason, ADVICE))
    }

    /// The diagnostics of the run.
    ///
    /// # Errors
    /// If a name is unknown to this version of the program.
    pub(super) fn diagnostics(&self) -> Result<Vec<DiagnosticKind>> {
        if self.diagnostics.is_empty() {
            Ok(Vec::new())
        } else {
            Ok(DiagnosticKind::parse(&self.diagnostics)?)
        }
    }
}

/// The error for inputs that have changed since `config.toml` was recorded.
fn changed_config(run: &RunFolder, reason: impl Into<String>, advice: &'static str) -> Error {
    Error::usage(run.file(RunFolder::CONFIG).display().to_string(), reason, advice)
}

/// The names of the parts of a fingerprint, in a file.
const PARTS: [&str; 5] = ["data", "structure", "features", "labels", "split"];

fn parts_of(data: &Fingerprint) -> [String; 5] {
    [&data.whole, &data.structure, &data.features, &data.labels, &data.split].map(String::clone)
}

fn partition_of(inputs: &CellInputs) -> String {
    inputs.partition.map_or_else(String::new, |digest| digest.to_hex().to_string())
}

fn digest_of(config: &Config) -> String {
    blake3::hash(config.to_toml().as_bytes()).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_another_version_is_refused_with_both_versions() {
        let place = tempfile::tempdir().unwrap();
        let (run, config) = (RunFolder::create(place.path(), false).unwrap(), Config::default());
        let manifest = |program: &str| Manifest {
            program: program.into(),
            config: digest_of(&config),
            ..Manifest::default()
        };
        manifest(PROGRAM).check_config(&run, &config).unwrap();
        let error = manifest("0.0.9").check_config(&run, &config).unwrap_err();
        assert!(
            error.to_string().ends_with(&format!(
                "expected a run of boostfgl {PROGRAM}, found one of boostfgl 0.0.9"
            )) && error.is_input(),
            "{error}"
        );
    }
}
