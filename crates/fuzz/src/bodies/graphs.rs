//! Readers of graphs.

use std::io::{Cursor, Write as _};
use std::path::Path;

use boostfgl::datasets::columns::Columns;
use boostfgl::datasets::intake::{Request, plan};
use boostfgl::datasets::readers::{Format, read};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use super::{message, pieces, place, spread, unchanged};

pub(crate) const PLANETOID: [&str; 8] = [
    "ind.t.x",
    "ind.t.y",
    "ind.t.tx",
    "ind.t.ty",
    "ind.t.allx",
    "ind.t.ally",
    "ind.t.graph",
    "ind.t.test.index",
];

pub(crate) fn planetoid(input: &[u8]) -> String {
    graph(&spread("planetoid", &PLANETOID, input, unchanged), Format::Planetoid)
}

pub(crate) fn csv(input: &[u8]) -> String {
    let names = ["nodes.csv", "edges.csv", Columns::FILE];
    graph(&spread("csv", &names, input, unchanged), Format::Csv)
}

/// Exported tables, and what is said about their columns. What is imported must be readable.
pub(crate) fn intake(input: &[u8]) -> String {
    let names = ["nodes.txt", "edges.txt", Columns::FILE];
    let folder = spread("intake", &names, input, unchanged);
    let request = Columns::find(&folder).map(|columns| Request {
        nodes: vec![folder.join(names[0])],
        edges: vec![folder.join(names[1])],
        columns: columns.unwrap_or_default(),
        ..Request::default()
    });
    let planned = request.and_then(|request| plan(&request));
    let target = place("intake-result").join("bank");
    let written = planned.and_then(|plan| plan.write(&target, true));
    if written.is_ok()
        && let Err(error) = read(&target, Some(Format::Csv))
    {
        panic!("an import that is not readable: {error}");
    }
    message(written)
}

pub(crate) fn geom_gcn(input: &[u8]) -> String {
    let names = ["out1_graph_edges.txt", "out1_node_feature_label.txt"];
    graph(&spread("geom-gcn", &names, input, unchanged), Format::GeomGcn)
}

/// Tables, compressed here unless they are already: the checksum of a compressed file would hide
/// every mutation from the reader.
pub(crate) fn ogb(input: &[u8]) -> String {
    let names = [
        "num-node-list.csv.gz",
        "num-edge-list.csv.gz",
        "edge.csv.gz",
        "node-label.csv.gz",
        "node-feat.csv.gz",
        "train.csv.gz",
        "valid.csv.gz",
        "test.csv.gz",
    ];
    graph(&spread("ogb", &names, input, packed), Format::Ogb)
}

fn packed(piece: &[u8]) -> Vec<u8> {
    if piece.starts_with(&[0x1f, 0x8b]) {
        return piece.to_vec();
    }
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(piece).expect("writing to memory succeeds");
    encoder.finish().expect("writing to memory succeeds")
}

/// A whole archive, or arrays to be put into one: each piece is a name, an end of line and the
/// array. If the first piece is [`DEFLATED`], they are compressed here, so that the checksum is
/// right and the reader parses the mutated array.
pub(crate) fn npz(input: &[u8]) -> String {
    let path = place("npz").join("g.npz");
    let bytes = if input.starts_with(b"PK") { input.to_vec() } else { archive(input) };
    std::fs::write(&path, bytes).expect("the folder for the input can be written");
    message(read(&path, None))
}

/// The first piece of an input whose arrays are to be compressed.
pub(crate) const DEFLATED: &[u8] = b"deflated";

fn archive(input: &[u8]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let mut pieces = pieces(input).into_iter().peekable();
    let packed = pieces.next_if(|piece| *piece == DEFLATED).is_some();
    let method = if packed { CompressionMethod::Deflated } else { CompressionMethod::Stored };
    for piece in pieces {
        let end = piece.iter().position(|byte| *byte == b'\n').unwrap_or(piece.len());
        let name = String::from_utf8_lossy(&piece[..end]).into_owned();
        let options = SimpleFileOptions::default().compression_method(method);
        if name.len() < 60_000 && zip.start_file(name, options).is_ok() {
            zip.write_all(piece.get(end + 1..).unwrap_or_default())
                .expect("writing to memory succeeds");
        }
    }
    zip.finish().map(Cursor::into_inner).unwrap_or_default()
}

fn graph(folder: &Path, format: Format) -> String {
    message(read(folder, Some(format)))
}
