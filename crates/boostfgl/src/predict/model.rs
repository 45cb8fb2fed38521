//! The MODEL of the command line: the folder of a finished run, or a file of models.

use super::model_file::{ModelFile, ModelName};
use super::run::FinishedRun;
use crate::{Error, Result};
use boostfgl_report::RunFolder;
use std::path::Path;

/// What predicts: a finished run, or a file of models alone.
pub enum Model {
    /// The folder of a finished run.
    Run(Box<FinishedRun>),
    /// A file of models.
    File(Box<ModelFile>),
}

/// Which of the models of a run predicts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Which<'a> {
    /// The seed; the first if there is none.
    pub seed: Option<u64>,
    /// The client, by number or name.
    pub client: Option<&'a str>,
}

/// One model of a file.
pub struct Chosen {
    /// The file.
    pub file: ModelFile,
    /// The model.
    pub name: ModelName,
    /// What the user should know about the choice.
    pub notes: Vec<String>,
}

impl Model {
    /// Opens a run folder or a model file.
    ///
    /// # Errors
    /// If there is neither, the run is not finished, or the file is no model.
    pub fn open(path: &Path) -> Result<Self> {
        if path.is_dir() {
            return Ok(Self::Run(Box::new(FinishedRun::open(path)?)));
        }
        Ok(Self::File(Box::new(ModelFile::open(path)?)))
    }

    /// The run, which predicts for its own nodes.
    ///
    /// # Errors
    /// If this is a model file: it has no data.
    pub fn run(self) -> Result<FinishedRun> {
        match self {
            Self::Run(run) => Ok(*run),
            Self::File(file) => {
                let reason = "expected the data to predict for, found a model file alone";
                let advice = "Name the data: `boostfgl predict MODEL DATA`, or give the run folder \
                    to predict for the nodes of the run.";
                Err(Error::usage(file.path().display().to_string(), reason, advice))
            }
        }
    }

    /// The model that is to predict for a graph.
    ///
    /// # Errors
    /// If there is no such seed or client, or clients have models of their own and none is named.
    pub fn choose(self, which: &Which<'_>) -> Result<Chosen> {
        let (file, client) = match self {
            Self::File(file) => (*file, which.client),
            Self::Run(run) => run.model_file(which.client)?,
        };
        let seed = file.seed(which.seed)?;
        let name = file.model_of(seed, client.map(client_number).transpose()?)?;
        if let (Some(client), None) = (client, name.client) {
            let reason = format!("expected no client for a global model, found `{client}`");
            let advice = "All clients have the same model: leave --client out.";
            return Err(Error::usage("--client", reason, advice));
        }
        let notes = seed_note(&file.seeds(), which.seed).into_iter().collect();
        Ok(Chosen { file, name, notes })
    }
}

/// The number of a client of a simulation.
pub(super) fn client_number(text: &str) -> Result<usize> {
    text.parse().map_err(|_| {
        let reason = format!("expected the number of a client, from 0, found `{text}`");
        Error::usage("--client", reason, "Clients of one graph have numbers, not names.")
    })
}

/// The note that the first of several seeds is used.
pub(super) fn seed_note(seeds: &[u64], wanted: Option<u64>) -> Option<String> {
    if wanted.is_some() || seeds.len() < 2 {
        return None;
    }
    let all: Vec<String> = seeds.iter().map(u64::to_string).collect();
    Some(format!(
        "the models of seed {} predict; --seed chooses among {}",
        seeds[0],
        all.join(", ")
    ))
}

/// Reads the file of models of a folder, after a look at its checksum.
pub(super) fn models_in(folder: &RunFolder, name: &str) -> Result<ModelFile> {
    folder.check(name)?;
    ModelFile::open(folder.file(name))
}
