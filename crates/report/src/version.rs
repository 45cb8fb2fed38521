//! Versions of formats.

use crate::{Error, Result};
use serde::Deserialize;
use std::path::Path;

/// Looks at the `version` of a JSON document alone: a newer format may differ in any other key.
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
