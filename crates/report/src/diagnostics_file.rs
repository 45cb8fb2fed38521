//! `diagnostics.json`: the results of the diagnostics of a run.

use crate::{Error, Result};
use boostfgl_fairness::diagnostics::{Diagnosis, DiagnosticKind};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The results of diagnostics, seed by seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiagnosticsFile {
    /// The version of this format: [`DiagnosticsFile::VERSION`].
    pub version: u32,
    /// One entry per seed.
    pub seeds: Vec<SeedDiagnosis>,
}

/// The results under one seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeedDiagnosis {
    /// The seed.
    pub seed: u64,
    /// The results.
    #[serde(flatten)]
    pub found: Diagnosis,
}

impl DiagnosticsFile {
    /// The version of the format that this program writes, and the newest it reads.
    pub const VERSION: u32 = 1;

    /// The file for some seeds.
    pub fn new(seeds: Vec<SeedDiagnosis>) -> Self {
        Self { version: Self::VERSION, seeds }
    }

    /// The file's text, ending in a newline.
    pub fn to_json(&self) -> String {
        // Only maps with keys that are not strings and failing `Serialize` impls make this fail;
        // there are none here.
        let mut json = serde_json::to_string(self).expect("diagnostics are representable as JSON");
        json.push('\n');
        json
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, is not of this format, or has a newer version.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file: Self = crate::version::read(path, Self::VERSION)?;
        match file.inconsistency() {
            Some(reason) => Err(Error::malformed(path, reason)),
            None => Ok(file),
        }
    }

    /// The diagnostics that observed every seed.
    pub fn recorded(&self) -> Vec<DiagnosticKind> {
        if self.seeds.is_empty() {
            return Vec::new();
        }
        DiagnosticKind::ALL
            .into_iter()
            .filter(|kind| self.seeds.iter().all(|seed| observed(&seed.found, *kind)))
            .collect()
    }

    /// The results of these diagnostics alone.
    #[must_use]
    pub fn only(&self, wanted: &[DiagnosticKind]) -> Self {
        let seeds = self
            .seeds
            .iter()
            .map(|seed| SeedDiagnosis { seed: seed.seed, found: seed.found.only(wanted) });
        Self { version: self.version, seeds: seeds.collect() }
    }

    /// The first inconsistency on which a reader would rely.
    fn inconsistency(&self) -> Option<String> {
        for SeedDiagnosis { seed, found } in &self.seeds {
            let Some(trust) = &found.trust else { continue };
            let expected = trust.layers.len();
            for round in &trust.rounds {
                for client in &round.clients {
                    let found = client.layer_weights.len();
                    if found != expected {
                        return Some(format!(
                            "seed {seed}, trust, round {}, client {}: expected {expected} \
                             weights, one per layer, found {found}",
                            round.round, client.client
                        ));
                    }
                }
            }
        }
        None
    }
}

/// Whether a diagnostic observed a run: then it has a cost.
fn observed(diagnosis: &Diagnosis, kind: DiagnosticKind) -> bool {
    diagnosis.cost.iter().any(|cost| cost.name == kind.name())
}
