//! Files of runs and comparisons.

use std::path::Path;
use std::sync::OnceLock;

use boostfgl::disk::Checksums;
use boostfgl::graph::{Adjacency, Features, Graph, Labels};
use boostfgl::grid::{CellStore, StoredCell};
use boostfgl::nn::{TensorShape, safetensors_io};
use boostfgl::report::page::Report;
use boostfgl::report::{Comparison, Depth, Predictions, Results, Rounds, RunFolder, RunView};

use super::{message, spread, unchanged};

/// Four nodes, the last without a label.
pub(crate) fn four() -> &'static Graph {
    static FOUR: OnceLock<Graph> = OnceLock::new();
    FOUR.get_or_init(|| {
        let (adjacency, _) =
            Adjacency::from_edges(4, &[(0, 1), (1, 2)], None, false).expect("edges of four nodes");
        let labels = Labels::from_integers(&[0, 1, 0, -1], 2).expect("labels of two classes");
        let features = Features::dense(4, 1, vec![0.5; 4]).expect("four rows");
        Graph::new("four", adjacency, features, labels).expect("the parts agree")
    })
}

pub(crate) fn partition(input: &[u8]) -> String {
    let folder = spread("partition", &["partition.csv"], input, unchanged);
    message(boostfgl::partition::file::read(&folder.join("partition.csv"), four(), 0))
}

pub(crate) fn shapes() -> [TensorShape; 2] {
    [TensorShape::weight("layer1.weight", 3, 2), TensorShape::bias("layer1.bias", 2)]
}

pub(crate) fn safetensors(input: &[u8]) -> String {
    message(safetensors_io::from_bytes::<f32>(
        Path::new("m.safetensors"),
        input,
        "seed0",
        &shapes(),
    ))
}

pub(crate) fn predictions(input: &[u8]) -> String {
    let folder = spread("predictions", &["p.csv"], input, unchanged);
    message(Predictions::read(folder.join("p.csv")))
}

pub(crate) fn rounds(input: &[u8]) -> String {
    let folder = spread("rounds", &["r.jsonl"], input, unchanged);
    match Rounds::read(folder.join("r.jsonl")) {
        Ok(rounds) if rounds.problems.is_empty() => "ok".to_owned(),
        Ok(rounds) => rounds.problems.join("; "),
        Err(error) => error.to_string(),
    }
}

pub(crate) const RUN: [&str; 6] = [
    RunFolder::SUMMARY,
    RunFolder::CONFIG,
    RunFolder::ROUNDS,
    RunFolder::PARTITION_STATS,
    RunFolder::PREDICTIONS,
    RunFolder::DIAGNOSTICS,
];

/// Reads a run folder and draws the report of everything that can be read.
pub(crate) fn run_folder(input: &[u8]) -> String {
    let folder = spread("run-folder", &RUN, input, unchanged);
    match RunView::read(&folder, Depth::Whole) {
        Ok(view) => {
            let problems = view.problems.join("; ");
            let page = Report::new(vec![view]).html();
            assert!(
                page.ends_with("</html>\n") || page.trim_end().ends_with("</html>"),
                "the page is whole"
            );
            if problems.is_empty() { "ok".to_owned() } else { problems }
        }
        Err(error) => error.to_string(),
    }
}

pub(crate) fn cell(input: &[u8]) -> String {
    let folder = super::place("cell");
    std::fs::create_dir_all(folder.join(CellStore::FOLDER))
        .expect("the folder for the input can be written");
    spread("cell/cells", &["d.json"], input, unchanged);
    match CellStore::at(&folder).find("d") {
        StoredCell::Cell(_) => "ok".to_owned(),
        StoredCell::Nothing => "nothing".to_owned(),
        StoredCell::Unusable(reason) => reason,
    }
}

/// A list of checksums, which may contain any file name.
pub(crate) fn checksums(input: &[u8]) -> String {
    let folder = spread("checksums", &[Checksums::FILE, "a"], input, unchanged);
    match Checksums::read(&folder) {
        Ok(Some(sums)) => {
            let names: Vec<&str> = sums.names().collect();
            names
                .iter()
                .map(|name| message(sums.check(name)))
                .find(|message| message != "ok")
                .unwrap_or_else(|| "ok".to_owned())
        }
        Ok(None) => "none".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// Reads a comparison and draws its tables.
pub(crate) fn comparison(input: &[u8]) -> String {
    let folder = spread("comparison", &["comparison.json"], input, unchanged);
    match Comparison::read(folder.join("comparison.json")) {
        Ok(comparison) => {
            let drawn = [
                comparison.csv(),
                comparison.summary_csv(),
                comparison.markdown(),
                comparison.to_json(),
            ];
            drop(drawn);
            "ok".to_owned()
        }
        Err(error) => error.to_string(),
    }
}

/// Results as they are, then with the right checksum.
pub(crate) fn results(input: &[u8]) -> String {
    let key = b"\"checksum\": \"";
    let message = read_results(input);
    match input.windows(key.len()).rposition(|window| window == key) {
        None => message,
        Some(at) => {
            let hash = blake3::hash(&input[..at]).to_hex();
            read_results(&[&input[..at], key, hash.as_bytes(), b"\"\n}\n"].concat())
        }
    }
}

/// Reads results and writes them as CSV.
fn read_results(bytes: &[u8]) -> String {
    let folder = spread("results", &["r.json"], bytes, unchanged);
    message(Results::read(&folder.join("r.json")).map(|results| results.csv()))
}
