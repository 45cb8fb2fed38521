//! Writing the project's own npz, so that an import is read back exactly as it was.

use std::path::Path;

use boostfgl_graph::{
    Adjacency, Error, Features, Graph, GroupColumn, Labels, NodeIds, Result, Role, Split,
};

use super::{MASKS, preparation};
use crate::readers::npz_writer::NpzWriter;

/// Writes a graph so that [`read`](super::read) gives an equal one.
///
/// The write is atomic: a temporary file in the same folder is renamed at the end. The same graph
/// always gives the same bytes.
///
/// # Errors
/// If the file cannot be written, or the graph has no features, which the format cannot represent.
pub fn write(graph: &Graph, path: &Path) -> Result<()> {
    if graph.features().columns() == 0 {
        return Err(Error::inconsistent(graph.name(), "at least one feature", "none"));
    }
    let mut npz = NpzWriter::create(path)?;
    write_strings(&mut npz, "name", &[graph.name().to_owned()])?;
    write_edges(&mut npz, graph.adjacency())?;
    write_features(&mut npz, graph.features())?;
    write_labels(&mut npz, graph.labels())?;
    match graph.splits() {
        [] => {}
        [split] => write_split(&mut npz, split)?,
        several => write_masks(&mut npz, several)?,
    }
    if let NodeIds::Named(ids) = graph.ids() {
        write_strings(&mut npz, "node_ids", ids)?;
    }
    if !graph.feature_names().is_empty() {
        write_strings(&mut npz, "feature_names", graph.feature_names())?;
    }
    if let Some(preparation) = graph.preparation() {
        preparation::write(&mut npz, preparation)?;
    }
    if !graph.group_columns().is_empty() {
        write_group_columns(&mut npz, graph.group_columns())?;
    }
    npz.finish()
}

fn write_edges(npz: &mut NpzWriter, adjacency: &Adjacency) -> Result<()> {
    let directed = adjacency.is_directed();
    let arcs: Vec<(u32, u32, usize)> = (0..adjacency.len())
        .flat_map(|target| {
            adjacency.arc_range(target).map(move |at| (adjacency.indices()[at], target as u32, at))
        })
        .filter(|(source, target, _)| directed || source < target)
        .collect();
    let ends = arcs.iter().map(|arc| arc.0).chain(arcs.iter().map(|arc| arc.1));
    npz.array("edge_index", &[2, arcs.len() as u64], ends)?;
    npz.array("directed", &[1], [u8::from(directed)])?;
    if let Some(weights) = adjacency.weights() {
        npz.array("edge_weight", &[arcs.len() as u64], arcs.iter().map(|&(_, _, at)| weights[at]))?;
    }
    Ok(())
}

fn write_features(npz: &mut NpzWriter, features: &Features) -> Result<()> {
    match features {
        Features::Dense { rows, columns, values } => {
            npz.array("x", &[*rows as u64, *columns as u64], values.iter().copied())
        }
        Features::Sparse(matrix) => {
            let stored = matrix.values().len() as u64;
            let offsets = matrix.offsets().iter().map(|&at| at as u64);
            npz.array("x_shape", &[2], [matrix.rows() as u64, matrix.columns() as u64])?;
            npz.array("x_indptr", &[matrix.rows() as u64 + 1], offsets)?;
            npz.array("x_indices", &[stored], matrix.indices().iter().copied())?;
            npz.array("x_data", &[stored], matrix.values().iter().copied())
        }
    }
}

fn write_labels(npz: &mut NpzWriter, labels: &Labels) -> Result<()> {
    npz.array("y", &[labels.len() as u64], labels.iter().map(|class| class.map_or(-1, i64::from)))?;
    write_strings(npz, "class_names", labels.names())
}

fn write_split(npz: &mut NpzWriter, split: &Split) -> Result<()> {
    for (role, name) in
        [(Role::Train, "train_idx"), (Role::Val, "val_idx"), (Role::Test, "test_idx")]
    {
        npz.array(name, &[split.count(role) as u64], split.nodes(role).map(|v| v as u32))?;
    }
    Ok(())
}

fn write_masks(npz: &mut NpzWriter, splits: &[Split]) -> Result<()> {
    let shape = [splits.len() as u64, splits[0].roles().len() as u64];
    for (role, name) in MASKS {
        let flags = splits
            .iter()
            .flat_map(|split| split.roles().iter().map(|found| u8::from(*found == role)));
        npz.array(name, &shape, flags)?;
    }
    Ok(())
}

fn write_group_columns(npz: &mut NpzWriter, columns: &[GroupColumn]) -> Result<()> {
    let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    write_strings(npz, "group_names", &names)?;
    for (k, column) in columns.iter().enumerate() {
        let of_node = column.of_node.iter().map(|value| value.map_or(-1, i64::from));
        npz.array(&format!("group_{k}"), &[column.of_node.len() as u64], of_node)?;
        write_strings(npz, &format!("group_values_{k}"), &column.values)?;
    }
    Ok(())
}

fn write_strings(npz: &mut NpzWriter, name: &str, texts: &[String]) -> Result<()> {
    let ends = texts.iter().scan(0u64, |end, text| {
        *end += text.len() as u64;
        Some(*end)
    });
    let bytes = texts.iter().map(|text| text.len() as u64).sum();
    npz.array(
        &format!("{name}_offsets"),
        &[texts.len() as u64 + 1],
        std::iter::once(0).chain(ends),
    )?;
    npz.array(name, &[bytes], texts.iter().flat_map(|text| text.bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readers::testing::Folder;

    fn sample(columns: usize) -> Graph {
        let (adjacency, _) = Adjacency::from_edges(2, &[(0, 1)], None, false).unwrap();
        let features = Features::dense(2, columns, vec![0.5; 2 * columns]).unwrap();
        Graph::new("pair", adjacency, features, Labels::from_integers(&[0, 1], 2).unwrap()).unwrap()
    }

    #[test]
    fn the_same_graph_gives_the_same_bytes_and_leaves_nothing_else() {
        let folder = Folder::new();
        write(&sample(1), &folder.path("a.npz")).unwrap();
        write(&sample(1), &folder.path("b.npz")).unwrap();
        let bytes = |name| std::fs::read(folder.path(name)).unwrap();
        assert_eq!(bytes("a.npz"), bytes("b.npz"));
        assert_eq!(std::fs::read_dir(folder.path("")).unwrap().count(), 2);
    }

    #[test]
    fn a_failed_write_keeps_the_old_file() {
        let folder = Folder::new();
        folder.write("a.npz", b"old");
        assert!(write(&sample(0), &folder.path("a.npz")).is_err());
        assert_eq!(std::fs::read(folder.path("a.npz")).unwrap(), b"old");
        assert!(matches!(write(&sample(1), &folder.path("no/such/a.npz")), Err(Error::Io { .. })));
    }
}
