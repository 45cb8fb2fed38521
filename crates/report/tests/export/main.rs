//! Exports, read back.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/compared.rs"]
mod compared;
mod comparisons;
mod folder;
mod names;
#[cfg(feature = "parquet")]
mod parquet;
mod python;
mod tables;
mod tensorboard;

use boostfgl_report::export::{Format, export};
use boostfgl_report::{RunView, Summary};
use common::run;
use folder::folder;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

const SCORES: [[Option<f64>; 4]; 2] =
    [[Some(0.8), Some(0.7), Some(0.5), None], [Some(0.81), Some(0.71), Some(0.52), None]];

/// Three runs: two methods on one dataset, one of them again on another.
fn views(place: &Path) -> Vec<RunView> {
    let better = SCORES.map(|row| row.map(|x| x.map(|x| x + 0.05)));
    let other = Summary { dataset: "wiki_cs".to_owned(), ..run("fedavg", &[], &SCORES) };
    vec![
        folder(place, "cora-fedavg", &run("fedavg", &[], &SCORES)),
        folder(place, "cora-boostfgl", &run("boostfgl", &["node", "topology", "model"], &better)),
        folder(place, "wiki", &other),
    ]
}

fn exported(views: &[RunView], formats: &str, to: &Path) -> Vec<String> {
    let written = export(views, &Format::parse(formats).unwrap(), to).unwrap();
    let name = |path: &std::path::PathBuf| {
        path.strip_prefix(to).unwrap().to_str().unwrap().replace('\\', "/")
    };
    written.iter().map(name).collect()
}

/// Rows as maps from column to text.
fn csv(path: impl AsRef<Path>) -> Vec<BTreeMap<String, String>> {
    ::csv::Reader::from_path(path).unwrap().deserialize().collect::<Result<_, _>>().unwrap()
}

fn json(path: impl AsRef<Path>) -> Vec<BTreeMap<String, Value>> {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}
