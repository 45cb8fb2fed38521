//! `diagnostics.json`: what diagnostics found in a run.

use crate::{Error, Result};
use boostfgl_fairness::diagnostics::{Diagnosis, DiagnosticKind};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What was found, seed by seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiagnosticsFile {
    /// The version of this format: [`DiagnosticsFile::VERSION`].
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

impl DiagnosticsFile {
    /// The version of the format that this program writes, and the newest it reads.
    pub const VERSION: u32 = 1;

    /// The findings of some seeds.
    pub fn new(seeds: Vec<SeedDiagnosis>) -> Self {
        Self { version: Self::VERSION, seeds }
    }

    /// The file's text, ending in a newline.
    pub fn to_json(&self) -> String {
        // Only maps with keys that are not strings and failing `Serialize` impls make this fail;
        // there are none here.
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
        let found: Self = crate::version::read(path, Self::VERSION)?;
        match found.misfit() {
            Some(reason) => Err(Error::malformed(path, reason)),
            None => Ok(found),
        }
    }

    /// The diagnostics that watched every seed.
    pub fn recorded(&self) -> Vec<DiagnosticKind> {
        let watched = |found: &Diagnosis, which: DiagnosticKind| {
            found.cost.iter().any(|cost| cost.name == which.name())
        };
        let everywhere =
            |which: &DiagnosticKind| self.seeds.iter().all(|seed| watched(&seed.found, *which));
        DiagnosticKind::ALL
            .into_iter()
            .filter(everywhere)
            .filter(|_| !self.seeds.is_empty())
            .collect()
    }

    /// The findings of these diagnostics alone.
    #[must_use]
    pub fn only(&self, wanted: &[DiagnosticKind]) -> Self {
        let seeds = self
            .seeds
            .iter()
            .map(|seed| SeedDiagnosis { seed: seed.seed, found: seed.found.only(wanted) });
        Self { version: self.version, seeds: seeds.collect() }
    }

    /// What does not fit together, where a reader would rely on it.
    fn misfit(&self) -> Option<String> {
        self.seeds.iter().find_map(|SeedDiagnosis { seed, found }| {
            let trust = found.trust.as_ref()?;
            let expected = trust.layers.len();
            let clients = trust
                .rounds
                .iter()
                .flat_map(|round| round.clients.iter().map(move |client| (round, client)));
            let mut wrong = clients.filter(|(_, client)| client.layer_weights.len() != expected);
            let (round, client) = wrong.next()?;
            let place =
                format!("seed {seed}, trust, round {}, client {}", round.round, client.client);
            Some(format!(
                "{place}: expected {expected} weights, one per layer, found {}",
                client.layer_weights.len()
            ))
        })
    }
}
