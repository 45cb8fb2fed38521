//! Npz files whose arrays are pickled scipy matrices, as one public collection of graphs ships them.
//!
//! `adj_matrix` is the n × n adjacency and `node_attr` the n × d features, each a
//! `scipy.sparse.csr_matrix` in an array of one Python object; `node_attr` may also be a dense
//! array. `node_label` is a class per node, as an array or as a pickled one. Pickles are parsed as
//! data and never executed. Edges are read as undirected and without the values of `adj_matrix`.

use std::path::Path;

use boostfgl_graph::{Error, Features, Graph, Result};

use super::npz::Npz;
use super::parts::{self, Csr};
use super::{Detection, Reader, npz_in};

/// The line of this format in the table.
pub(super) const READER: Reader = Reader {
    name: "scipy-npz",
    description: "one npz with pickled scipy matrices adj_matrix, node_attr, and node_label",
    needs: &["adj_matrix", "node_attr", "node_label"],
    optional: "",
    detection: Detection::Array("adj_matrix"),
    read,
};

/// Reads a graph from such a file, or from a folder that holds one.
///
/// # Errors
/// If the file cannot be read, a pickle is not one of plain data, or the parts do not fit together.
pub fn read(path: &Path) -> Result<Graph> {
    let mut npz = Npz::open(&npz_in(path)?)?;
    let classes = match npz.object("node_label")? {
        Some(pickle) => pickle.integers()?,
        None => npz.list("node_label")?,
    };
    let labels = parts::labels(npz.path(), &classes)?;
    let Some(adjacency) = npz.object("adj_matrix")? else {
        let (place, expected) = (", array adj_matrix", "a pickled scipy matrix");
        return Err(Error::malformed(npz.path(), place, expected, "an array of numbers"));
    };
    let edges = edges(&adjacency.csr()?, npz.path())?;
    let adjacency = parts::undirected(npz.path(), labels.len(), &edges)?;
    let features = features(&mut npz)?;
    Graph::new(parts::name_of(npz.path()), adjacency, features, labels)
        .map_err(|e| parts::in_file(npz.path(), e))
}

fn features(npz: &mut Npz) -> Result<Features> {
    let (rows, columns, values) = match npz.object("node_attr")? {
        Some(pickle) if pickle.is_csr() => return pickle.csr()?.features(npz.path()),
        Some(pickle) => {
            let matrix = pickle.matrix()?;
            (matrix.rows, matrix.columns, matrix.values)
        }
        None => npz.matrix("node_attr")?,
    };
    parts::compact(npz.path(), rows, columns, values)
}

/// The places of a square matrix that hold a value.
fn edges(adjacency: &Csr, path: &Path) -> Result<Vec<(u32, u32)>> {
    if adjacency.rows != adjacency.columns {
        let found = format!("{} x {}", adjacency.rows, adjacency.columns);
        return Err(Error::malformed(path, ", array adj_matrix", "a square matrix", found));
    }
    let rows = (0..adjacency.rows).map(|v| (v as u32, adjacency.row(v)));
    Ok(rows.flat_map(|(v, row)| row.iter().map(move |&u| (v, u))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readers::testing::{Folder, survives_damage};
    use crate::readers::{Format, detect};
    use serde_json::Value;

    fn fixture() -> Value {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/scipy_npz.json");
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    /// The bytes of one of the files of the fixture.
    fn file(name: &str) -> Vec<u8> {
        let fixture = fixture();
        let hex = fixture["files"][name].as_str().unwrap().as_bytes();
        let digit = |byte: u8| (byte as char).to_digit(16).unwrap() as u8;
        hex.chunks_exact(2).map(|pair| 16 * digit(pair[0]) + digit(pair[1])).collect()
    }

    fn written(name: &str) -> (Folder, std::path::PathBuf) {
        let folder = Folder::new();
        folder.write("g.npz", &file(name));
        let path = folder.path("g.npz");
        (folder, path)
    }

    #[test]
    fn files_of_old_and_new_versions_hold_the_graph_that_was_saved() {
        let fixture = fixture();
        for name in ["savez", "protocol 3", "dense features"] {
            let (_keep, path) = written(name);
            assert_eq!(detect(&path).unwrap(), Format::ScipyNpz);
            let graph = read(&path).unwrap();
            let mut edges = Vec::new();
            for v in 0..graph.len() as u32 {
                let later = graph.adjacency().neighbours(v as usize).iter().filter(|u| **u > v);
                edges.extend(later.map(|&u| serde_json::json!([v, u])));
            }
            assert_eq!(Value::from(edges), fixture["edges"], "{name}");
            let labels: Vec<Option<u32>> = graph.labels().iter().collect();
            assert_eq!(serde_json::json!(labels), fixture["labels"], "{name}");
            for (v, row) in fixture["features"].as_array().unwrap().iter().enumerate() {
                for (column, value) in row.as_array().unwrap().iter().enumerate() {
                    let found = f64::from(graph.features().get(v, column));
                    assert_eq!(Some(found), value.as_f64(), "{name}: {v}, {column}");
                }
            }
        }
    }

    #[test]
    fn code_and_other_objects_are_refused() {
        let reason = |name: &str| read(&written(name).1).unwrap_err().to_string();
        let message = reason("code");
        assert!(message.contains("array node_attr, byte "), "{message}");
        assert!(message.contains("`builtins.print`, which is not on the list"), "{message}");
        let message = reason("no matrix");
        assert!(message.contains("array adj_matrix: expected a CSR matrix, found a dictionary"));
    }

    #[test]
    fn damage_never_panics() {
        let (_keep, path) = written("protocol 3");
        survives_damage(&path, |path| read(path).is_ok());
    }
}
