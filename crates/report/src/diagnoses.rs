//! `diagnostics.json`: what diagnostics found in a run.

use crate::{Error, Result};
use boostfgl_fairness::diagnostics::Diagnosis;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What was found, seed by seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diagnoses {
    /// The version of this format: [`Diagnoses::VERSION`].
    pub version: u32,
    /// One entry per seed.
    pub seeds: Vec<SeedDiagnosis>,
}

/// What was found under one seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeedDiagnosis {
    /// The seed.
    pub seed: u64,
    /// What was found.
    #[serde(flatten)]
    pub found: Diagnosis,
}

impl Diagnoses {
    /// The version of the format that this program writes, and the newest it reads.
    pub const VERSION: u32 = 1;

    /// The findings of some seeds.
    pub fn new(seeds: Vec<SeedDiagnosis>) -> Self {
        Self { version: Self::VERSION, seeds }
    }

    /// The file's text, ending in a newline.
    pub fn to_json(&self) -> String {
        // Only maps with keys that are not strings and failing `Serialize` impls make this fail; there are none here.
        let mut json = serde_json::to_string(self).expect("findings are representable as JSON");
        json.push('\n');
        json
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, does not hold findings, or has a newer version.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = std::fs::read(path).map_err(|source| Error::io(path, source))?;
        let found: Self = serde_json::from_slice(&text).map_err(|error| Error::malformed(path, error.to_string()))?;
        if found.version > Self::VERSION {
            let (known, newer) = (Self::VERSION, u64::from(found.version));
            return Err(Error::Newer { path: path.to_path_buf(), known, found: newer });
        }
        Ok(found)
    }
}
