//! The npz of shchur/gnn-benchmark: Coauthor CS and Physics, Amazon Computers and Photo.
//!
//! Two CSR matrices and a list: `adj_shape`, `adj_indptr`, `adj_indices`, `adj_data` hold the n × n
//! adjacency, `attr_*` the n × d features, `labels` one class per node. There is no split. Edges
//! are read as undirected and without the weights in `adj_data`, as the benchmark itself does;
//! features stay as published (counts of words).

use std::path::Path;

use boostfgl_graph::{Error, Graph, Result};

use super::npz::Npz;
use super::parts::{self, Csr};
use super::{Detection, Reader, npz_in};

/// The line of this format in the table.
pub(super) const READER: Reader = Reader {
    name: "gnn-benchmark",
    description: "one npz with adj_indptr…, attr_indptr…, labels",
    needs: &[
        "labels",
        "adj_indptr",
        "adj_indices",
        "adj_data",
        "adj_shape",
        "attr_indptr",
        "attr_indices",
        "attr_data",
        "attr_shape",
    ],
    optional: "",
    detection: Detection::Array("adj_indptr"),
    read,
};

/// Reads a graph from such a file, or from a folder that holds one.
///
/// # Errors
/// If the file cannot be read or its arrays do not fit together.
pub fn read(path: &Path) -> Result<Graph> {
    let mut npz = Npz::open(&npz_in(path)?)?;
    let classes: Vec<i64> = npz.list("labels")?;
    let labels = parts::labels(npz.path(), &classes)?;
    let edges = edges(&npz.csr("adj")?, npz.path())?;
    let features = npz.csr("attr")?.features(npz.path())?;
    let adjacency = parts::undirected(npz.path(), labels.len(), &edges)?;
    Graph::new(parts::name_of(npz.path()), adjacency, features, labels)
        .map_err(|e| parts::in_file(npz.path(), e))
}

fn edges(adjacency: &Csr, path: &Path) -> Result<Vec<(u32, u32)>> {
    if adjacency.rows != adjacency.columns {
        let found = format!("{} x {}", adjacency.rows, adjacency.columns);
        return Err(Error::malformed(path, ", array adj_shape", "a square matrix", found));
    }
    let mut edges = Vec::with_capacity(adjacency.indices.len());
    for v in 0..adjacency.rows {
        edges.extend(adjacency.row(v).iter().map(|&u| (v as u32, u)));
    }
    Ok(edges)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readers::npz_writer::NpzWriter;
    use crate::readers::testing::{Folder, survives_damage};

    fn folder(adj_shape: [i64; 2], labels: &[i64]) -> Folder {
        let folder = Folder::new();
        let mut npz = NpzWriter::create(&folder.path("tiny.npz")).unwrap();
        npz.array("adj_data", &[3], vec![1f32, 1.0, 2.0]).unwrap();
        npz.array("adj_indices", &[3], vec![1i32, 0, 2]).unwrap();
        npz.array("adj_indptr", &[4], vec![0i32, 1, 2, 3]).unwrap();
        npz.array("adj_shape", &[2], adj_shape).unwrap();
        npz.array("attr_data", &[1], vec![3f32]).unwrap();
        npz.array("attr_indices", &[1], vec![1i32]).unwrap();
        npz.array("attr_indptr", &[4], vec![0i32, 0, 0, 1]).unwrap();
        npz.array("attr_shape", &[2], vec![3i64, 2]).unwrap();
        npz.array("labels", &[labels.len() as u64], labels.to_vec()).unwrap();
        npz.finish().unwrap();
        folder
    }

    #[test]
    fn matrices_become_a_graph() {
        let folder = folder([3, 3], &[0, 2, 1]);
        let graph = read(&folder.path("")).unwrap();
        assert_eq!((graph.name(), graph.len(), graph.classes()), ("tiny", 3, 3));
        assert_eq!((graph.adjacency().edges(), graph.features().non_zeros()), (1, 1));
        assert!(graph.split().is_none());
        survives_damage(&folder.path("tiny.npz"), |path| read(path).is_ok());
    }

    #[test]
    fn parts_must_agree() {
        let reason =
            |shape, labels: &[i64]| read(&folder(shape, labels).path("")).unwrap_err().to_string();
        assert!(
            reason([3, 4], &[0, 0, 0])
                .contains("array adj_shape: expected a square matrix, found 3 x 4")
        );
        assert!(reason([4, 4], &[0, 0, 0]).contains("arrays adj_*: expected 4 rows"));
        assert!(reason([3, 3], &[0, 0]).contains("edge 2: expected node indices below 2"));
        assert!(reason([3, 3], &[0, 0, 0, 0]).contains("features of tiny: expected 4 rows"));
    }
}
