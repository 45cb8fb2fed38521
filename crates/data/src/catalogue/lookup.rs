//! Finds the files of a dataset on this machine.

use std::path::{Path, PathBuf};

use boostfgl_graph::{Error, Result};
use etcetera::BaseStrategy as _;

use super::files::{compare, sha256_of};
use super::{Dataset, Flat};

/// Places to look for datasets, in this order: `data_dir`, `mirror` if it is a folder, `cache`;
/// and, for [`Lookup::fetch`], `mirror` if it is an address, then the published address.
///
/// A folder holds `NAME.npz` files, or the published files in `raw/<dataset>/` or `<dataset>/`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lookup {
    /// The folder given by `--data-dir`.
    pub data_dir: Option<PathBuf>,
    /// The value of `BOOSTFGL_DATA`: a folder, or an `http://`, `https://` or `file://` address of
    /// one.
    pub mirror: Option<String>,
    /// The folder of downloaded files; `None` if this user has no home folder.
    pub cache: Option<PathBuf>,
}

/// The files of a dataset that were found.
#[derive(Clone, Debug, PartialEq)]
pub struct Located {
    /// The dataset.
    pub dataset: &'static Dataset,
    /// Its format: `flat-npz`, or the dataset's published format.
    pub format: &'static str,
    /// The path for a reader of that format: the file if there is just one, otherwise the
    /// folder.
    pub path: PathBuf,
    /// The files, each with its SHA-256 where one is known.
    pub files: Vec<(PathBuf, Option<&'static str>)>,
    /// Names of published files that are absent; the dataset can be used without them, but is not
    /// complete.
    pub missing: Vec<&'static str>,
}

impl Lookup {
    /// The places that the command line and the environment name: `BOOSTFGL_DATA`, and
    /// `BOOSTFGL_CACHE` or else `boostfgl` in the user's cache folder.
    pub fn from_env(data_dir: Option<PathBuf>) -> Self {
        let cache = variable("BOOSTFGL_CACHE").map(PathBuf::from).or_else(|| {
            let user = etcetera::choose_base_strategy().ok()?;
            Some(user.cache_dir().join("boostfgl"))
        });
        Self {
            data_dir,
            mirror: variable("BOOSTFGL_DATA").map(|value| value.to_string_lossy().into_owned()),
            cache,
        }
    }

    /// Finds the files without using the network. Checksums are not compared: see
    /// [`Located::check`].
    ///
    /// # Errors
    /// [`Error::NotFound`] with the places looked at.
    pub fn locate(&self, dataset: &'static Dataset) -> Result<Located> {
        let folders = self.folders();
        folders.iter().find_map(|folder| in_folder(folder, dataset)).ok_or_else(|| {
            let mut looked: Vec<String> =
                folders.iter().map(|folder| folder.display().to_string()).collect();
            if looked.is_empty() {
                looked.push("no folder: neither a data folder nor a cache is set".to_owned());
            }
            Error::NotFound { name: dataset.name.to_owned(), looked }
        })
    }

    /// The mirror, if it is an address rather than a folder.
    pub(super) fn address(&self) -> Option<&str> {
        self.mirror.as_deref().filter(|mirror| is_address(mirror))
    }

    fn folders(&self) -> Vec<PathBuf> {
        let mirror = self.mirror.as_deref().filter(|mirror| !is_address(mirror)).map(PathBuf::from);
        [self.data_dir.clone(), mirror, self.cache.clone()].into_iter().flatten().collect()
    }
}

fn is_address(mirror: &str) -> bool {
    ["http://", "https://", "file://"].iter().any(|scheme| mirror.starts_with(scheme))
}

impl Located {
    /// Compares every file with its published SHA-256, reading each once. Returns the files for
    /// which none is known.
    ///
    /// # Errors
    /// [`Error::Checksum`] for the first file that differs, [`Error::Io`] if one cannot be read.
    pub fn check(&self) -> Result<Vec<&Path>> {
        let mut unknown = Vec::new();
        for (path, expected) in &self.files {
            match expected {
                Some(expected) => compare(path, Some(expected), sha256_of(path)?)?,
                None => unknown.push(path.as_path()),
            }
        }
        Ok(unknown)
    }

    fn flat(dataset: &'static Dataset, flat: &Flat, path: PathBuf) -> Self {
        let missing = if flat.complete { Vec::new() } else { optional(dataset).collect() };
        Self {
            dataset,
            format: FLAT_NPZ,
            files: vec![(path.clone(), Some(flat.sha256))],
            path,
            missing,
        }
    }
}

fn optional(dataset: &'static Dataset) -> impl Iterator<Item = &'static str> {
    dataset.files.iter().filter(|file| !file.required).map(|file| file.name)
}

/// The best form of `dataset` in `folder`: the first complete one, otherwise the first usable one.
pub(super) fn in_folder(folder: &Path, dataset: &'static Dataset) -> Option<Located> {
    let flat = dataset.flat.as_ref().map(|flat| (flat, folder.join(flat.name)));
    let flat = flat
        .filter(|(_, path)| path.is_file())
        .map(|(flat, path)| Located::flat(dataset, flat, path));
    let published = [folder.join("raw").join(dataset.folder), folder.join(dataset.folder)];
    let published = published.iter().filter_map(|folder| published_in(folder, dataset));
    let found: Vec<Located> = flat.into_iter().chain(published).collect();
    let best = found.iter().position(|located| located.missing.is_empty()).unwrap_or(0);
    found.into_iter().nth(best)
}

/// The published files, if all required ones are in `folder`, by name or where their archive
/// unpacks them.
fn published_in(folder: &Path, dataset: &'static Dataset) -> Option<Located> {
    let (mut files, mut missing) = (Vec::new(), Vec::new());
    for file in dataset.files {
        let unpacked = file
            .member
            .and_then(|member| member.split_once('/'))
            .map(|(_, inner)| folder.join(inner));
        let path =
            std::iter::once(folder.join(file.name)).chain(unpacked).find(|path| path.is_file());
        match path {
            Some(path) => files.push((path, file.sha256)),
            None if file.required => return None,
            None => missing.push(file.name),
        }
    }
    let path = match files.as_slice() {
        [(only, _)] => only.clone(),
        _ => folder.to_path_buf(),
    };
    Some(Located { dataset, format: dataset.format, path, files, missing })
}

/// The name of the flat format.
const FLAT_NPZ: &str = "flat-npz";

/// An environment variable that is set and not empty.
fn variable(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
