//! The seeds of the mutations: small files written by the project's own writers, in `fuzz/corpus`.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{Cursor, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use boostfgl::Experiment;
use boostfgl::datasets::readers::{Format, flat_npz, read};
use boostfgl::disk::Checksums;
use boostfgl::fairness::diagnostics::DiagnosticKind;
use boostfgl::fed::Message;
use boostfgl::grid::{CellRecord, CellStore};
use boostfgl::nn::{Matrix, Params, StateVisitor, Stateful, safetensors_io};
use boostfgl::report::{
    Cell, CellCost, Comparison, Contender, Measured, Origin, Outcome, ResultRow, Results, RunFolder,
};

use zip::{ZipArchive, ZipWriter, write::SimpleFileOptions};

use crate::SCISSORS;
use crate::bodies::checkpoint;
use crate::bodies::files::{RUN, shapes};
use crate::bodies::frames;
use crate::bodies::graphs::DEFLATED;
use crate::bodies::state::{states, uploads};
use crate::pickles;

/// The folder of all seeds.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

/// The seeds of a target, in the order of their names.
///
/// # Errors
/// If they cannot be read.
pub fn committed(target: &str) -> Result<Vec<Vec<u8>>> {
    let folder = folder().join(target);
    let entries =
        fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort_unstable();
    paths
        .iter()
        .map(|path| fs::read(path).with_context(|| format!("cannot read {}", path.display())))
        .collect()
}

/// Writes all seeds but `planetoid/plain`, of a format that this project does not write: it stays
/// as it is.
///
/// # Errors
/// If a writer fails or the folder cannot be written.
pub fn write() -> Result<()> {
    let place = tempfile::tempdir()?;
    keep("csv", "plain", &joined([NODES.as_bytes(), EDGES.as_bytes()]))?;
    let prepared = [NODES, EDGES, PREPARED].map(str::as_bytes);
    keep("csv", "prepared", &joined(prepared))?;
    keep("intake", "plain", &joined(EXPORT.map(str::as_bytes)))?;
    keep("intake", "columns", &joined([EXPORT[0], EXPORT[1], SAID].map(str::as_bytes)))?;
    keep("geom-gcn", "plain", &joined(GEOM_GCN.map(str::as_bytes)))?;
    keep("ogb", "plain", &joined(OGB.map(str::as_bytes)))?;
    keep("planetoid", "protocol-0", &pickles::protocol_0())?;
    keep("planetoid", "wide", &pickles::wide())?;
    graphs(place.path())?;
    run(place.path())?;
    let params = Params::<f32>::glorot(&shapes(), 1);
    let about = HashMap::from([("backbone".to_owned(), "gcn".to_owned())]);
    keep(
        "safetensors",
        "plain",
        &safetensors_io::to_bytes(&[("seed0".to_owned(), &params)], about)?,
    )?;
    keep(
        "partition",
        "plain",
        b"seed,node,client,split\n0,0,0,train\n0,1,1,val\n0,2,0,test\n0,3,1,none\n",
    )?;
    keep("partition", "bare", b"node,client\n3,0\n2,1\n1,0\n0,1\n")?;
    for (name, state) in states() {
        keep("state", name, &state)?;
    }
    for (name, upload) in uploads() {
        keep("upload", name, &upload)?;
    }
    keep("checkpoint", "plain", &checkpoint::contents()?)?;
    comparisons()?;
    let mut message = Message {
        tensors: vec![Matrix::from_rows(1, 2, &[0.5f32, -1.0])],
        ..Message::numbers(vec![2.0])
    };
    message.entries.push((3, 0.25));
    let mut bytes = Vec::new();
    message.visit(&mut StateVisitor::saving(&mut bytes))?;
    keep("message", "plain", &bytes)?;
    for (target, frame) in frames::seeds() {
        keep(target, "plain", &frame)?;
    }
    cell(place.path())?;
    fs::write(place.path().join("a"), "content")?;
    Checksums::of(place.path(), ["a"])?.write()?;
    let sums = fs::read(place.path().join(Checksums::FILE))?;
    keep("checksums", "plain", &joined([&sums[..], b"content"]))
}

const NODES: &str = "id,label,a,b,group:g\np1,x,0.5,1,u\np2,y,-1,2e-3,v\np3,,0,0,u\n";
const EDGES: &str = "src,dst,weight\np1,p2,1\np2,p3,0.5\n";
const PREPARED: &str = "[nodes.a]\nkind = \"number\"\nmissing = \"indicator\"\n\
    [nodes.b]\nkind = \"category\"\nlevels = [\"1\"]\nrest = \"other\"\n";
const EXPORT: [&str; 2] = [
    "id;label;size;since;town;on;group:g\np1;x;1,5;31.1.2024;Ulm;yes;u\np2;y;-;1.2.2024;;no;v\n\
     p3;x;1.000,5;;Bern;;u\n",
    "from;to;weight\np1;p2;1,5\np2;p3;2\n",
];
const SAID: &str = "[nodes.town]\nkind = \"hashed\"\nbuckets = 3\n\
    [nodes.since]\nformat = \"day.month.year\"\n[edges.weight]\nrole = \"drop\"\n";
const GEOM_GCN: [&str; 2] = [
    "node_id\tnode_id\n0\t1\n1\t0\n2\t2\n",
    "node_id\tfeature\tlabel\n2\t0,0,0\t1\n0\t1,0,0\t0\n1\t0,0,1\t1\n",
];
const OGB: [&str; 8] =
    ["3\n", "3\n", "0,1\n1,0\n2,1\n", "0\n1\n1\n", "0.5,1\n-1,2e-3\n0,0\n", "0\n", "2\n", "1\n"];

fn joined<const N: usize>(pieces: [&[u8]; N]) -> Vec<u8> {
    pieces.join(SCISSORS)
}

fn keep(target: &str, name: &str, bytes: &[u8]) -> Result<()> {
    let folder = folder().join(target);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(name), bytes)
        .with_context(|| format!("cannot write {}", folder.display()))
}

/// An archive as it is written, and its arrays one by one.
fn graphs(place: &Path) -> Result<()> {
    let folder = place.join("tables");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("nodes.csv"), NODES)?;
    fs::write(folder.join("edges.csv"), EDGES)?;
    let path = place.join("g.npz");
    flat_npz::write(&read(&folder, Some(Format::Csv))?, &path)?;
    keep("npz", "archive", &fs::read(&path)?)?;
    let mut archive = ZipArchive::new(fs::File::open(&path)?)?;
    let names: Vec<String> =
        archive.file_names().map(|name| Ok(name?.into_owned())).collect::<Result<_>>()?;
    let mut arrays = Vec::new();
    for name in names {
        let mut array = format!("{name}\n").into_bytes();
        std::io::Read::read_to_end(&mut archive.by_name(&name)?, &mut array)?;
        arrays.push(array);
    }
    arrays.sort_unstable();
    keep("npz", "flat", &arrays.join(SCISSORS))?;
    keep("npz", "deflated", &[DEFLATED, &arrays.join(SCISSORS)].join(SCISSORS))?;
    keep("npz", "bomb", &bomb()?)?;
    keep("npz", "heterophilous", &other(&HETEROPHILOUS))?;
    keep("npz", "gnn-benchmark", &other(&GNN_BENCHMARK))
}

/// Five million labels in five kilobytes.
fn bomb() -> Result<Vec<u8>> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("edge_index.npy", SimpleFileOptions::default())?;
    zip.start_file("y.npy", SimpleFileOptions::default())?;
    let count = 5 << 20;
    zip.write_all(&npy("|u1", &format!("({count},)"), &vec![0; count]))?;
    Ok(zip.finish()?.into_inner())
}

fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

/// Name, type, shape and values of an array.
type Array = (&'static str, &'static str, &'static str, &'static [u8]);

const HETEROPHILOUS: [Array; 6] = [
    ("node_features", "<f4", "(2, 1)", &[0, 0, 128, 63, 0, 0, 0, 0]),
    ("node_labels", "<i4", "(2,)", &[1, 0, 0, 0, 0, 0, 0, 0]),
    ("edges", "<i4", "(1, 2)", &[0, 0, 0, 0, 1, 0, 0, 0]),
    ("train_masks", "|b1", "(1, 2)", &[1, 0]),
    ("val_masks", "|b1", "(1, 2)", &[0, 0]),
    ("test_masks", "|b1", "(1, 2)", &[0, 1]),
];

const GNN_BENCHMARK: [Array; 9] = [
    ("adj_data", "<f4", "(1,)", &[0, 0, 128, 63]),
    ("adj_indices", "<i4", "(1,)", &[1, 0, 0, 0]),
    ("adj_indptr", "<i4", "(3,)", &[0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]),
    ("adj_shape", "<i4", "(2,)", &[2, 0, 0, 0, 2, 0, 0, 0]),
    ("attr_data", "<f4", "(1,)", &[0, 0, 128, 63]),
    ("attr_indices", "<i4", "(1,)", &[0, 0, 0, 0]),
    ("attr_indptr", "<i4", "(3,)", &[0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]),
    ("attr_shape", "<i4", "(2,)", &[2, 0, 0, 0, 1, 0, 0, 0]),
    ("labels", "<i4", "(2,)", &[0, 0, 0, 0, 1, 0, 0, 0]),
];

fn other(arrays: &[Array]) -> Vec<u8> {
    let pieces: Vec<Vec<u8>> = arrays
        .iter()
        .map(|(name, descr, shape, data)| {
            let mut bytes = format!("{name}.npy\n").into_bytes();
            bytes.extend(npy(descr, shape, data));
            bytes
        })
        .collect();
    pieces.join(SCISSORS)
}

/// A real run, as small as one can be.
fn run(place: &Path) -> Result<()> {
    let tables = place.join("ring");
    fs::create_dir_all(&tables)?;
    let nodes: String = (0..24).map(|v| format!("{v},{},{}\n", v / 12, v % 3)).collect();
    let edges: String = (0..24).map(|v| format!("{v},{}\n", (v + 1) % 24)).collect();
    fs::write(tables.join("nodes.csv"), format!("id,label,a\n{nodes}"))?;
    fs::write(tables.join("edges.csv"), format!("src,dst\n{edges}"))?;
    let experiment =
        Experiment::on(&tables.display().to_string()).method("boostfgl").clients(2).seeds([0]);
    let experiment = experiment
        .set("fed.rounds", 1)
        .set("model.hidden", 2)
        .build()?
        .with_diagnostics(DiagnosticKind::ALL.to_vec());
    let folder = RunFolder::create(place.join("run"), true)?;
    experiment.run_watched(&mut (), Some(&folder))?;
    let mut pieces = Vec::new();
    for name in RUN {
        let bytes = fs::read(folder.file(name)).unwrap_or_default();
        // Seeds must not contain a path of the machine that wrote them.
        let text = String::from_utf8_lossy(&bytes).replace(&tables.display().to_string(), "demo");
        pieces.push(text.into_bytes());
    }
    keep("run-folder", "plain", &pieces.join(SCISSORS))?;
    keep("config", "plain", &pieces[1])?;
    keep("config", "short", b"fed.rounds=3\nmethod = \"moon\"\n[fed]\nepochs = 2\n")?;
    keep("rounds", "plain", &pieces[2])?;
    keep("predictions", "plain", &pieces[4])
}

fn measured() -> Measured {
    Measured {
        scores: boostfgl::fairness::Scores::default().percent(),
        groups: boostfgl::fairness::GroupSizes::default(),
        round: 3,
        details: Default::default(),
        digest: "abc".into(),
        cost: CellCost { seconds: 1.0 / 3.0, ..CellCost::default() },
    }
}

/// A comparison of two methods, one cell of which failed; results of one cell, with a checksum and
/// as of old without.
fn comparisons() -> Result<()> {
    let failed = Outcome::Failed { message: "no".to_owned() };
    let rows = vec![
        vec![finished_cell(0), finished_cell(1)],
        vec![finished_cell(0), Cell { seed: 1, outcome: failed, peak_bytes: 0 }],
    ];
    let methods = vec![contender("fedavg"), contender("moon")];
    let comparison = Comparison::new(0, methods, vec![0, 1], vec![("demo".to_owned(), rows)]);
    keep("comparison", "plain", comparison.to_json().as_bytes())?;
    let row = ResultRow {
        dataset: "demo".to_owned(),
        method: "fedavg".to_owned(),
        values: vec![Some(81.25), None],
        series: BTreeMap::from([("gsd".to_owned(), vec![Some(1.5), None])]),
        ..ResultRow::default()
    };
    let results = Results {
        version: Results::VERSION,
        name: "gsd".to_owned(),
        origin: Origin::default(),
        left_out: Vec::new(),
        columns: vec!["accuracy".to_owned(), "gsd.last".to_owned()],
        rows: vec![row],
    };
    keep("results", "plain", results.to_json().as_bytes())?;
    let version = format!("\"version\": {},", Results::VERSION);
    keep("results", "old", results.to_json().replace(&version, "\"version\": 1,").as_bytes())
}

/// A method without boosts.
fn contender(name: &str) -> Contender {
    Contender {
        label: name.to_owned(),
        method: name.to_owned(),
        boost: Vec::new(),
        evaluated: "global".to_owned(),
        settings: Default::default(),
    }
}

/// A cell that was run.
fn finished_cell(seed: u64) -> Cell {
    Cell { seed, outcome: Outcome::Done(Box::new(measured())), peak_bytes: 0 }
}

fn cell(place: &Path) -> Result<()> {
    let measured = measured();
    let record = CellRecord {
        dataset: "demo".into(),
        method: "fedavg".into(),
        seed: 4,
        measured,
        detail: None,
    };
    CellStore::open(place)?.keep("d", record)?;
    keep("cell", "plain", &fs::read(place.join(CellStore::FOLDER).join("d.json"))?)
}
