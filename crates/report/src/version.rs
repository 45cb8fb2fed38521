//! Versions of file formats.

use crate::{Error, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::Path;

/// Reads a JSON document of a version up to `known`.
///
/// # Errors
/// If it cannot be read, is not of its format, or has a newer version.
pub(crate) fn read<T: DeserializeOwned>(path: &Path, known: u32) -> Result<T> {
    let text = std::fs::read(path).map_err(|source| Error::io(path, source))?;
    check(&text, known, path)?;
    serde_json::from_slice(&text).map_err(|error| Error::malformed(path, error.to_string()))
}

/// Checks the `version` of a JSON document alone: a newer format may differ in any other key.
///
/// # Errors
/// If there is none, or it is newer than `known`.
pub(crate) fn check(text: &[u8], known: u32, path: &Path) -> Result<()> {
    #[derive(Deserialize)]
    struct Version {
        version: u64,
    }
    let Version { version } =
        serde_json::from_slice(text).map_err(|error| Error::malformed(path, error.to_string()))?;
    if version > u64::from(known) {
        return Err(Error::Newer { path: path.to_path_buf(), known, found: version });
    }
    Ok(())
}
