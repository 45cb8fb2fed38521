//! Writing the two tables, so that a graph is read back exactly as it was.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use boostfgl_disk::{AtomicFile, write_atomic};
use boostfgl_graph::{Error, Features, Graph, Preparation, Result};

use super::{EDGE_FILE, NODE_FILE};
use crate::columns::{Column, Columns, Kind, Role};

/// Writes a graph as `nodes.csv` and `edges.csv` into a folder, which must exist.
///
/// Feature columns have their names, or `x0`, `x1`, … if they have none. The first stored split
/// becomes the column `split`. Numbers have as many digits as identify them, so that reading gives
/// the same bits. If the graph says how its columns are to be prepared, missing values are empty
/// fields and `columns.toml` says it too. Whether edges are directed is not in the tables:
/// [`CsvOptions::directed`](super::CsvOptions::directed) tells the reader.
///
/// # Errors
/// If a file cannot be written, or the tables cannot represent a name: one that is empty, has
/// spaces around it, or is that of another column.
pub fn write(graph: &Graph, folder: &Path) -> Result<()> {
    let columns = feature_columns(graph);
    check_names(graph, &columns)?;
    write_table(&folder.join(NODE_FILE), |table| write_nodes(graph, &columns, table))?;
    if let Some(preparation) = graph.preparation() {
        let text = prepared(graph, &columns, preparation).to_toml();
        write_atomic(folder.join(Columns::FILE), text.as_bytes())?;
    }
    write_table(&folder.join(EDGE_FILE), |table| write_edges(graph, table))
}

/// What `columns.toml` says of a graph: every feature is a number.
fn prepared(graph: &Graph, columns: &[String], preparation: &Preparation) -> Columns {
    let features = columns.iter().zip(preparation.columns()).map(|(name, it)| {
        let column = Column {
            role: Some(Role::Feature),
            kind: Some(Kind::Number),
            missing: Some(it.missing),
            standardise: Some(it.standardise),
            ..Column::default()
        };
        (name.clone(), column)
    });
    let mut nodes: BTreeMap<String, Column> = features.collect();
    nodes.insert("id".to_owned(), Column::of_role(Role::Id));
    let classes = graph.labels().names().to_vec();
    let label = Column { levels: Some(classes), ..Column::of_role(Role::Label) };
    nodes.insert("label".to_owned(), label);
    Columns { nodes, edges: BTreeMap::new() }
}

/// The names of the feature columns in the table.
fn feature_columns(graph: &Graph) -> Vec<String> {
    match graph.feature_names() {
        [] => (0..graph.features().columns()).map(|column| format!("x{column}")).collect(),
        names => names.to_vec(),
    }
}

fn check_names(graph: &Graph, columns: &[String]) -> Result<()> {
    let of_table = ["id", "label", "split"];
    let reserved =
        columns.iter().find(|name| of_table.contains(&name.as_str()) || name.starts_with("group:"));
    if let Some(name) = reserved {
        let expected = "feature columns with names of their own";
        return Err(Error::inconsistent(graph.name(), expected, format!("`{name}`")));
    }
    let ids: Vec<String> = (0..graph.len()).map(|v| graph.id(v)).collect();
    let groups = graph.group_columns().iter().flat_map(|column| &column.values);
    let mut names = ids.iter().chain(graph.labels().names()).chain(columns).chain(groups);
    match names.find(|name| name.is_empty() || name.trim() != name.as_str()) {
        None => Ok(()),
        Some(name) => {
            let expected = "names of nodes, classes and columns without spaces around them";
            Err(Error::inconsistent(graph.name(), expected, format!("`{name}`")))
        }
    }
}

/// Writes one table atomically.
fn write_table(
    path: &Path,
    rows: impl FnOnce(&mut csv::Writer<AtomicFile>) -> csv::Result<()>,
) -> Result<()> {
    let mut table = csv::Writer::from_writer(AtomicFile::create(path)?);
    rows(&mut table).map_err(|error| Error::io(path, error.into()))?;
    let mut file = table.into_inner().map_err(|error| Error::io(path, error.into_error()))?;
    file.flush().map_err(|error| Error::io(path, error))?;
    Ok(file.finish()?)
}

fn write_nodes(
    graph: &Graph,
    columns: &[String],
    table: &mut csv::Writer<AtomicFile>,
) -> csv::Result<()> {
    let split = graph.split();
    let groups = graph.group_columns();
    let titles = groups.iter().map(|column| format!("group:{}", column.name));
    let mut record: Vec<String> = vec!["id".into(), "label".into()];
    record.extend(split.map(|_| "split".into()));
    record.extend(titles.chain(columns.iter().cloned()));
    table.write_record(&record)?;
    let (labels, mut values) = (graph.labels(), vec![0.0; columns.len()]);
    for v in 0..graph.len() {
        record.clear();
        record.push(graph.id(v));
        record.push(labels.get(v).map_or("", |class| &labels.names()[class as usize]).to_owned());
        record.extend(split.map(|split| split.role(v).name().to_owned()));
        record.extend(groups.iter().map(|column| {
            column.of_node[v].map_or("", |value| &column.values[value as usize]).to_owned()
        }));
        row_into(graph.features(), v, &mut values);
        let fields = record.len();
        record.extend(values.iter().map(f32::to_string));
        let missing = graph.preparation().map_or(&[][..], |it| it.missing_of(v as u32));
        missing.iter().for_each(|&(_, column)| record[fields + column as usize].clear());
        table.write_record(&record)?;
    }
    Ok(())
}

/// The features of node `v`, zeros included.
fn row_into(features: &Features, v: usize, row: &mut [f32]) {
    match features {
        Features::Sparse(matrix) => {
            row.fill(0.0);
            let (columns, values) = matrix.row(v);
            columns.iter().zip(values).for_each(|(&column, &x)| row[column as usize] = x);
        }
        Features::Dense { columns, values, .. } => {
            row.copy_from_slice(&values[v * columns..(v + 1) * columns]);
        }
    }
}

fn write_edges(graph: &Graph, table: &mut csv::Writer<AtomicFile>) -> csv::Result<()> {
    let adjacency = graph.adjacency();
    let weights = adjacency.weights();
    let title: &[&str] =
        if weights.is_some() { &["src", "dst", "weight"] } else { &["src", "dst"] };
    table.write_record(title)?;
    for target in 0..adjacency.len() {
        for at in adjacency.arc_range(target) {
            let source = adjacency.indices()[at] as usize;
            // An undirected edge is stored in both directions and written once.
            if adjacency.is_directed() || source < target {
                table.write_field(graph.id(source))?;
                table.write_field(graph.id(target))?;
                if let Some(weights) = weights {
                    table.write_field(weights[at].to_string())?;
                }
                table.write_record(None::<&[u8]>)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{CsvOptions, read_with};
    use super::*;
    use crate::readers::testing::Folder;
    use boostfgl_graph::{
        Adjacency, ColumnPreparation, GroupColumn, Labels, Missing, Role as NodeRole, SparseRows,
        Split,
    };
    use proptest::prelude::*;

    fn round_trip(graph: &Graph) -> Graph {
        let folder = Folder::new();
        write(graph, &folder.path("")).unwrap();
        let directed = graph.adjacency().is_directed();
        read_with(&folder.path(""), CsvOptions { directed }).unwrap().renamed(graph.name())
    }

    fn sample(features: Features, directed: bool, weights: Option<&[f32]>) -> Graph {
        let edges = [(0, 1), (2, 1)];
        let (adjacency, _) = Adjacency::from_edges(3, &edges, weights, directed).unwrap();
        let names = ["a b", "c,\"d\""].map(str::to_owned).to_vec();
        let labels = Labels::new([Some(1), None, Some(0)], names).unwrap();
        let split = Split::new(vec![NodeRole::Test, NodeRole::None, NodeRole::Train]);
        let columns = (0..features.columns()).map(|column| format!("f {column}")).collect();
        Graph::new("g", adjacency, features, labels)
            .and_then(|graph| graph.with_split(split))
            .and_then(|graph| graph.with_ids(["x", "y,z", "w"].map(str::to_owned).to_vec()))
            .and_then(|graph| graph.with_feature_names(columns))
            .and_then(|graph| {
                graph.with_group_columns(vec![GroupColumn::from_texts("sex", &["f", "", "m"])])
            })
            .unwrap()
    }

    #[test]
    fn a_written_graph_is_read_back() {
        let dense = || Features::dense(3, 1, vec![1.5, -0.1, 3.0e-30]).unwrap();
        let sparse =
            Features::Sparse(SparseRows::new(9, &[0, 1, 1, 2], &[4, 0], &[0.1, 7.0]).unwrap());
        for graph in [
            sample(dense(), false, None),
            sample(sparse, false, Some(&[0.3, 2.0])),
            sample(dense(), true, Some(&[0.1, 1.0])),
        ] {
            assert_eq!(round_trip(&graph), graph);
        }
    }

    #[test]
    fn a_preparation_is_written_too() {
        let graph = sample(Features::dense(3, 1, vec![1.5, 0.0, 3.0]).unwrap(), false, None);
        let column = ColumnPreparation { missing: Missing::Indicator, standardise: true };
        let preparation = Preparation::new(vec![column], vec![(1, 0)]).unwrap();
        let graph = graph.with_preparation(preparation).unwrap();
        assert_eq!(round_trip(&graph), graph);
    }

    #[test]
    fn names_that_a_table_cannot_hold_are_refused() {
        let graph = sample(Features::dense(3, 1, vec![0.5; 3]).unwrap(), false, None);
        let folder = Folder::new();
        for name in ["id", "group:x", " a", ""] {
            let renamed = graph.clone().with_feature_names(vec![name.into()]).unwrap();
            let error = write(&renamed, &folder.path("")).unwrap_err().to_string();
            assert!(error.contains(&format!("found `{name}`")), "{error}");
        }
        assert_eq!(std::fs::read_dir(folder.path("")).unwrap().count(), 0);
    }

    proptest! {
        #[test]
        fn every_finite_number_keeps_its_bits(bits in prop::collection::vec(any::<u32>(), 3)) {
            let values: Vec<f32> = bits.iter().map(|bits| f32::from_bits(*bits)).collect();
            prop_assume!(values.iter().all(|value| value.is_finite() && *value != 0.0));
            let graph = sample(Features::dense(3, 1, values).unwrap(), false, None);
            prop_assert_eq!(round_trip(&graph), graph);
        }
    }
}
