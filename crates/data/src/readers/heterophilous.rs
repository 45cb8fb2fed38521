//! The npz of yandex-research/heterophilous-graphs: Chameleon and Squirrel (plain, directed,
//! filtered), roman-empire, amazon-ratings, minesweeper, tolokers, questions.
//!
//! `node_features` (n × d), `node_labels` (n), `edges` (E × 2), and ten published splits in
//! `train_masks`, `val_masks` and `test_masks` (10 × n); a run of seed s takes number s mod 10.
//! Edges are read as undirected, also those of the `_directed` files. Features of which less than a
//! quarter is not zero are kept as sparse rows.

use std::path::Path;

use boostfgl_graph::{Graph, Result};

use super::npz::Npz;
use super::{Detection, Reader, flat_npz, npz_in, parts};

/// The line of this format in the table.
pub(super) const READER: Reader = Reader {
    name: "heterophilous",
    description: "one npz with node_features, node_labels, edges",
    needs: &["node_features", "node_labels", "edges"],
    optional: "a split: train_masks, val_masks, test_masks",
    detection: Detection::Array("node_features"),
    read,
};

/// Reads a graph from such a file, or from a folder that holds one.
///
/// # Errors
/// If the file cannot be read or its arrays do not fit together.
pub fn read(path: &Path) -> Result<Graph> {
    let mut npz = Npz::open(&npz_in(path)?)?;
    let classes: Vec<i64> = npz.list("node_labels")?;
    let labels = parts::labels(npz.path(), &classes)?;
    let (edges, ends, nodes) = npz.matrix::<u32>("edges")?;
    if ends != 2 {
        return Err(npz.wrong_shape("edges", "two columns, sources and targets", &[edges, ends]));
    }
    let pairs: Vec<(u32, u32)> = nodes.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    let adjacency = parts::undirected(npz.path(), labels.len(), &pairs)?;
    let (rows, columns, values) = npz.matrix("node_features")?;
    let features = parts::compact(npz.path(), rows, columns, values)?;
    let splits = flat_npz::masks(&mut npz, labels.len())?;
    let graph = Graph::new(parts::name_of(npz.path()), adjacency, features, labels)
        .map_err(|e| parts::in_file(npz.path(), e))?;
    graph.with_splits(splits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readers::npz_writer::NpzWriter;
    use crate::readers::testing::{Folder, survives_damage};
    use boostfgl_graph::{Features, Role};

    fn folder(edges: &[i64], edge_shape: [u64; 2], features: [f32; 6]) -> Folder {
        let folder = Folder::new();
        let mut npz = NpzWriter::create(&folder.path("tiny.npz")).unwrap();
        npz.array("node_features", &[2, 3], features).unwrap();
        npz.array("node_labels", &[2], vec![1i64, 0]).unwrap();
        npz.array("edges", &edge_shape, edges.to_vec()).unwrap();
        for (name, mask) in
            [("train_masks", [1u8, 0]), ("val_masks", [0, 0]), ("test_masks", [0, 1])]
        {
            npz.array(name, &[1, 2], mask).unwrap();
        }
        npz.finish().unwrap();
        folder
    }

    #[test]
    fn arrays_become_a_graph() {
        let folder = folder(&[0, 1, 1, 0], [2, 2], [0.0, 0.0, 0.0, 0.0, 0.0, 2.0]);
        let graph = read(&folder.path("tiny.npz")).unwrap();
        assert_eq!((graph.len(), graph.adjacency().edges(), graph.classes()), (2, 1, 2));
        assert!(matches!(graph.features(), Features::Sparse(_)));
        assert_eq!(graph.split().unwrap().roles(), [Role::Train, Role::Test]);
        survives_damage(&folder.path("tiny.npz"), |path| read(path).is_ok());
    }

    #[test]
    fn wrong_arrays_are_named() {
        let reason = |edges: &[i64], shape, features| {
            read(&folder(edges, shape, features).path("")).unwrap_err().to_string()
        };
        assert!(reason(&[0, 1, 1], [1, 3], [1.0; 6]).contains("array edges: expected two columns"));
        assert!(
            reason(&[0, 2], [1, 2], [1.0; 6]).contains("edge 0: expected node indices below 2")
        );
        assert!(
            reason(&[0, 1], [1, 2], [1.0, 1.0, 1.0, 1.0, f32::NAN, 1.0])
                .contains("feature 1 of node 1")
        );
    }
}
