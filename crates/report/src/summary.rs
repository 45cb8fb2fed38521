//! `summary.json`: the outcome of a run, for people and other programs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use boostfgl_fairness::{GroupSizes, Percent, Scores, Warning, aggregate, warnings};
use serde::{Deserialize, Serialize};

use crate::notes::{self, NotedRun};
use crate::{Error, Fingerprint, Result, SeedDetails};

/// The outcome of one run: a method on a dataset, over one or more seeds.
///
/// Metrics are in percent; `null` stands for a group without nodes, and for the spread of a single
/// seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The version of this format: [`Summary::VERSION`].
    pub version: u32,
    /// The version of the program that wrote it.
    pub program: String,
    /// The federated method.
    pub method: String,
    /// The boosts stacked on it.
    pub boost: Vec<String>,
    /// The name given by the user; left out without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The settings that were changed, such as `edge_score=reliability`; left out without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// The dataset.
    pub dataset: String,
    /// One entry per seed.
    pub seeds: Vec<SeedSummary>,
    /// The mean over seeds.
    pub mean: Percent<Scores>,
    /// The sample standard deviation over seeds.
    pub std: Percent<Scores>,
    /// CPU time of all seeds together.
    pub cpu_seconds: f64,
    /// The part of it in rounds: training, aggregation and evaluation, without partitioning the
    /// graph or writing files.
    pub train_cpu_seconds: f64,
    /// Wall-clock time from start to end.
    pub wall_seconds: f64,
    /// The peak resident memory of the program.
    pub peak_rss_mib: f64,
    /// Traffic of all seeds together.
    pub bytes: Bytes,
    /// The number of refused updates by reason, in all seeds; left out without any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<String, u64>,
    /// Warnings of all seeds, such as a collapsed model; left out without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// BLAKE3 of the parameters and predictions of all seeds; left out where predictions stay with
    /// the clients, whose seeds have a `federation_digest`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// The fingerprint of its data; runs of earlier versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Fingerprint>,
}

/// The outcome under one seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeedSummary {
    /// The seed.
    pub seed: u64,
    /// The headline metrics in their three readings.
    #[serde(flatten)]
    pub scores: Percent<Scores>,
    /// The number of test nodes of each group.
    pub groups: GroupSizes,
    /// The round whose model is reported, counted from 1.
    pub round: usize,
    /// Both rounds that papers report, budget, split and warnings.
    #[serde(flatten)]
    pub details: SeedDetails,
    /// Wall-clock time.
    pub seconds: f64,
    /// CPU time.
    pub cpu_seconds: f64,
    /// Bytes that the method sent from the clients.
    pub bytes_up: u64,
    /// Bytes that the method sent to the clients.
    pub bytes_down: u64,
    /// Bytes of all frames from the clients: headers, shapes, facts and evaluations included.
    #[serde(default)]
    pub framed_up: u64,
    /// Bytes of all frames to the clients.
    #[serde(default)]
    pub framed_down: u64,
    /// The number of refused updates by reason; left out without any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<String, u64>,
    /// BLAKE3 of the final parameters and predictions; left out where predictions stay with the
    /// clients.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// BLAKE3 of the server's models and of what each client has, the same wherever the clients
    /// are; empty in runs of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub federation_digest: String,
}

impl SeedSummary {
    /// What identifies the result: the digest of a simulation, or that of the federation where no
    /// side has all predictions.
    pub fn identity(&self) -> &str {
        if self.digest.is_empty() { &self.federation_digest } else { &self.digest }
    }
}

/// Traffic between clients and server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bytes {
    /// Sent by the method from the clients.
    pub up: u64,
    /// Sent by the method to the clients.
    pub down: u64,
    /// All frames from the clients.
    #[serde(default)]
    pub framed_up: u64,
    /// All frames to the clients.
    #[serde(default)]
    pub framed_down: u64,
}

/// The measurements of a run as a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct RunTotals {
    /// CPU time of all seeds together.
    pub cpu_seconds: f64,
    /// The part of it in rounds: training, aggregation and evaluation, without partitioning the
    /// graph or writing files.
    pub train_cpu_seconds: f64,
    /// Wall-clock time from start to end.
    pub wall_seconds: f64,
    /// The peak resident memory of the program.
    pub peak_rss_mib: f64,
    /// BLAKE3 of the parameters and predictions of all seeds.
    pub digest: String,
}

impl Summary {
    /// The version of the format that this program writes, and the newest it reads.
    pub const VERSION: u32 = 1;

    /// A summary of these seeds; mean, standard deviation and traffic are computed from them.
    pub fn new(
        method: impl Into<String>,
        boost: Vec<String>,
        dataset: impl Into<String>,
        seeds: Vec<SeedSummary>,
        totals: RunTotals,
    ) -> Self {
        let scores: Vec<Scores> = seeds.iter().map(|seed| seed.scores.0).collect();
        // Both statistics are linear in the unit: percent may be applied before or after.
        let over_seeds = aggregate(&scores);
        let mut refused = BTreeMap::new();
        for (reason, count) in seeds.iter().flat_map(|seed| &seed.refused) {
            *refused.entry(reason.clone()).or_insert(0) += count;
        }
        Self {
            version: Self::VERSION,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            method: method.into(),
            boost,
            name: None,
            changed: Vec::new(),
            dataset: dataset.into(),
            mean: Percent(over_seeds.mean),
            std: Percent(over_seeds.std),
            bytes: Bytes {
                up: seeds.iter().map(|seed| seed.bytes_up).sum(),
                down: seeds.iter().map(|seed| seed.bytes_down).sum(),
                framed_up: seeds.iter().map(|seed| seed.framed_up).sum(),
                framed_down: seeds.iter().map(|seed| seed.framed_down).sum(),
            },
            refused,
            warnings: warnings::merge(
                seeds.iter().flat_map(|seed| seed.details.warnings.iter().cloned()),
            ),
            seeds,
            cpu_seconds: totals.cpu_seconds,
            train_cpu_seconds: totals.train_cpu_seconds,
            wall_seconds: totals.wall_seconds,
            peak_rss_mib: totals.peak_rss_mib,
            digest: totals.digest,
            data: None,
        }
    }

    /// Sets the fingerprint of the data.
    #[must_use]
    pub fn with_data(self, data: Fingerprint) -> Self {
        Self { data: Some(data), ..self }
    }

    /// Minority classes, split and reported round, each with its name.
    pub fn about(&self) -> Vec<(&'static str, String)> {
        let seeds = self.seeds.iter().map(|seed| (seed.round, &seed.details)).collect();
        let label = self.label();
        let about = notes::about(&[NotedRun { label: &label, seeds }]);
        about.into_iter().map(|(name, parts)| (name, parts.join(", "))).collect()
    }

    /// The file's text, ending in a newline.
    pub fn to_json(&self) -> String {
        // Only maps with keys that are not strings and failing `Serialize` impls make this fail;
        // there are none here.
        let mut json =
            serde_json::to_string_pretty(self).expect("a summary is representable as JSON");
        json.push('\n');
        json
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, is not a summary, or has a newer version.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = fs::read(path).map_err(|source| Error::io(path, source))?;
        Self::from_json(&text, path)
    }

    /// Reads the text of a file; `path` is for messages.
    ///
    /// # Errors
    /// If it is not a summary, or has a newer version.
    pub fn from_json(text: &[u8], path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        crate::version::check(text, Self::VERSION, path)?;
        serde_json::from_slice(text).map_err(|error| Error::malformed(path, error.to_string()))
    }

    /// The method with its boosts, as in tables: `fedavg`, `fedgta + all`, `fedavg +
    /// node,model`.
    pub fn label(&self) -> String {
        crate::name::label(&self.method, &self.boost)
    }
}
