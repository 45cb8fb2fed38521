//! A file with the models of a run.

use super::about::{About, Owner};
use crate::run::fitted::TENSORS;
use crate::{Error, Result};
use boostfgl_graph::{FittedColumn, FittedPreparation};
use boostfgl_nn::{Params, TensorShape, safetensors_io};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The models of a run, read from `model.safetensors`.
///
/// Model `seed3` is the one of all clients under seed 3, `seed3.client0` that of the first client,
/// `seed3.client0.deployed` what this client computes with in its place, where the method says so.
pub struct ModelFile {
    path: PathBuf,
    about: About,
    bytes: Vec<u8>,
    /// The models by name, without the names of their tensors.
    models: BTreeSet<ModelName>,
    /// Where the numbers are with which features are prepared: here, or in a file of the client.
    preparations: (PathBuf, Vec<u8>),
}

/// The name of a model: its seed, and the client if it is a client's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModelName {
    /// The seed.
    pub seed: u64,
    /// The number of the client that it belongs to.
    pub client: Option<usize>,
    /// Whether the client computes with it in place of the reported one.
    pub is_deployed: bool,
}

impl ModelName {
    /// The prefix of its tensors.
    pub fn prefix(self) -> String {
        let client = self.client.map(|client| format!(".client{client}")).unwrap_or_default();
        let deployed = if self.is_deployed { ".deployed" } else { "" };
        format!("seed{}{client}{deployed}", self.seed)
    }

    /// The name of the model that a tensor belongs to.
    fn of_tensor(tensor: &str) -> Option<Self> {
        let (seed, rest) = tensor.strip_prefix("seed")?.split_once('.')?;
        // Numbers that prepare features belong to models and are none.
        if rest.starts_with("features.") || rest.contains(".features.") {
            return None;
        }
        let seed = seed.parse().ok()?;
        let own = rest.strip_prefix("client").and_then(|rest| {
            let (client, rest) = rest.split_once('.')?;
            Some((client.parse().ok()?, rest.starts_with("deployed.")))
        });
        let (client, is_deployed) = own.map_or((None, false), |(k, own)| (Some(k), own));
        Some(Self { seed, client, is_deployed })
    }
}

impl ModelFile {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// If it cannot be read, is of another format or cut off, has no model, or its metadata are
    /// wrong.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let bytes =
            std::fs::read(&path).map_err(|source| boostfgl_graph::Error::io(&path, source))?;
        let header = safetensors_io::read_header(&path, &bytes).map_err(not_a_model)?;
        let about = About::from_metadata(&path, &header.metadata)?;
        let models: BTreeSet<ModelName> =
            header.tensors.iter().filter_map(|name| ModelName::of_tensor(name)).collect();
        let preparations = (path.clone(), bytes.clone());
        if models.is_empty() {
            let reason = "expected tensors such as `seed0.layer1.weight`, found none";
            return Err(Error::usage(path.display().to_string(), reason, NOT_A_MODEL));
        }
        Ok(Self { path, about, bytes, models, preparations })
    }

    /// The same models, with features prepared as a file of one client says.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(super) fn with_preparations(mut self, path: PathBuf) -> Result<Self> {
        let bytes =
            std::fs::read(&path).map_err(|source| boostfgl_graph::Error::io(&path, source))?;
        self.preparations = (path, bytes);
        Ok(self)
    }

    /// Where it was read from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it says about its models.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The seeds that it has models of, increasing.
    pub fn seeds(&self) -> Vec<u64> {
        let mut seeds: Vec<u64> = self.models.iter().map(|name| name.seed).collect();
        seeds.dedup();
        seeds
    }

    /// The clients that have a model of their own under a seed, increasing.
    pub fn clients(&self, seed: u64) -> Vec<usize> {
        let of_seed = self.models.iter().filter(|name| name.seed == seed);
        let mut clients: Vec<usize> = of_seed.filter_map(|name| name.client).collect();
        clients.dedup();
        clients
    }

    /// The seed to use: `wanted`, or the first.
    ///
    /// # Errors
    /// If there is no model of that seed.
    pub fn seed(&self, wanted: Option<u64>) -> Result<u64> {
        let seeds = self.seeds();
        match wanted {
            None => Ok(seeds[0]),
            Some(seed) if seeds.contains(&seed) => Ok(seed),
            Some(seed) => {
                let known: Vec<String> = seeds.iter().map(u64::to_string).collect();
                let reason =
                    format!("expected a seed of the run, {}, found {seed}", known.join(", "));
                let advice = "Choose one of the seeds that the model file has.";
                Err(Error::usage("--seed", reason, advice))
            }
        }
    }

    /// The model that predicts for a client, or for all of them: what the client deploys, else its
    /// own model, else the global one.
    ///
    /// # Errors
    /// If the file has no such model.
    pub fn model_of(&self, seed: u64, client: Option<usize>) -> Result<ModelName> {
        let of_client = [true, false].map(|is_deployed| ModelName { seed, client, is_deployed });
        let global = ModelName { seed, client: None, is_deployed: false };
        let found = match client {
            Some(_) => {
                of_client.into_iter().chain([global]).find(|name| self.models.contains(name))
            }
            None => Some(global).filter(|name| self.models.contains(name)),
        };
        found.ok_or_else(|| self.no_model(seed, client))
    }

    fn no_model(&self, seed: u64, client: Option<usize>) -> Error {
        let known: Vec<String> = self.clients(seed).iter().map(usize::to_string).collect();
        let found = match client {
            Some(client) => format!("client {client}"),
            None => "no --client, and every client has its own model".to_owned(),
        };
        let reason = format!("expected one of the clients {}, found {found}", known.join(", "));
        Error::usage("--client", reason, "Choose the client whose model is to predict.")
    }

    /// The parameters of a model.
    ///
    /// # Errors
    /// If tensors are missing or of another shape, or have numbers that are not finite.
    pub fn params(&self, model: ModelName) -> Result<Params<f32>> {
        let shapes = self.about.network()?.shapes();
        let params: Params<f32> = self.tensors(model, &shapes)?;
        let odd = shapes.iter().zip(params.tensors()).find(|(_, tensor)| !tensor.is_finite());
        match odd {
            None => Ok(params),
            Some((shape, _)) => Err(self.not_finite(&model.prefix(), &shape.name)),
        }
    }

    /// How features are prepared for the models of a seed, if they are: by this client, or as all
    /// clients did.
    ///
    /// # Errors
    /// As [`ModelFile::params`]; if a scale is 0; if each client prepared them by itself, and none is
    /// named.
    pub fn preparation(
        &self,
        seed: u64,
        client: Option<usize>,
    ) -> Result<Option<FittedPreparation>> {
        let (path, bytes) = &self.preparations;
        let header = safetensors_io::read_header(path, bytes).map_err(not_a_model)?;
        let has =
            |prefix: &str, tensor: &str| header.tensors.contains(&format!("{prefix}.{tensor}"));
        let of = |client| ModelName { seed, client, is_deployed: false }.prefix();
        let prefixes = client.map(|client| of(Some(client))).into_iter().chain([of(None)]);
        let [fill, shift, scale] = TENSORS;
        let known = prefixes.into_iter().find(|prefix| has(prefix, shift) || has(prefix, scale));
        let Some(prefix) = known else {
            let any = header.tensors.iter().any(|name| name.contains(".features."));
            return if any { Err(self.unnamed_client(seed, client)) } else { Ok(None) };
        };
        let width = self.about.columns();
        let names = if has(&prefix, fill) { &[fill, shift, scale][..] } else { &[shift, scale] };
        let shapes: Vec<_> = names.iter().map(|name| TensorShape::bias(*name, width)).collect();
        let read: Params<f32> =
            safetensors_io::from_bytes(path, bytes, &prefix, &shapes).map_err(not_a_model)?;
        let numbers: Vec<Vec<f32>> =
            read.tensors().iter().map(boostfgl_nn::Matrix::to_vec).collect();
        let [.., shift, scale] = &numbers[..] else { return Ok(None) };
        let columns = (0..width).map(|c| FittedColumn {
            fill: if numbers.len() == 3 { numbers[0][c] } else { 0.0 },
            shift: shift[c],
            scale: scale[c],
        });
        let columns: Vec<FittedColumn> = columns.collect();
        let sound = |column: &FittedColumn| {
            let finite = [column.fill, column.shift, column.scale].iter().all(|x| x.is_finite());
            finite && column.scale != 0.0
        };
        if !columns.iter().all(sound) {
            return Err(self.not_finite(&prefix, TENSORS[2]));
        }
        Ok(Some(FittedPreparation { columns, indicators: self.about.indicators.clone() }))
    }

    /// Whether each client prepared its features by itself.
    pub fn has_own_preparations(&self, seed: u64) -> bool {
        let header = safetensors_io::read_header(&self.preparations.0, &self.preparations.1);
        let start = format!("seed{seed}.client");
        header.is_ok_and(|header| {
            let own = |name: &String| name.starts_with(&start) && name.contains(".features.");
            header.tensors.iter().any(own)
        })
    }

    fn unnamed_client(&self, seed: u64, client: Option<usize>) -> Error {
        let found = client.map_or("none".to_owned(), |client| format!("client {client}"));
        let reason = format!(
            "expected the client whose means and deviations prepare the features of seed {seed}, \
             found {found}"
        );
        let advice = "Name the client that the data belong to; with data.moments = \"all-clients\" \
            all clients prepare features in the same way.";
        Error::usage("--client", reason, advice)
    }

    fn tensors(&self, model: ModelName, shapes: &[TensorShape]) -> Result<Params<f32>> {
        let read = safetensors_io::from_bytes(&self.path, &self.bytes, &model.prefix(), shapes);
        read.map_err(not_a_model)
    }

    fn not_finite(&self, prefix: &str, tensor: &str) -> Error {
        let reason = format!(
            "expected finite numbers in tensor {prefix}.{tensor}, and scales other than 0, found \
             others"
        );
        Error::usage(self.path.display().to_string(), reason, NOT_A_MODEL)
    }

    /// Whether the reported models are the clients' own.
    pub fn is_personal(&self, seed: u64) -> bool {
        self.about.owner == Owner::Personal || self.model_of(seed, None).is_err()
    }
}

/// The advice for a file that has no usable model.
const NOT_A_MODEL: &str =
    "Give the run folder or its model.safetensors; a damaged file is made again by running again.";

/// An error of the file with that advice.
fn not_a_model(error: boostfgl_nn::Error) -> Error {
    match error {
        boostfgl_nn::Error::Parameters { path, expected, found } => {
            let reason = format!("expected {expected}, found {found}");
            Error::usage(path.display().to_string(), reason, NOT_A_MODEL)
        }
        other => other.into(),
    }
}
