//! The DATA of the command line: a catalogue name, a path, or `generate:PRESET`.

use crate::{Result, reading};
use boostfgl_data::catalogue::{self, Dataset, Fetch, Located, Lookup};
use boostfgl_data::readers;
use boostfgl_graph::{Error, Graph, generator};
use std::path::Path;

/// A dataset by name, before it is read.
#[derive(Clone, Debug)]
pub enum Data {
    /// One of the catalogue.
    Catalogued(&'static Dataset),
    /// A generator preset.
    Generated(&'static generator::Preset),
    /// The user's own files.
    Path(std::path::PathBuf),
}

impl Data {
    /// Resolves a name: `generate:PRESET`, a catalogue name or alias, a preset's name, or an
    /// existing path.
    ///
    /// # Errors
    /// If it is none of these; the nearest known name is suggested.
    pub fn named(name: &str) -> Result<Self> {
        if let Some(preset) = name.strip_prefix("generate:") {
            return Ok(Self::Generated(generator::preset(preset)?));
        }
        match catalogue::find(name) {
            Ok(dataset) => Ok(Self::Catalogued(dataset)),
            Err(unknown) => {
                if let Ok(preset) = generator::preset(name) {
                    return Ok(Self::Generated(preset));
                }
                let path = Path::new(name);
                match path.metadata() {
                    Ok(_) => Ok(Self::Path(path.to_path_buf())),
                    // A name with a separator or an ending is meant as a path: report what is wrong
                    // with that.
                    Err(error) if name.contains(['/', '\\']) || path.extension().is_some() => {
                        Err(Error::io(path, error).into())
                    }
                    Err(_) => Err(unknown.into()),
                }
            }
        }
    }

    /// The dataset of the catalogue or the preset of the generator with this name; `None` for the
    /// user's own files.
    pub fn known(name: &str) -> Option<&'static str> {
        if let Ok(dataset) = catalogue::find(name) {
            return Some(dataset.name);
        }
        let preset = generator::preset(name.strip_prefix("generate:").unwrap_or(name));
        preset.ok().map(|preset| preset.name)
    }

    /// The shares of training, validation and test nodes and the learning rate of the protocol,
    /// where it sets them.
    pub fn protocol(&self) -> Option<([f64; 3], f64)> {
        match self {
            Self::Catalogued(dataset) => Some((dataset.split, dataset.learning_rate)),
            Self::Generated(preset) => Some((preset.split, preset.learning_rate)),
            Self::Path(_) => None,
        }
    }

    /// Known flaws of the dataset; may be empty.
    pub fn flaws(&self) -> &'static str {
        match self {
            Self::Catalogued(dataset) => dataset.flaws,
            _ => "",
        }
    }

    /// Reads or generates the graph. Catalogued files are checked against their SHA-256; `fetch`
    /// downloads those that are not on this machine.
    ///
    /// # Errors
    /// If files are missing, differ from the published ones, or cannot be read.
    pub fn load(
        &self,
        lookup: &Lookup,
        fetch: Option<&dyn Fetch>,
        progress: LoadProgress<'_>,
    ) -> Result<Graph> {
        match self {
            Self::Generated(preset) => Ok(generator::generate(
                preset.name,
                &preset.spec,
                preset.seed,
                &mut |phase, share| {
                    progress(&format!("generating {}: {phase}", preset.name), share);
                },
            )?),
            Self::Path(path) => {
                let phase = format!("reading {}", path.display());
                let graph =
                    reading::watched(&phase, &[path], progress, || readers::read(path, None))?;
                let name = path
                    .file_stem()
                    .map_or_else(|| graph.name().to_owned(), |s| s.to_string_lossy().into_owned());
                Ok(graph.renamed(name))
            }
            Self::Catalogued(dataset) => {
                let located = match (lookup.locate(dataset), fetch) {
                    (Ok(located), _) => located,
                    (Err(Error::NotFound { .. }), Some(fetch)) => {
                        lookup.fetch(dataset, fetch, &mut |file, done, total| {
                            let share =
                                total.map_or(0.0, |total| done as f64 / total.max(1) as f64);
                            progress(&format!("fetching {file}"), share);
                        })?
                    }
                    (Err(error), _) => return Err(error.into()),
                };
                let files: Vec<&Path> =
                    located.files.iter().map(|(path, _)| path.as_path()).collect();
                let phase = format!("reading {}", dataset.name);
                reading::watched(&phase, &files, progress, || read_located(&located))
            }
        }
    }
}

/// Called with what is being done and the share of it that is done.
pub type LoadProgress<'a> = &'a mut dyn FnMut(&str, f64);

/// Checks and reads the files of a catalogued dataset.
///
/// # Errors
/// If a file differs from the published one or cannot be read.
pub fn read_located(located: &Located) -> Result<Graph> {
    located.check()?;
    let format = readers::Format::from_name(located.format)?;
    let name = located.dataset.name;
    if located.missing.contains(&"node-feat.csv.gz") {
        let (adjacency, labels, splits) = match format {
            readers::Format::FlatNpz => readers::flat_npz::read_without_features(&located.path)?,
            _ => readers::ogb::read_without_features(&located.path)?,
        };
        return Ok(generator::plant_features(
            name,
            adjacency,
            labels,
            splits,
            &generator::PLANTED,
            0,
        )?);
    }
    Ok(readers::read(&located.path, Some(format))?.renamed(name))
}
