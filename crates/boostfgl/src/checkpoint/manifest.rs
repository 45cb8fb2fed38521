//! How a run was begun: what has to be the same when it goes on.

use super::{container, put_back};
use crate::grid::identity::Inputs;
use crate::{Config, Error, Experiment, Result, fingerprint};
use boostfgl_fairness::diagnostics::Which;
use boostfgl_nn::{StateVisitor, Stateful};
use boostfgl_report::{Fingerprint, RunFolder};
use std::path::Path;

/// Kept twice, since nothing else says it: one damaged file does not cost a run.
const FILES: [&str; 2] = ["run", "run.copy"];

const PROGRAM: &str = env!("CARGO_PKG_VERSION");

/// Program, configuration, data and diagnostics of a run, as far as they are needed to tell others
/// from them.
#[derive(Default)]
pub(super) struct Begun {
    /// The version of the program.
    program: String,
    /// BLAKE3 of the configuration, with all its seeds.
    config: String,
    /// The fingerprint of the data, part by part.
    data: [String; 5],
    /// BLAKE3 of the partition file, if there is one.
    partition: String,
    /// The names of the diagnostics that watch.
    diagnostics: String,
}

impl Stateful for Begun {
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

impl Begun {
    /// How this one is begun, from these inputs.
    pub(super) fn new(experiment: &Experiment, inputs: &Inputs) -> Self {
        let names: Vec<&str> = experiment.diagnostics().iter().map(|which| which.name()).collect();
        Self {
            program: PROGRAM.to_owned(),
            config: digest_of(experiment.config()),
            data: parts_of(&inputs.data),
            partition: partition_of(inputs),
            diagnostics: names.join(","),
        }
    }

    /// Writes it down in a folder of checkpoints.
    ///
    /// # Errors
    /// If the system refuses.
    pub(super) fn write(&mut self, folder: &Path) -> Result<()> {
        FILES.iter().try_for_each(|name| {
            container::write(&folder.join(name), |visitor| visitor.visit("begun", self))
        })
    }

    /// Reads what a run wrote down; notes are about a damaged file whose copy is whole.
    ///
    /// # Errors
    /// If both files are damaged or missing.
    pub(super) fn read(folder: &Path) -> Result<(Self, Vec<String>)> {
        match FILES.map(|name| Self::read_file(&folder.join(name))) {
            [Ok(begun), Ok(_)] => Ok((begun, Vec::new())),
            [Ok(begun), Err(damaged)] | [Err(damaged), Ok(begun)] => {
                Ok((begun, vec![format!("{damaged}; its copy is taken")]))
            }
            [Err(error), Err(_)] => Err(error),
        }
    }

    fn read_file(path: &Path) -> Result<Self> {
        let mut begun = Self::default();
        let bytes = container::read(path)?;
        put_back(path, &bytes, |visitor| visitor.visit("begun", &mut begun))?;
        Ok(begun)
    }

    /// Whether these are the program and the configuration that the run was begun with.
    ///
    /// # Errors
    /// Names the version, or `config.toml`, if they are not.
    pub(super) fn check_config(&self, run: &RunFolder, config: &Config) -> Result<()> {
        if self.program != PROGRAM {
            let place = run.path().display().to_string();
            let reason = format!(
                "expected a run that boostfgl {PROGRAM} began, found one of {}",
                self.program
            );
            return Err(Error::usage(
                place,
                reason,
                "Go on with that version, or begin anew with `boostfgl run --config`.",
            ));
        }
        if self.config == digest_of(config) {
            return Ok(());
        }
        let reason = "expected the configuration that the run was begun with, found another";
        Err(other(
            run,
            reason,
            "Put config.toml back as it was, or begin anew with `boostfgl run --config`.",
        ))
    }

    /// Whether these are the data that the run was begun with.
    ///
    /// # Errors
    /// Names the dataset or the partition file if they are not.
    pub(super) fn check_inputs(
        &self,
        run: &RunFolder,
        experiment: &Experiment,
        inputs: &Inputs,
    ) -> Result<()> {
        const ADVICE: &str =
            "Put the data back as they were, or begin anew with `boostfgl run --config`.";
        let [whole, structure, features, labels, split] = self.data.clone();
        let begun_with =
            Fingerprint { whole, structure, features, labels, split, ..Fingerprint::default() };
        let config = run.file(RunFolder::CONFIG).display().to_string();
        fingerprint::check(&config, experiment.graph().name(), &begun_with, &inputs.data, ADVICE)?;
        if self.partition == partition_of(inputs) {
            return Ok(());
        }
        let file = experiment.config().partition.file();
        let changed =
            file.map_or_else(|| "partition.file".to_owned(), |path| path.display().to_string());
        let reason = format!(
            "expected the data that the run was begun with, found that `{changed}` has changed"
        );
        Err(other(run, reason, ADVICE))
    }

    /// The diagnostics that watch.
    ///
    /// # Errors
    /// If another version of the program wrote a name that this one does not know.
    pub(super) fn diagnostics(&self) -> Result<Vec<Which>> {
        if self.diagnostics.is_empty() {
            Ok(Vec::new())
        } else {
            Ok(Which::parse(&self.diagnostics)?)
        }
    }
}

fn other(run: &RunFolder, reason: impl Into<String>, advice: &'static str) -> Error {
    Error::usage(run.file(RunFolder::CONFIG).display().to_string(), reason, advice)
}

/// The names of the parts of a fingerprint, in a file.
const PARTS: [&str; 5] = ["data", "structure", "features", "labels", "split"];

fn parts_of(data: &Fingerprint) -> [String; 5] {
    [&data.whole, &data.structure, &data.features, &data.labels, &data.split].map(String::clone)
}

fn partition_of(inputs: &Inputs) -> String {
    inputs.partition.map_or_else(String::new, |digest| digest.to_hex().to_string())
}

fn digest_of(config: &Config) -> String {
    blake3::hash(config.to_toml().as_bytes()).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_another_version_is_named() {
        let place = tempfile::tempdir().unwrap();
        let (run, config) = (RunFolder::create(place.path(), false).unwrap(), Config::default());
        let begun = |program: &str| Begun {
            program: program.into(),
            config: digest_of(&config),
            ..Begun::default()
        };
        begun(PROGRAM).check_config(&run, &config).unwrap();
        let error = begun("0.0.9").check_config(&run, &config).unwrap_err();
        assert!(
            error.to_string().ends_with("began, found one of 0.0.9") && error.is_input(),
            "{error}"
        );
    }
}
